/**
 * What is asked of a token. `id` is the CKA_ID of a key in hexadecimal. Byte values cross to the token's thread as copies.
 */
export type TokenOperation =
  /** ECDH with a private key on P-256. `point`: 04, x, y. The result: the x coordinate, 32 bytes. */
  | { readonly do: 'agree'; readonly id: string; readonly point: Uint8Array }
  /** ECDSA on P-256 over a SHA-256. The result: r, s, 64 bytes. */
  | { readonly do: 'sign'; readonly id: string; readonly digest: Uint8Array }
  /** AES-256-GCM. `seal` takes a plaintext, `open` takes nonce, ciphertext and tag; the result is the other one. */
  | { readonly do: 'seal' | 'open'; readonly id: string; readonly bytes: Uint8Array; readonly associated: Uint8Array }
  /** A key pair on P-256 that cannot leave the token. The result: the public point, 04, x, y. */
  | { readonly do: 'createPair'; readonly id: string; readonly label: string; readonly use: 'agree' | 'sign' }
  /** An AES-256 key that cannot leave the token. The result is empty. */
  | { readonly do: 'createSecret'; readonly id: string; readonly label: string }
  /** Whether the token responds. The result: its firmware version, as text. */
  | { readonly do: 'check' };

export type TokenRequest = TokenOperation & {
  readonly number: number;
  /** Set and notified when the response is in the port, for a caller that cannot wait in the event loop. */
  readonly done?: SharedArrayBuffer | undefined;
};

/**
 * `code`: the name of the PKCS #11 return value, such as CKR_PIN_INCORRECT, or KEY_MISSING. `isAbsent`: there is no session
 * with the token. Otherwise the token refused this operation, which a sender of card data can cause.
 */
export type TokenResponse = { readonly number: number } & (
  | { readonly result: Uint8Array; readonly code?: undefined }
  | { readonly code: string; readonly isAbsent: boolean; readonly result?: undefined }
);

/** Whether a return value means that the login will fail again: CKR_PIN_INCORRECT, CKR_PIN_LOCKED, CKR_PIN_EXPIRED, ... */
export function isRefusalOfPin(code: string): boolean {
  return code.startsWith('CKR_PIN_');
}

/** Data for the thread of a token. */
export interface TokenThreadData {
  /** Path of the PKCS #11 library. */
  readonly modulePath: string;
  readonly label: string;
  readonly pin: string;
}
