/**
 * The keys of an installation in a PKCS #11 token. A key has the name of its CKA_ID in hexadecimal and never leaves the token.
 * All operations reject with HsmUnavailable if the token does not respond in time, and with TokenError if it refuses.
 */
export interface KeyToken {
  /** ECDH on P-256. @param point 04, x, y @returns 32 bytes */
  agree(id: string, point: Uint8Array): Promise<Buffer>;
  /** ECDSA on P-256. @param digest a SHA-256 @returns r, s */
  sign(id: string, digest: Uint8Array): Promise<Buffer>;
  /** Opens a secret of the key file; stops the process meanwhile, for 2 seconds at most. */
  openNow(id: string, sealed: Uint8Array, associated: Uint8Array): Buffer;
  seal(id: string, plaintext: Uint8Array, associated: Uint8Array): Promise<Buffer>;
  /** @returns the public point: 04, x, y */
  createPair(id: string, label: string, use: 'agree' | 'sign'): Promise<Buffer>;
  createSecret(id: string, label: string): Promise<void>;
}
