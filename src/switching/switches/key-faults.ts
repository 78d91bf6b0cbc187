import { TapwireError } from '../../basics/errors.ts';
import { LogBudget } from '../../basics/limits/log-budget.ts';
import type { ConnectionLog } from '../connection/pool-types.ts';
import type { ProcessorKey } from './ports.ts';

/** A switch may repeat refused announcements at any rate. */
const LINES_PER_SECOND = 5;

const FAILED = 'key exchange failed, previous keys remain in use';
const NO_KEY = 'no working key of the switch is usable, messages that need it are not sent';

export interface KeyFaultsOptions {
  readonly where: ProcessorKey;
  readonly monotonicMs: () => number;
  readonly log: ConnectionLog;
}

/** Counts and logs the failures of one switch's key exchanges. */
export class KeyFaults {
  readonly #options: KeyFaultsOptions;
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  #count = 0;
  #last: string | undefined;

  constructor(options: KeyFaultsOptions) {
    this.#options = options;
  }

  /** Only increases. */
  get count(): number {
    return this.#count;
  }

  /** The code of the last failure; undefined after a later exchange has succeeded. */
  get last(): string | undefined {
    return this.#last;
  }

  record(error: unknown): void {
    this.#count++;
    this.#last = codeOf(error);
    const reason = error instanceof TapwireError ? error.message : codeOf(error);
    const { where, log, monotonicMs } = this.#options;
    const fields = { ...where, code: this.#last, reason };
    const text = this.#last === 'NO_KEY' ? NO_KEY : FAILED;
    this.#budget.spend(monotonicMs(), (suppressed) => log.warn({ ...fields, suppressed }, text));
  }

  clear(): void {
    this.#last = undefined;
  }
}

/** A name for an error: never its text, because it may contain foreign data. */
export function codeOf(error: unknown): string {
  if (error instanceof TapwireError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

/** A processor that fails on one message fails on all similar ones; these lines are enough to notice it. */
const FAULT_LINES_PER_SECOND = 10;

/** Logs an error of a processor's own code. Only the current message is affected. */
export type ReportFault = (error: unknown, connectionId?: string) => void;

export function faultLog(
  { acquirerId, processorId }: ProcessorKey,
  log: Pick<ConnectionLog, 'warn'>,
  monotonicMs: () => number,
): ReportFault {
  const budget = new LogBudget(FAULT_LINES_PER_SECOND);
  return (error, connectionId) => {
    const code = error instanceof Error ? error.name : 'unknown';
    budget.spend(monotonicMs(), (suppressed) => {
      const fields = { acquirerId, processorId, connectionId, code, suppressed };
      log.warn(fields, 'processor cannot read or build a message');
    });
  };
}
