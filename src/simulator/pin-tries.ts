/** Cards beyond this start over: a load test with random PANs must not fill the memory. */
const MAX_CARDS = 100_000;

/** Wrong PINs in a row after which the issuer takes no more (75). */
const MOST_TRIES = 3;

/** The issuer's side of a PIN: counts wrong ones per card. */
export class PinTries {
  readonly #wrong = new Map<string, number>();

  /** The response code for a PIN that was checked: 00, 55, or 75 from the third wrong one on. */
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
