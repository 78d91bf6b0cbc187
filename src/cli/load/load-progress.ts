import type { LoadPlan } from '../../tools/load/load-run.ts';
import type { Slice } from '../../tools/load/slice.ts';
import { latenciesOf, Tally } from '../../tools/load/tally.ts';
import { cutTo, type Output } from '../output.ts';
import { inMs } from './load-table.ts';

/** In a file or a pipe: frequent enough to follow, rare enough to read. */
const EVERY_SECONDS_IN_A_FILE = 5;

/**
 * Progress of a load test: on a terminal one line that is rewritten each second, elsewhere a new line every few
 * seconds.
 */
export class LoadProgress {
  readonly #output: Output;
  readonly #plan: Pick<LoadPlan, 'seconds'>;
  #hasLine = false;
  /** Counts that no line has shown yet. */
  readonly #tally = new Tally();
  #tallied = 0;

  constructor(output: Output, plan: Pick<LoadPlan, 'seconds'>) {
    this.#output = output;
    this.#plan = plan;
  }

  show(second: number, slice: Slice, total: Slice): void {
    this.#tally.add({ ...slice, inFlight: 0, waiting: 0, connections: 0 });
    this.#tallied++;
    const { isTTY } = this.#output;
    if (!isTTY && (second + 1) % EVERY_SECONDS_IN_A_FILE !== 0) return;
    const { inFlight, waiting } = slice;
    const line = progressLine(
      { second, seconds: this.#tallied, slice: this.#tally.take({ inFlight, waiting }), total },
      this.#plan,
    );
    this.#tallied = 0;
    // Returns to the start of the line and erases it (ECMA-48: CR, EL).
    if (isTTY) this.#output.write(`\r\u001b[2K${cutTo(this.#output, line)}`);
    else this.#output.write(`${line}\n`);
    this.#hasLine = isTTY === true;
  }

  /** Leaves the last line in place. */
  stop(): void {
    if (this.#hasLine) this.#output.write('\n');
    this.#hasLine = false;
  }
}

interface Seen {
  /** The last second of the period that the line covers. */
  readonly second: number;
  /** Length of the period. */
  readonly seconds: number;
  readonly slice: Slice;
  readonly total: Slice;
}

/** `  12/60 s  2000 due/s  1998 answered/s  p50 3.10 ms  p99 12.0 ms  0 errors  7 in flight` */
export function progressLine({ second, seconds, slice, total }: Seen, plan: Pick<LoadPlan, 'seconds'>): string {
  const latencies = latenciesOf(slice);
  const errors = Object.values(total.scenarios).reduce((sum, scenario) => sum + scenario.errors, 0);
  const isSending = second < plan.seconds;
  return [
    `${String(second + 1).padStart(4)}/${Math.ceil(plan.seconds)} s`,
    isSending ? `${Math.round(slice.due / seconds)} due/s` : 'waiting for responses',
    `${Math.round(slice.answered / seconds)} answered/s`,
    `p50 ${inMs(latencies.percentileMs(0.5))}`,
    `p99 ${inMs(latencies.percentileMs(0.99))}`,
    `${errors + total.lost + total.unsent} errors`,
    `${slice.inFlight + slice.waiting} in flight`,
  ].join('  ');
}
