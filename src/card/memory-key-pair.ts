import {
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  hkdfSync,
  type KeyObject,
} from 'node:crypto';
import { SealError } from '../basics/errors.ts';

export const PUBLIC_KEY_BYTES = 32;
/**
 * Length of the recipient id in a wrapped key: the beginning of the public key's SHA-256. A collision by chance
 * takes 2^32 live keys.
 */
export const KEY_ID_BYTES = 8;
/** Peers are the processes of one installation: 16 workers, or as many api nodes, each with a new key every hour. */
const MAX_PEERS = 256;

/** The id of a public key inside a sealed value. */
export function keyIdOf(publicKey: Uint8Array): Buffer {
  return hash('sha256', publicKey, 'buffer').subarray(0, KEY_ID_BYTES);
}

/** An X25519 key pair that is never written anywhere, with the secrets that it shares with its peers. */
export class MemoryKeyPair {
  readonly publicKey: Buffer;
  readonly id: Buffer;
  #privateKey: KeyObject | undefined;
  /** Keyed by peer, in Base64url: an agreement costs 60 µs, and there are only a few peers. */
  readonly #secrets = new Map<string, KeyObject>();

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('x25519');
    this.#privateKey = privateKey;
    this.publicKey = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
    this.id = keyIdOf(this.publicKey);
  }

  /**
   * A key for one message between this pair and a peer (HKDF-SHA-256, RFC 5869), the same on both sides.
   *
   * @param sender, recipient the two public keys: a message between other parties has another key
   * @throws {SealError} KEY_GONE after `destroy`, SEAL_BROKEN if the peer's key is not a point that shares a secret
   */
  deriveKey(peer: Uint8Array, salt: Uint8Array, sender: Uint8Array, recipient: Uint8Array): Buffer {
    const info = Buffer.concat([Buffer.from('tapwire handover\0'), sender, recipient]);
    return Buffer.from(hkdfSync('sha256', this.#sharedWith(peer), salt, info, 32));
  }

  /**
   * Discards the private key and everything agreed with it. Values that were sealed with the pair can no longer be
   * opened. OpenSSL wipes the memory of a key when the key is collected.
   */
  destroy(): void {
    this.#privateKey = undefined;
    this.#secrets.clear();
  }

  #sharedWith(peer: Uint8Array): KeyObject {
    if (this.#privateKey === undefined) throw new SealError('KEY_GONE');
    const x = Buffer.from(peer.buffer, peer.byteOffset, peer.byteLength).toString('base64url');
    const known = this.#secrets.get(x);
    if (known !== undefined) return known;
    const secret = agree(this.#privateKey, x);
    if (this.#secrets.size === MAX_PEERS) this.#secrets.clear();
    this.#secrets.set(x, secret);
    return secret;
  }
}

function agree(privateKey: KeyObject, x: string): KeyObject {
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' });
    return createSecretKey(diffieHellman({ privateKey, publicKey }));
  } catch {
    throw new SealError('SEAL_BROKEN');
  }
}
