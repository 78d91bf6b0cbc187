/** A revoked key must stop working within 5 s (contract, "Authentication"); a second is left for the answer. */
const TRUSTED_FOR_MS = 4_000;
/** From this age on the next one is read in the background, so that nobody waits for it while traffic flows. */
const REFRESH_AFTER_MS = 1_500;

/** The generation of the registered keys, never known from longer ago than TRUSTED_FOR_MS. */
export class KnownGeneration {
  readonly #read: () => Promise<string>;
  readonly #monotonicMs: () => number;
  #value = '';
  /** When the read of `#value` began: what was committed later may be missing from it. */
  #asOfMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(read: () => Promise<string>, monotonicMs: () => number) {
    this.#read = read;
    this.#monotonicMs = monotonicMs;
  }

  /** @throws what reading throws, once the last known one is too old */
  async current(): Promise<string> {
    const oldest = this.#monotonicMs() - TRUSTED_FOR_MS;
    // At most twice: a read that was under way may have begun too early, the next one begins now.
    while (this.#asOfMs < oldest) await this.#refresh();
    if (this.#monotonicMs() - this.#asOfMs > REFRESH_AFTER_MS) this.#refresh().catch(() => {});
    return this.#value;
  }

  #refresh(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const beganMs = this.#monotonicMs();
    this.#value = await this.#read();
    this.#asOfMs = beganMs;
  }
}
