import type { MacVerdict } from '../../kits/processor-kit/mac-verdict.ts';

/** One bad MAC is a damaged message. After three consecutive ones, the two sides no longer have the same key. */
const BAD_IN_A_ROW = 3;

/** Counts bad MACs per connection, and signs a connection on again if they continue. */
export class MacWatch {
  readonly #signOnAgain: (connectionId: string) => void;
  readonly #inARow = new Map<string, number>();
  #bad = 0;

  constructor(signOnAgain: (connectionId: string) => void) {
    this.#signOnAgain = signOnAgain;
  }

  /** Number of bad MACs. */
  get bad(): number {
    return this.#bad;
  }

  /** @param verdict undefined on a connection without MACs */
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
