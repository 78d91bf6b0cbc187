import type { KeyObject } from 'node:crypto';
import type { CardDataPublicKey } from '#schemas/card-data';

/** The curves of card data keys. */
type Curve = 'X25519' | 'P-256';

/**
 * Opens the blobs that readers sealed for `kid`, until `retireAtMs` (Infinity while the key is announced as
 * current).
 */
export interface CardDataKey {
  readonly kid: string;
  readonly curve: Curve;
  readonly publicJwk: CardDataPublicKey;
  readonly retireAtMs: number;
  /**
   * The ECDH secret with a sender's key, 32 bytes.
   *
   * @throws an error for a point that is not on the curve; HsmUnavailable if the key is in a token that does not respond
   */
  agree(ephemeral: KeyObject): Promise<Buffer> | Buffer;
}

/** A 256-bit key. Its `id` is stored with everything that was made with it. */
export interface NamedSecretKey {
  readonly id: string;
  readonly key: KeyObject;
}

/** Signs the gateway's own tokens with ES256. */
export interface TokenSigningKey {
  readonly kid: string;
  readonly publicKey: KeyObject;
  /** The signature: r and s, 64 bytes. @throws HsmUnavailable if the key is in a token that does not respond */
  sign(message: Uint8Array): Promise<Buffer> | Buffer;
}
