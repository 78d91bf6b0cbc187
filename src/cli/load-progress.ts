import { rateAt } from '../load/arrivals.ts';
import type { LoadPlan } from '../load/load-run.ts';
import type { Slice } from '../load/slice.ts';
import { latenciesOf } from '../load/tally.ts';
import { inMs } from './load-table.ts';

/** Into a file or a pipe: often enough to follow, rarely enough to read. */
const EVERY_SECONDS_IN_A_FILE = 5;
const DEFAULT_COLUMNS = 80;

interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** How a load test goes: one line that is renewed each second on a terminal, a line now and then elsewhere. */
export class LoadProgress {
  readonly #output: Output;
  readonly #plan: Pick<LoadPlan, 'seconds' | 'arrivals'>;
  #hasLine = false;

  constructor(output: Output, plan: Pick<LoadPlan, 'seconds' | 'arrivals'>) {
    this.#output = output;
    this.#plan = plan;
  }

  show(second: number, slice: Slice, total: Slice): void {
    const line = progressLine(second, slice, total, this.#plan);
    if (this.#output.isTTY) {
      // Back to the begin of the line, which is erased (ECMA-48: CR, EL); cut, as a line that wraps could not be renewed.
      this.#output.write(`\r\u001b[2K${line.slice(0, (this.#output.columns ?? DEFAULT_COLUMNS) - 1)}`);
      this.#hasLine = true;
    } else if ((second + 1) % EVERY_SECONDS_IN_A_FILE === 0) this.#output.write(`${line}\n`);
  }

  /** The last line stays. */
  stop(): void {
    if (this.#hasLine) this.#output.write('\n');
    this.#hasLine = false;
  }
}

/** `  12/60 s   2000 due/s   1998 answered/s   p50 3.1 ms   p99 12 ms   0 errors   7 in flight` */
export function progressLine(
  second: number,
  slice: Slice,
  total: Slice,
  { seconds, arrivals }: Pick<LoadPlan, 'seconds' | 'arrivals'>,
): string {
  const latencies = latenciesOf(slice);
  const errors = Object.values(total.scenarios).reduce((sum, scenario) => sum + scenario.errors, 0);
  const isSending = second < seconds;
  return [
    `${String(second + 1).padStart(4)}/${Math.ceil(seconds)} s`,
    isSending ? `${Math.round(rateAt(arrivals.segments, second + 0.5))} due/s` : 'waiting for answers',
    `${slice.answered} answered/s`,
    `p50 ${inMs(latencies.percentileMs(0.5))}`,
    `p99 ${inMs(latencies.percentileMs(0.99))}`,
    `${errors + total.lost + total.unsent} errors`,
    `${slice.inFlight + slice.waiting} in flight`,
  ].join('   ');
}
