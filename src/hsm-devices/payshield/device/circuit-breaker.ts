export interface CircuitLimits {
  /** Consecutive failures that open the circuit. */
  readonly failuresToOpen: number;
  /** The time before the first trial; doubles with each circuit that opens without a success in between. */
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Takes a failing device out of use. While the circuit is open, only diagnostics are sent to the device. */
export class CircuitBreaker {
  readonly #limits: CircuitLimits;
  #failures = 0;
  #openings = 0;
  #closableAtMs: number | undefined;

  constructor(limits: CircuitLimits) {
    this.#limits = limits;
  }

  get isOpen(): boolean {
    return this.#closableAtMs !== undefined;
  }

  /** Whether diagnostics may close the circuit. */
  mayClose(monotonicMs: number): boolean {
    return this.#closableAtMs !== undefined && monotonicMs >= this.#closableAtMs;
  }

  /** A command was carried out. */
  succeeded(): void {
    if (this.isOpen) return;
    this.#failures = 0;
    this.#openings = 0;
  }

  /** @returns whether this failure opened the circuit */
  failed(monotonicMs: number): boolean {
    if (this.isOpen || ++this.#failures < this.#limits.failuresToOpen) return false;
    const { firstMs, mostMs } = this.#limits;
    this.#closableAtMs = monotonicMs + Math.min(mostMs, firstMs * 2 ** Math.min(this.#openings++, 20));
    return true;
  }

  /**
   * Diagnostics have passed. The next commands decide: a device that passes its diagnostics and fails commands opens the
   * circuit again, for longer.
   */
  close(): void {
    this.#closableAtMs = undefined;
    this.#failures = 0;
  }
}
