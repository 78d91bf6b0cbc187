import type { ExchangedKeys, LiveKey } from '../../switching/switches/ports.ts';
import type { Database } from '../postgres/open-database.ts';

/** Working keys that switches have announced, stored enciphered as received. All times are the database's. */
export function postgresExchangedKeys(database: Database): ExchangedKeys {
  return {
    async live({ acquirerId, processorId }) {
      const { rows } = await database.query<LiveKey>({
        name: 'find-exchanged-keys',
        text: FIND_LIVE,
        values: [acquirerId, processorId],
      });
      return rows;
    },
    async keep({ acquirerId, processorId }, key) {
      const { keyId, use, number, transportKeyId, form, wrapped, kcv } = key;
      await database.query(KEEP, [acquirerId, processorId, keyId, use, number, transportKeyId, form, wrapped, kcv]);
    },
    async acknowledge({ acquirerId, processorId }, { keyId, use }, overlapSeconds) {
      await database.query(ACKNOWLEDGE, [acquirerId, processorId, keyId, use, overlapSeconds]);
    },
    async claim({ acquirerId, processorId }, use, seconds) {
      const { rowCount } = await database.query(CLAIM, [acquirerId, processorId, use, seconds]);
      return rowCount === 1;
    },
    async release({ acquirerId, processorId }, use) {
      await database.query(RELEASE, [acquirerId, processorId, use]);
    },
  };
}

const FIND_LIVE = `
select key_id as "keyId", use, number, transport_key_id as "transportKeyId", form, wrapped, kcv,
  (extract(epoch from clock_timestamp() - acknowledged_at) * 1000)::float8 as "acknowledgedMsAgo"
from exchanged_keys
where acquirer_id = $1 and processor_id = $2 and (retires_at is null or retires_at > clock_timestamp())
order by acknowledged_at desc nulls first, announced_at desc`;

/** A key that was never acknowledged retires at once: the switch has created another since. */
const KEEP = `
with kept as (
  insert into exchanged_keys (acquirer_id, processor_id, key_id, use, number, transport_key_id, form, wrapped, kcv)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
)
update exchanged_keys set retires_at = clock_timestamp()
where acquirer_id = $1 and processor_id = $2 and use = $4 and acknowledged_at is null and retires_at is null`;

const ACKNOWLEDGE = `
with fresh as (
  update exchanged_keys set acknowledged_at = clock_timestamp() where acquirer_id = $1 and processor_id = $2 and key_id = $3
)
update exchanged_keys set retires_at = clock_timestamp() + $5 * interval '1 s'
where acquirer_id = $1 and processor_id = $2 and use = $4 and key_id <> $3 and retires_at is null`;

const CLAIM = `
insert into key_requests (acquirer_id, processor_id, use, asked_until)
values ($1, $2, $3, clock_timestamp() + $4 * interval '1 s')
on conflict (acquirer_id, processor_id, use) do update set asked_until = excluded.asked_until
where key_requests.asked_until < clock_timestamp()`;

const RELEASE = `update key_requests set asked_until = '-infinity' where acquirer_id = $1 and processor_id = $2 and use = $3`;
