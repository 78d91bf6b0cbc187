import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import type { CardDataPublicKey } from '#schemas/card-data';
import { CryptoError, HsmUnavailable, TokenError } from '../basics/errors.ts';
import { decodeBase64Url } from '../codecs/bytes/hex.ts';
import { LruMap } from '../codecs/bytes/lru-map.ts';
import type { CardDataHsm } from '../codecs/crypto/hsm.ts';
import {
  CardDataRefusal,
  type EphemeralKey,
  type KeyName,
  type ReaderKeys,
  type SharedSecret,
} from '../kits/reader-kit/reader-format.ts';
import type { HsmCalls } from '../switching/hsm/hsm-calls.ts';
import type { CardDataKey, KeyRing } from './key-ring.ts';

/** Proximity sessions in use at once on one node. An entry takes about 300 bytes. */
const MAX_CACHED_SECRETS = 4_096;

/** The HSM for DUKPT keys, and what limits its calls. */
interface ReaderHsm {
  readonly hsm: CardDataHsm;
  readonly calls: HsmCalls;
}

interface CachedSecret {
  /**
   * The key that the secret was agreed with, so that a kid that is reassigned to another key never uses an old
   * secret.
   */
  readonly key: CardDataKey;
  readonly secret: Buffer;
}

/** The keys of the installation for reader formats: the key ring's for key agreement, the HSM's for DUKPT. */
export class InstallationKeys {
  readonly #options;
  /** ECDH secrets by kid and ephemeral key: a reader may keep one `epk` for a proximity session (design: card data). */
  readonly #secrets = new LruMap<string, CachedSecret>(MAX_CACHED_SECRETS);

  /** SHA-256 of SubjectPublicKeyInfo, which takes 80 µs to make. */
  readonly #hashes = new WeakMap<CardDataPublicKey, Buffer>();

  constructor(options: {
    readonly keys: Pick<KeyRing, 'cardDataKey' | 'publicCardDataKeys'>;
    /** Milliseconds since 1970, for `retireAt`. */
    readonly nowMs: () => number;
    /** Undefined if no HSM opens card data. */
    readonly readerHsm: ReaderHsm | undefined;
  }) {
    this.#options = options;
  }

  /** The secret is kept only after `keep`, so that an attacker who guesses cannot evict sessions. */
  async agree(name: KeyName, ephemeral: EphemeralKey): Promise<SharedSecret> {
    const key = this.#liveKey(name);
    if (ephemeral.crv !== key.curve) throw new CardDataRefusal('ephemeral-key');
    const sessionId = `${key.kid} ${ephemeral.x} ${ephemeral.y ?? ''}`;
    const cached = this.#secrets.get(sessionId);
    if (cached?.key === key) return { secret: cached.secret, keep: () => {} };
    const secret = await agree(key, ephemeral);
    return { secret, keep: () => this.#secrets.set(sessionId, { key, secret }) };
  }

  /** The keys for a tap of this acquirer, whose calls take its share of the HSM. */
  of(acquirerId: number): ReaderKeys {
    return {
      agree: (name, ephemeral) => this.agree(name, ephemeral),
      verifyDukptMac: (key, message, mac) =>
        this.#inHsm(acquirerId, (hsm) => hsm.verifyDukptMac({ ...key, message, mac })),
      decipherDukpt: (key, ciphertext) => this.#inHsm(acquirerId, (hsm) => hsm.decipherDukpt({ ...key, ciphertext })),
    };
  }

  #liveKey(name: KeyName): CardDataKey {
    const { keys, nowMs } = this.#options;
    const kid = 'kid' in name ? name.kid : this.#kidOf(name.publicKeyHash);
    const key = kid === undefined ? undefined : keys.cardDataKey(kid);
    if (key === undefined) throw new CardDataRefusal('unknown-key');
    if (nowMs() >= key.retireAtMs) throw new CardDataRefusal('retired-key');
    return key;
  }

  #kidOf(publicKeyHash: Uint8Array): string | undefined {
    const { keys } = this.#options.keys.publicCardDataKeys(this.#options.nowMs());
    return keys.find((key) => this.#hashOf(key).equals(publicKeyHash))?.kid;
  }

  #hashOf(key: CardDataPublicKey): Buffer {
    const known = this.#hashes.get(key);
    if (known !== undefined) return known;
    const spki = createPublicKey({ key: { ...key }, format: 'jwk' }).export({ format: 'der', type: 'spki' });
    const made = hash('sha256', spki, 'buffer');
    this.#hashes.set(key, made);
    return made;
  }

  async #inHsm<Value>(acquirerId: number, call: (hsm: CardDataHsm) => Promise<Value>): Promise<Value> {
    const { readerHsm } = this.#options;
    if (readerHsm === undefined) throw new CardDataRefusal('unknown-key');
    try {
      return await readerHsm.calls.run(() => call(readerHsm.hsm), { acquirerId });
    } catch (error) {
      if (!(error instanceof CryptoError)) throw error;
      const isKnown = error.code !== 'KEY_UNKNOWN' && error.code !== 'KEY_USAGE';
      throw new CardDataRefusal(isKnown ? 'key-serial-number' : 'unknown-key');
    }
  }
}

/**
 * The ECDH secret of the gateway's key and the sender's. The import refuses a point off the curve, before a token sees it.
 * The derivation refuses a point of low order (all-zero secret, RFC 7748 6.1).
 */
async function agree(key: CardDataKey, { kty, crv, x, y }: EphemeralKey): Promise<Buffer> {
  if (!isCoordinate(x) || (y !== undefined && !isCoordinate(y))) throw new CardDataRefusal('ephemeral-key');
  let publicKey: KeyObject;
  try {
    publicKey = createPublicKey({ key: { kty, crv, x, ...(y === undefined ? {} : { y }) }, format: 'jwk' });
  } catch {
    throw new CardDataRefusal('ephemeral-key');
  }
  try {
    return await key.agree(publicKey);
  } catch (error) {
    if (error instanceof HsmUnavailable) throw error;
    // The point is on the curve, so the token has no fault of the sender to refuse.
    if (error instanceof TokenError) throw new HsmUnavailable({ cause: error });
    throw new CardDataRefusal('ephemeral-key');
  }
}

/** Both curves have coordinates of 32 bytes, written in full (RFC 7518 6.2.1.2, RFC 8037 2). */
function isCoordinate(text: string): boolean {
  return decodeBase64Url(text)?.length === 32;
}
