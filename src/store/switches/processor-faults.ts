import type { ProcessorFault, ProcessorFaults, SwitchIdentities } from '../../switching/switches/ports.ts';
import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';

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
    async adopt({ acquirerId, id }, identity) {
      const values = [acquirerId, id, JSON.stringify(identity)];
      await mapConnectionLoss(database.query(ADOPT, values));
    },
  };
}

const ADOPT =
  'update processors set switch_identity = $3 where acquirer_id = $1 and id = $2 and switch_identity is null';

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
