import { createPublicKey, createSecretKey, diffieHellman, hash, type KeyObject, sign as signWith } from 'node:crypto';
import type { CardDataPublicKey } from '#schemas/card-data';
import { StartError } from '../basics/errors.ts';
import type { KeyRingFile, PrivateJwk } from './key-ring-file.ts';
import type { KeyToken } from './key-token.ts';
import type { CardDataKey, NamedSecretKey, TokenSigningKey } from './opened-keys.ts';
import { importPrivateJwk } from './private-jwk.ts';

/**
 * Opens the entries of a key file, of which some may only name a key in a token.
 *
 * A secret of the file that is sealed under a key of the token is opened once and then kept in memory, because every tap
 * needs it. The token thus protects the file and its copies, and makes them useless elsewhere; it does not protect the
 * memory of a running process. Private keys never leave the token.
 */
export class KeyOpener {
  readonly #token: KeyToken | undefined;
  readonly #path: string;
  /** By id and sealed value, so that a changed file costs only calls for its new keys. */
  readonly #opened = new Map<string, KeyObject>();

  constructor(token: KeyToken | undefined, path: string) {
    this.#token = token;
    this.#path = path;
  }

  cardDataKey(entry: KeyRingFile['cardData'][number], place: string): CardDataKey {
    const { kid, retireAt } = entry;
    const retireAtMs = retireAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(retireAt);
    if ('privateKey' in entry) {
      const privateKey = this.#import(entry.privateKey, place);
      const publicJwk = cardDataJwk(kid, createPublicKey(privateKey));
      const agree = (publicKey: KeyObject) => diffieHellman({ privateKey, publicKey });
      return { kid, curve: entry.privateKey.crv, publicJwk, retireAtMs, agree };
    }
    const token = this.#tokenFor(place);
    const publicJwk = cardDataJwk(kid, this.#importPublic(entry.publicKey, place));
    const agree = (publicKey: KeyObject) => token.agree(entry.tokenKey, pointOf(publicKey));
    return { kid, curve: 'P-256', publicJwk, retireAtMs, agree };
  }

  signingKey(entry: KeyRingFile['tokenSigning'][number], place: string): TokenSigningKey {
    const { kid } = entry;
    if ('privateKey' in entry) {
      const privateKey = this.#import(entry.privateKey, place);
      const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
      return { kid, publicKey: createPublicKey(privateKey), sign: (message) => signWith('sha256', message, key) };
    }
    const token = this.#tokenFor(place);
    return {
      kid,
      publicKey: this.#importPublic(entry.publicKey, place),
      sign: (message) => token.sign(entry.tokenKey, hash('sha256', message, 'buffer')),
    };
  }

  secretKey(entry: KeyRingFile['panSealing'][number]): NamedSecretKey {
    const { id } = entry;
    if ('secret' in entry) return { id, key: createSecretKey(entry.secret, 'base64url') };
    const name = `${id} ${entry.sealed}`;
    const known = this.#opened.get(name);
    if (known !== undefined) return { id, key: known };
    const secret = this.#tokenFor(id).openNow(entry.tokenKey, Buffer.from(entry.sealed, 'base64url'), Buffer.from(id));
    const key = createSecretKey(secret);
    secret.fill(0);
    this.#opened.set(name, key);
    return { id, key };
  }

  #import(jwk: PrivateJwk, place: string): KeyObject {
    const key = importPrivateJwk(jwk);
    if (key === undefined) throw this.#unusable(place);
    return key;
  }

  #importPublic(jwk: { readonly x: string; readonly y: string }, place: string): KeyObject {
    try {
      return createPublicKey({ key: { ...jwk, kty: 'EC', crv: 'P-256' }, format: 'jwk' });
    } catch {
      throw this.#unusable(place);
    }
  }

  #unusable(place: string): StartError {
    return new StartError('BAD_CONFIG', `the key file ${this.#path} has an unusable key at ${place}`);
  }

  #tokenFor(place: string): KeyToken {
    if (this.#token) return this.#token;
    const reason = `the key file ${this.#path} names a key of a token at ${place}: set PKCS11_MODULE, PKCS11_TOKEN and PKCS11_PIN_FILE`;
    throw new StartError('BAD_CONFIG', reason);
  }
}

function cardDataJwk(kid: string, publicKey: KeyObject): CardDataPublicKey {
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  return { kty, crv, x, ...(y === undefined ? {} : { y }), kid, use: 'enc', alg: 'ECDH-ES' } as CardDataPublicKey;
}

/** The uncompressed point of a key on P-256 (SEC 1 2.3.3). */
function pointOf(publicKey: KeyObject): Buffer {
  const { x, y } = publicKey.export({ format: 'jwk' });
  return Buffer.concat([Buffer.of(0x04), Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')]);
}
