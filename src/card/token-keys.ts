import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Token } from '../hsm-devices/pkcs11/token.ts';
import type { KeyToken } from './key-ring-file.ts';

/** The keys of an installation in a PKCS #11 token. */
export class TokenKeys implements KeyToken {
  readonly #token: Token;

  constructor(token: Token) {
    this.#token = token;
  }

  async agree(id: string, point: Uint8Array): Promise<Buffer> {
    return Buffer.from(await this.#token.call({ do: 'agree', id, point }));
  }

  async sign(id: string, digest: Uint8Array): Promise<Buffer> {
    return Buffer.from(await this.#token.call({ do: 'sign', id, digest }));
  }

  openNow(id: string, sealed: Uint8Array, associated: Uint8Array): Buffer {
    return Buffer.from(this.#token.callNow({ do: 'open', id, bytes: sealed, associated }));
  }

  async seal(id: string, plaintext: Uint8Array, associated: Uint8Array): Promise<Buffer> {
    return Buffer.from(await this.#token.call({ do: 'seal', id, bytes: plaintext, associated }));
  }

  async createPair(id: string, label: string, use: 'agree' | 'sign'): Promise<Buffer> {
    return Buffer.from(await this.#token.call({ do: 'createPair', id, label, use }));
  }

  async createSecret(id: string, label: string): Promise<void> {
    await this.#token.call({ do: 'createSecret', id, label });
  }
}

/** Random, so that two installations can share a token. */
export function freshTokenKeyId(): string {
  return randomBytes(8).toString('hex');
}

/** @param point 04, x, y @throws node's error if it is not on P-256 */
export function publicKeyOfPoint(point: Uint8Array): KeyObject {
  const bytes = Buffer.from(point);
  const [x, y] = [bytes.subarray(1, 33), bytes.subarray(33)].map((half) => half.toString('base64url'));
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}
