/** A point of a curve as a JSON Web Key has it (RFC 7517); its coordinates have 32 bytes in Base64url. */
export interface EphemeralKey {
  readonly kty: 'EC' | 'OKP';
  readonly crv: 'P-256' | 'X25519';
  readonly x: string;
  /** P-256 only. */
  readonly y?: string | undefined;
}

/** The private key of the installation for which a reader sealed: its id, or the SHA-256 of its public key. */
export type KeyName = { readonly kid: string } | { readonly publicKeyHash: Uint8Array };

/** What two parties agreed on. */
export interface SharedSecret {
  /** 32 bytes. */
  readonly secret: Uint8Array;
  /** Keeps the secret for the next blobs with the same ephemeral key. Call it only after a blob was authentic. */
  keep(): void;
}

/** A transaction of a DUKPT device (ANSI X9.24-1 with TDES, X9.24-3 with AES). */
export interface DukptKey {
  /** The base derivation key in the HSM. */
  readonly keyId: string;
  /** 10 bytes with a TDES key, 12 with an AES key. */
  readonly ksn: Uint8Array;
}

/** The keys of an installation as a reader format may use them; none of them leaves the port. */
export interface ReaderKeys {
  /**
   * Key agreement (ECDH) with a private key for card data.
   *
   * @throws CardDataRefusal if no key that still opens has the name, or the point is not of its curve; HsmUnavailable
   */
  agree(name: KeyName, ephemeral: EphemeralKey): Promise<SharedSecret> | SharedSecret;

  /**
   * Whether `mac` authenticates `message` under the device's MAC key for requests: ISO 9797-1 algorithm 3 with padding
   * method 2 (8 bytes) for TDES, CMAC (16 bytes) for AES.
   *
   * @throws CardDataRefusal if the KSN is impossible or the key cannot be used for it; HsmUnavailable
   */
  verifyDukptMac(key: DukptKey, message: Uint8Array, mac: Uint8Array): Promise<boolean>;

  /**
   * Deciphers CBC with an initialisation vector of zeros under the device's key for data in requests.
   *
   * @param ciphertext whole blocks
   * @throws as `verifyDukptMac`
   */
  decipherDukpt(key: DukptKey, ciphertext: Uint8Array): Promise<Uint8Array>;
}
