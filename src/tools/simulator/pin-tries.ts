/** Cards above this limit start again, so that a load test with random PANs cannot fill the memory. */
const MAX_CARDS = 100_000;

/** Consecutive wrong PINs after which the issuer refuses every PIN (75). */
const MOST_TRIES = 3;

/** The issuer's check of PINs: counts wrong ones per card. */
export class PinTries {
  readonly #wrong = new Map<string, number>();

  /** Every card has all its tries again. */
  forget(): void {
    this.#wrong.clear();
  }

  /** The response code for a verified PIN: 00, 55, or 75 from the third wrong PIN on. */
  judge(pan: string, isRight: boolean): string {
    const before = this.#wrong.get(pan) ?? 0;
    if (before >= MOST_TRIES) return '75';
    if (isRight) {
      this.#wrong.delete(pan);
      return '00';
    }
    if (this.#wrong.size >= MAX_CARDS) this.#wrong.clear();
    this.#wrong.set(pan, before + 1);
    return before + 1 >= MOST_TRIES ? '75' : '55';
  }
}
