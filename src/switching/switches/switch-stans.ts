import { LogBudget } from '../../basics/limits/log-budget.ts';
import type { TakenStan } from '../../payments/ports/switch-ports.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';

/**
 * STANs of a business date that no new request gets. Reversals and completions need them if their type gives each its
 * own STAN. Twenty thousand are enough if every tap of a minute at 300 a second is uncertain and reversed.
 */
const RESERVED = 20_000;
const LINES_PER_SECOND = 1;

type SwitchStansOptions = Pick<
  AcquirerSwitchOptions,
  'acquirerId' | 'processorId' | 'stans' | 'dates' | 'clock' | 'log'
>;

/**
 * The STANs of one switch. If none is left, this is counted and logged, and its taps end as if no switch were
 * available.
 */
export class SwitchStans {
  readonly #options: SwitchStansOptions;
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  #refused = 0;

  constructor(options: SwitchStansOptions) {
    this.#options = options;
  }

  /** Messages for which no STAN was left. */
  get refused(): number {
    return this.#refused;
  }

  async next(tid: string | null, use: 'followUp' | undefined): Promise<TakenStan | undefined> {
    const { acquirerId, processorId, stans, dates, clock, log } = this.#options;
    const leaving = use === 'followUp' ? 0 : RESERVED;
    const taken = await stans.next({ acquirerId, tid }, dates.current(acquirerId), leaving);
    if (taken !== undefined) return taken;
    this.#refused++;
    this.#budget.spend(clock.monotonicMs(), (suppressed) =>
      log.warn({ acquirerId, processorId, tid, suppressed }, 'no STAN left before the cut-over, nothing sent'),
    );
    return undefined;
  }
}
