import type { Database } from '../../store/postgres/open-database.ts';
import { ATTEMPT_MESSAGES, partitionState, TRANSACTION_EVENTS } from '../../store/postgres/partitions.ts';
import type { Retention } from '../../store/transactions/purge.ts';
import { type Finding, good, warning } from './finding.ts';

const PART = 'partitions';
const START_A_WORKER = `start a process of role worker or all, look into its log for 'partitions could not be kept'`;
const END_READERS = 'and look for a transaction that has read the table for days';
const ATTACH_ONE =
  "if this remains for hours, attach a partition as in 'A default partition that is too large' (src/observe/README.md)";

/** Whether rows of the next days can later be removed by dropping their partition, and those past their time were. */
export async function partitionFindings(
  database: Pick<Database, 'query'>,
  { auditDays, messageDays }: Pick<Retention, 'auditDays' | 'messageDays'>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [table, days] of [
    [TRANSACTION_EVENTS, auditDays],
    [ATTEMPT_MESSAGES, messageDays],
  ] as const) {
    const { missing, hasStrayRows, expired } = await partitionState(database, table, days);
    if (expired.length > 0)
      findings.push(
        warning(
          PART,
          `${expired.join(', ')} should have been dropped: past the retention time of ${days} days`,
          `${START_A_WORKER}, ${END_READERS}`,
        ),
      );
    if (missing !== null)
      findings.push(
        warning(
          PART,
          `${table.name} has none for ${missing}; its rows are stored in the default partition`,
          hasStrayRows ? `${START_A_WORKER}; ${ATTACH_ONE}` : `${START_A_WORKER}, ${END_READERS}`,
        ),
      );
    else if (hasStrayRows)
      findings.push(
        warning(
          PART,
          `${table.name}_default has rows, which are deleted one by one when they are past their retention time`,
          'nothing, if workers were stopped for days; otherwise check the clock of the database',
        ),
      );
  }
  return findings.length > 0 ? findings : [good(PART, 'exist for the next days')];
}
