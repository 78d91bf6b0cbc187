/**
 * The only JWE profile for card data: ECDH-ES direct key agreement (P-256 or X25519) and A256GCM. This file contains
 * what both ends share: `seal-jwe.ts` is the reader's and `open-jwe.ts` the gateway's.
 */
import { hash } from 'node:crypto';

export const JWE_ALGORITHM = 'ECDH-ES';
export const JWE_ENCRYPTION = 'A256GCM';

/** Length of an agreed secret: both curves give 32 bytes. */
const SECRET_BYTES = 32;
/** AlgorithmID of OtherInfo: the name of `enc` after its 32-bit length (RFC 7518 4.6.2). */
const ALGORITHM_ID = lengthPrefixed(Buffer.from(JWE_ENCRYPTION));
/** SuppPubInfo: the key length in bits. */
const KEY_LENGTH_BITS = uint32(256);
/** One round of SHA-256 produces the whole key, so the counter of the Concat KDF is always 1. */
const FIRST_ROUND = uint32(1);

/**
 * The content key of one JWE: Concat KDF (NIST SP 800-56A 5.8.1) with the inputs of RFC 7518 4.6.2. `apu` and `apv`
 * are inputs, so the same secret with another merchant reference produces another key.
 *
 * @param secret the 32-byte ECDH shared secret
 * @returns 32 bytes, to be zeroed after use
 */
export function deriveContentKey(secret: Uint8Array, apu: Uint8Array, apv: Uint8Array): Buffer {
  const input = Buffer.concat([
    FIRST_ROUND,
    secret,
    ALGORITHM_ID,
    uint32(apu.length),
    apu,
    uint32(apv.length),
    apv,
    KEY_LENGTH_BITS,
  ]);
  const key = hash('sha256', input, 'buffer');
  input.fill(0, 0, FIRST_ROUND.length + SECRET_BYTES);
  return key;
}

function lengthPrefixed(bytes: Buffer): Buffer {
  return Buffer.concat([uint32(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
