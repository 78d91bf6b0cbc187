import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import type { KeyRingFile, PrivateJwk, PublicJwk } from './key-ring-file.ts';
import type { KeyToken } from './key-token.ts';
import { freshTokenKeyId, publicKeyOfPoint } from './token-keys.ts';

type CardDataEntry = KeyRingFile['cardData'][number];
type SecretEntry = KeyRingFile['panSealing'][number];
type SigningEntry = KeyRingFile['tokenSigning'][number];

/** Makes new entries of a key file: with their keys, or with keys that are created in a token and stay there. */
export class FreshKeys {
  readonly #token: KeyToken | undefined;

  constructor(token?: KeyToken) {
    this.#token = token;
  }

  /**
   * X25519 first: opening a blob with it costs two thirds of P-256, which remains for readers whose secure element
   * lacks X25519. A token has only P-256, because few can agree on X25519.
   */
  async cardData(): Promise<CardDataEntry[]> {
    const kid = freshId('card');
    if (this.#token) return [{ kid, ...(await createPair(this.#token, kid, 'agree')) }];
    const x25519 = privateJwk(generateKeyPairSync('x25519').privateKey);
    return [
      { kid, privateKey: x25519 },
      { kid: freshId('card'), privateKey: p256PrivateJwk() },
    ];
  }

  /**
   * In a token, each secret has a sealing key of its own.
   *
   * @param name the prefix of the id
   */
  async secret(name: string): Promise<SecretEntry> {
    const id = freshId(name);
    const secret = randomBytes(32);
    if (!this.#token) return { id, secret: secret.toString('base64url') };
    const tokenKey = freshTokenKeyId();
    await this.#token.createSecret(tokenKey, id);
    const sealed = await this.#token.seal(tokenKey, secret, Buffer.from(id));
    secret.fill(0);
    return { id, tokenKey, sealed: sealed.toString('base64url') };
  }

  async signing(): Promise<SigningEntry> {
    const kid = freshId('token');
    return this.#token
      ? { kid, ...(await createPair(this.#token, kid, 'sign')) }
      : { kid, privateKey: p256PrivateJwk() };
  }
}

async function createPair(token: KeyToken, label: string, use: 'agree' | 'sign') {
  const tokenKey = freshTokenKeyId();
  const publicKey = publicKeyOfPoint(await token.createPair(tokenKey, label, use)).export({ format: 'jwk' });
  return { tokenKey, publicKey: publicKey as PublicJwk };
}

function p256PrivateJwk(): Extract<PrivateJwk, { kty: 'EC' }> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateJwk(privateKey) as Extract<PrivateJwk, { kty: 'EC' }>;
}

function privateJwk(key: KeyObject): PrivateJwk {
  return key.export({ format: 'jwk' }) as PrivateJwk;
}

function freshId(name: string): string {
  return `${name}-${randomBytes(4).toString('hex')}`;
}
