import type { MacVerdict } from '../processor-kit/mac-verdict.ts';

/** One bad MAC is a damaged message. Three answers in a row, and the two sides no longer have the same key. */
const BAD_IN_A_ROW = 3;

/** Counts MACs that were not good, line by line, and has a line sign on anew when they do not end. */
export class MacWatch {
  readonly #signOnAgain: (connectionId: string) => void;
  readonly #inARow = new Map<string, number>();
  #bad = 0;

  constructor(signOnAgain: (connectionId: string) => void) {
    this.#signOnAgain = signOnAgain;
  }

  /** How many there have been. */
  get bad(): number {
    return this.#bad;
  }

  /** @param verdict undefined on a line without MACs */
  note(connectionId: string, verdict: MacVerdict | undefined): void {
    if (verdict === undefined) return;
    if (verdict === 'good') {
      this.#inARow.delete(connectionId);
      return;
    }
    this.#bad++;
    const inARow = (this.#inARow.get(connectionId) ?? 0) + 1;
    this.#inARow.set(connectionId, inARow % BAD_IN_A_ROW);
    if (inARow === BAD_IN_A_ROW) this.#signOnAgain(connectionId);
  }

  forget(connectionId: string): void {
    this.#inARow.delete(connectionId);
  }
}
