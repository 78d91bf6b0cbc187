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

/**
 * Sign-on and echoes are rare. This many STANs are kept in reserve, because a connection cannot wait for the
 * database.
 */
const KEPT = 20;
const REFILL_BELOW = 10;

type NextStan = () => Promise<string | undefined>;

/**
 * STANs of network management messages, available without waiting. If no more can be reserved, the last ones are used
 * again.
 */
export class NetworkStans {
  readonly #nextStan: NextStan;
  #ready: string[] = [];
  #next = 0;
  #isFilling = false;
  #isClosed = false;

  private constructor(nextStan: NextStan) {
    this.#nextStan = nextStan;
  }

  static async open(nextStan: NextStan): Promise<NetworkStans> {
    const network = new NetworkStans(nextStan);
    await network.#fill();
    if (network.#ready.length === 0) network.#ready = ['000001'];
    return network;
  }

  next(): string {
    const stan = this.#ready[this.#next++ % this.#ready.length]!;
    if (this.#ready.length - this.#next < REFILL_BELOW) void this.#fill().catch(() => {});
    return stan;
  }

  close(): void {
    this.#isClosed = true;
  }

  async #fill(): Promise<void> {
    if (this.#isFilling || this.#isClosed) return;
    this.#isFilling = true;
    try {
      const fresh: string[] = [];
      while (fresh.length < KEPT) {
        const stan = await this.#nextStan();
        if (stan === undefined) break;
        fresh.push(stan);
      }
      if (fresh.length === 0) return;
      this.#ready = [...this.#ready.slice(this.#next), ...fresh];
      this.#next = 0;
    } finally {
      this.#isFilling = false;
    }
  }
}
