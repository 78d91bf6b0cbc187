import { HsmUnavailable } from '../../basics/errors.ts';
import { LogBudget } from '../../basics/limits/log-budget.ts';
import { isTimeout, within } from '../../basics/limits/within.ts';
import type { ConnectionLog } from '../connection/pool-options.ts';

/**
 * An HSM needs milliseconds. Three seconds leave most of `ANSWER_SLACK_SECONDS`, and the cardholder is still at the
 * till.
 */
const LIMIT_MS = 3_000;
const LINES_PER_SECOND = 1;

/** What the calls are for: logged if one fails. */
type HsmPurpose = 'PIN' | 'MAC' | 'card data';

/**
 * Concurrent calls for one switch. PINs: at 20 ms each, more than ten thousand a second. MACs: two for each request in
 * flight, and one for each late response that is being looked up. Card data, for the whole process: as PINs, with two
 * calls for each tap.
 */
const MOST_UNDER_WAY: Readonly<Record<HsmPurpose, number>> = {
  PIN: 256,
  MAC: 4_096,
  'card data': 512,
};

/**
 * Calls that were given up and have not ended, as a multiple of the concurrent ones. They take memory until the HSM ends
 * them, and a module that never does must not take all of it.
 */
const MOST_GIVEN_UP = 4;

export interface HsmCallsOptions {
  /** Logged with each failure: the processor whose calls these are. */
  readonly owner?: object | undefined;
  readonly purpose: HsmPurpose;
  readonly clock: { monotonicMs(): number };
  readonly log: Pick<ConnectionLog, 'warn'>;
  readonly limitMs?: number | undefined;
}

/**
 * The calls to the HSM for one purpose, each within a limit. An HSM that hangs delays only those that
 * need it, by a few seconds.
 */
export class HsmCalls {
  readonly #options: HsmCallsOptions;
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  #underWay = 0;
  #givenUp = 0;
  #failed = 0;

  constructor(options: HsmCallsOptions) {
    this.#options = options;
  }

  /** Calls that the HSM did not take or did not answer in time; only increases. */
  get failed(): number {
    return this.#failed;
  }

  /**
   * @throws HsmUnavailable if the HSM does not respond in time or too many calls wait for it; else what `call` throws
   */
  async run<Value>(call: () => Promise<Value>): Promise<Value> {
    const { purpose, limitMs = LIMIT_MS } = this.#options;
    const most = MOST_UNDER_WAY[purpose];
    if (this.#underWay >= most || this.#givenUp >= most * MOST_GIVEN_UP) throw this.#failure('BUSY');
    this.#underWay++;
    const called = Promise.try(call);
    try {
      return await within(limitMs, called);
    } catch (cause) {
      if (isTimeout(cause)) {
        this.#giveUp(called);
        throw this.#failure('TIMEOUT', cause);
      }
      throw cause instanceof HsmUnavailable ? this.#failure('UNAVAILABLE', cause) : cause;
    } finally {
      this.#underWay--;
    }
  }

  #giveUp(called: Promise<unknown>): void {
    this.#givenUp++;
    const end = () => {
      this.#givenUp--;
    };
    called.then(end, end);
  }

  #failure(code: string, cause?: unknown): HsmUnavailable {
    const { owner, purpose, clock, log } = this.#options;
    this.#failed++;
    this.#budget.spend(clock.monotonicMs(), (suppressed) =>
      log.warn({ ...owner, purpose, code, suppressed }, 'HSM call failed'),
    );
    return new HsmUnavailable({ cause });
  }
}
