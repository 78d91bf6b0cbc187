import type { ConnectionLog } from '../connection/pool-options.ts';
import { LogBudget } from '../limits/log-budget.ts';
import type { ProcessorKey } from './ports.ts';

/** A processor that trips over one message of its switch trips over all that are like it: enough lines to see that it does. */
const LINES_PER_SECOND = 10;

/** Logs an error of a processor's own code, which ends nothing but the message at hand. */
export type TellFault = (error: unknown, connectionId?: string) => void;

export function faultLog(
  { acquirerId, processorId }: ProcessorKey,
  log: Pick<ConnectionLog, 'warn'>,
  monotonicMs: () => number,
): TellFault {
  const budget = new LogBudget(LINES_PER_SECOND);
  return (error, connectionId) => {
    const code = error instanceof Error ? error.name : 'unknown';
    budget.spend(monotonicMs(), (suppressed) => {
      const fields = { acquirerId, processorId, connectionId, code, suppressed };
      log.warn(fields, 'a processor cannot read or build a message');
    });
  };
}
