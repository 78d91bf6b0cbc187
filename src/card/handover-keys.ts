/** The public key of a worker, valid until the time that its worker announced. */
export interface WorkerPublicKey {
  /** The worker that holds the private half; the same across rotations. */
  readonly workerId: string;
  /** X25519, 32 bytes. */
  readonly publicKey: Uint8Array;
}

/** Where workers publish their handover keys and api processes find them. It only ever contains public halves. */
export interface HandoverKeys {
  /**
   * Replaces the worker's previous key and keeps it live for `liveForMs` from now, by the clock of the store. The
   * worker calls this repeatedly while it lives.
   */
  publish(key: WorkerPublicKey & { readonly liveForMs: number }): Promise<void>;
  /** One key for each worker that is live by the clock of the store, the most recently published first. */
  live(): Promise<readonly WorkerPublicKey[]>;
}
