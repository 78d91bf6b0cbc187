import type { ReportedLines } from '../../switching/switches/other-processes.ts';
import type { ProcessorFault, ProcessorFaults, SwitchIdentities } from '../../switching/switches/ports.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';

/**
 * Workers report their faults every two seconds. A fault without a report for this long is fixed, or its worker has
 * ended.
 */
const TOLD_WITHIN_SECONDS = 15;
const MAX_REASON_CHARS = 1_000;

/** Processors that workers cannot open. */
export function postgresProcessorFaults(database: Database): ProcessorFaults {
  return {
    async tell(faults) {
      const records = faults.map(({ reason, ...fault }) => ({ ...fault, reason: reason.slice(0, MAX_REASON_CHARS) }));
      await database.query(TELL, [JSON.stringify(records)]);
    },
  };
}

/** What identifies each switch, in the row of its processor. */
export function postgresSwitchIdentities(database: Database): SwitchIdentities {
  return {
    async adopt({ acquirerId, id, config }, identity) {
      const values = [acquirerId, id, JSON.stringify(identity), JSON.stringify(config)];
      await mapConnectionLoss(database.query(ADOPT, values));
    },
  };
}

const ADOPT = `update processors set switch_identity = $3
  where acquirer_id = $1 and id = $2 and switch_identity is null and config = $4::jsonb`;

/** The currently reported faults of an acquirer's processors. */
export async function findProcessorFaults(database: Database, acquirerId: number): Promise<ProcessorFault[]> {
  const { rows } = await database.query<ProcessorFault>(FIND, [acquirerId]);
  return rows;
}

const TELL = `
insert into processor_faults (acquirer_id, processor_id, reason)
select "acquirerId", "processorId", reason
from json_to_recordset($1::text::json) as x("acquirerId" integer, "processorId" integer, reason text)
order by 1, 2
on conflict (acquirer_id, processor_id) do update set reason = excluded.reason, seen_at = clock_timestamp()`;

const FIND = `
select acquirer_id as "acquirerId", processor_id as "processorId", reason from processor_faults
where acquirer_id = $1 and seen_at > clock_timestamp() - interval '${TOLD_WITHIN_SECONDS} s'
order by processor_id`;

/** Longer than a process needs for several reports. The lines of a killed process are forgotten after this time. */
const FRESH_SECONDS = 5;
const GONE_SECONDS = 60;

const REPORT = `
with mine as (
  insert into process_lines (process_id, lines, reported_at) values ($1, $2, clock_timestamp())
  on conflict (process_id) do update set lines = excluded.lines, reported_at = excluded.reported_at
),
gone as (delete from process_lines where reported_at < clock_timestamp() - interval '${GONE_SECONDS} seconds')
select distinct unnest(lines) as name from process_lines
where process_id <> $1 and reported_at > clock_timestamp() - interval '${FRESH_SECONDS} seconds'`;

/** Which processes are signed on to which switches; the database's clock decides which reports are fresh. */
export function postgresProcessLines(database: Database): ReportedLines {
  return {
    async report(processId, lines) {
      const query = { name: 'report-lines', text: REPORT, values: [processId, [...lines]] };
      const { rows } = await database.query<{ name: string }>(query);
      return rows.map(({ name }) => name);
    },
    async forget(processId) {
      await database.query('delete from process_lines where process_id = $1', [processId]);
    },
  };
}
