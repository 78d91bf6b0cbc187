import type { LoadPlan } from '../../load/load-run.ts';
import type { Slice } from '../../load/slice.ts';
import { latenciesOf, Tally } from '../../load/tally.ts';
import { cutTo, type Output } from '../output.ts';
import { inMs } from './load-table.ts';

/** Into a file or a pipe: often enough to follow, rarely enough to read. */
const EVERY_SECONDS_IN_A_FILE = 5;

/** How a load test goes: one line that is renewed each second on a terminal, a line now and then elsewhere. */
export class LoadProgress {
  readonly #output: Output;
  readonly #plan: Pick<LoadPlan, 'seconds'>;
  #hasLine = false;
  /** What no line has told yet. */
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
    // Back to the begin of the line, which is erased (ECMA-48: CR, EL).
    if (isTTY) this.#output.write(`\r\u001b[2K${cutTo(this.#output, line)}`);
    else this.#output.write(`${line}\n`);
    this.#hasLine = isTTY === true;
  }

  /** The last line stays. */
  stop(): void {
    if (this.#hasLine) this.#output.write('\n');
    this.#hasLine = false;
  }
}

interface Seen {
  /** The last one of the stretch that the line tells of. */
  readonly second: number;
  /** Its length. */
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
    isSending ? `${Math.round(slice.due / seconds)} due/s` : 'waiting for answers',
    `${Math.round(slice.answered / seconds)} answered/s`,
    `p50 ${inMs(latencies.percentileMs(0.5))}`,
    `p99 ${inMs(latencies.percentileMs(0.99))}`,
    `${errors + total.lost + total.unsent} errors`,
    `${slice.inFlight + slice.waiting} in flight`,
  ].join('  ');
}
