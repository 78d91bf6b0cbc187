/** A worker's key as the api processes see it: public, and live for as long as its worker says so. */
export interface WorkerPublicKey {
  /** Which worker holds the private half, the same across its rotations. */
  readonly workerId: string;
  /** X25519, 32 bytes. */
  readonly publicKey: Uint8Array;
}

/** Where workers publish their handover keys and api processes find them. Only public halves ever pass through it. */
export interface HandoverKeys {
  /**
   * Puts the worker's key in the place of its last one and counts it as live for `liveForMs` from now, by the store's clock. Called
   * again and again while the worker lives.
   */
  publish(key: WorkerPublicKey & { readonly liveForMs: number }): Promise<void>;
  /** One key for each worker that is live by the store's clock, the last published first. */
  live(): Promise<readonly WorkerPublicKey[]>;
}
