import { LogBudget } from '../../basics/limits/log-budget.ts';
import type { ConnectionLog } from '../connection/pool-options.ts';
import type { ProcessorKey } from './ports.ts';

/** A processor that fails on one message fails on all similar ones; these lines are enough to notice it. */
const LINES_PER_SECOND = 10;

/** Logs an error of a processor's own code. Only the current message is affected. */
export type ReportFault = (error: unknown, connectionId?: string) => void;

export function faultLog(
  { acquirerId, processorId }: ProcessorKey,
  log: Pick<ConnectionLog, 'warn'>,
  monotonicMs: () => number,
): ReportFault {
  const budget = new LogBudget(LINES_PER_SECOND);
  return (error, connectionId) => {
    const code = error instanceof Error ? error.name : 'unknown';
    budget.spend(monotonicMs(), (suppressed) => {
      const fields = { acquirerId, processorId, connectionId, code, suppressed };
      log.warn(fields, 'processor cannot read or build a message');
    });
  };
}
