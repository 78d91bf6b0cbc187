import type { Database } from '../../store/postgres/open-database.ts';
import { ATTEMPT_MESSAGES, partitionState, TRANSACTION_EVENTS } from '../../store/postgres/partitions.ts';
import { type Finding, good, warning } from './finding.ts';

const PART = 'partitions';

/** Whether rows of the next days can later be removed by dropping their partition. */
export async function partitionFindings(database: Pick<Database, 'query'>): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const table of [TRANSACTION_EVENTS, ATTEMPT_MESSAGES]) {
    const { missing, hasStrayRows } = await partitionState(database, table);
    if (missing !== null)
      findings.push(
        warning(
          PART,
          `${table.name} has none for ${missing}; its rows are stored in the default partition`,
          'start a process of role worker or all, look into its log for errors of partitions, and look for a transaction that has read the table for days',
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
