import type { ExchangedKeys, LiveKey, ProcessorKey, ReplacedKey } from '../../switching/switches/ports.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';

/**
 * Two announcements within this time may have overtaken each other on two connections. The gateway does not know which
 * key the switch considers the later one, so neither ends the other. Longer than an announcement waits to be taken in.
 */
const SAME_MOMENT_SECONDS = 5;

/**
 * Check values that are remembered for one switch and use. An hourly change reaches this after a year. An older
 * announcement could be replayed only if it was recorded then and the transport key has not changed since. A new key
 * has one of these check values, of 16.8 million, at most once in 1,600 changes. It is then refused, and the next one is not.
 */
const REMEMBERED = 10_000;

/** Working keys that switches have announced, stored enciphered as received. All times are the database's. */
export function postgresExchangedKeys(database: Database): ExchangedKeys {
  return {
    async read({ acquirerId, processorId }) {
      const values = [acquirerId, processorId];
      const live = await database.query<LiveKey>({ name: 'find-exchanged-keys', text: FIND_LIVE, values });
      const replaced = await database.query<ReplacedKey>({ name: 'find-replaced-keys', text: FIND_REPLACED, values });
      return { live: live.rows, replaced: replaced.rows };
    },
    keep(where, key) {
      const { acquirerId, processorId } = where;
      const { keyId, use, number, transportKeyId, form, wrapped, kcv } = key;
      const of = [acquirerId, processorId, use];
      return inTransaction(database, async (client) => {
        await client.query(LOCK, [lockOf(where, use)]);
        const { rows: known } = await client.query<KnownKey>(FIND_KNOWN, [...of, checkValueOf(kcv)]);
        if (known.length > 0) {
          const same = known.find((row) => row.number === number && row.isRepeatable);
          return same?.keyId == null ? 'replayed' : { keyId: same.keyId };
        }
        await client.query(FORGET_OLDEST, [...of, REMEMBERED]);
        await client.query(REMEMBER, [...of, checkValueOf(kcv)]);
        await client.query(KEEP, [acquirerId, processorId, keyId, use, number, transportKeyId, form, wrapped, kcv]);
        return { keyId };
      });
    },
    refuse(where, { use, kcv }) {
      const { acquirerId, processorId } = where;
      return inTransaction(database, async (client) => {
        await client.query(LOCK, [lockOf(where, use)]);
        const values = [acquirerId, processorId, use, checkValueOf(kcv)];
        const { rows } = await client.query<KnownKey>(FIND_KNOWN, values);
        if (rows.length === 0) await client.query(REMEMBER, values);
        return !rows.some(({ isRepeatable }) => isRepeatable);
      });
    },
    acknowledge(where, { keyId, use }, { overlapSeconds, configured }) {
      const of = [where.acquirerId, where.processorId, use];
      return inTransaction(database, async (client) => {
        await client.query(LOCK, [lockOf(where, use)]);
        await client.query(ACKNOWLEDGE, [...of, keyId, SAME_MOMENT_SECONDS]);
        await client.query(END_OLDER, [...of, keyId, SAME_MOMENT_SECONDS, overlapSeconds]);
        await client.query(REPLACE, [...of, configured, overlapSeconds]);
      });
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

/** An AES key may have a check value of five bytes; the first three are always there. */
function checkValueOf(kcv: string): string {
  return kcv.slice(0, 6).toUpperCase();
}

/** Changes of the keys of one switch and use run one after another. */
const LOCK = 'select pg_advisory_xact_lock(hashtextextended($1, 0))';
const lockOf = ({ acquirerId, processorId }: ProcessorKey, use: string) =>
  `exchanged keys ${acquirerId} ${processorId} ${use}`;

const OF_USE = 'acquirer_id = $1 and processor_id = $2 and use = $3';

const FIND_LIVE = `
select key_id as "keyId", use, number, transport_key_id as "transportKeyId", form, wrapped, kcv,
  (extract(epoch from clock_timestamp() - announced_at) * 1000)::float8 as "announcedMsAgo",
  (extract(epoch from clock_timestamp() - acknowledged_at) * 1000)::float8 as "acknowledgedMsAgo",
  (extract(epoch from retires_at - clock_timestamp()) * 1000)::float8 as "endsInMs"
from exchanged_keys
where acquirer_id = $1 and processor_id = $2 and (retires_at is null or retires_at > clock_timestamp())
order by announced_at desc`;

const FIND_REPLACED = `
select use, key_id as "keyId", (extract(epoch from retires_at - clock_timestamp()) * 1000)::float8 as "endsInMs"
from replaced_keys where acquirer_id = $1 and processor_id = $2`;

/** A row for each key that was announced with this check value; without a key if that was purged. */
interface KnownKey {
  readonly keyId: string | null;
  readonly number: number | null;
  /** Whether the switch may repeat its announcement: the key was not replaced, and it is in use or the last one. */
  readonly isRepeatable: boolean;
}

const FIND_KNOWN = `
select k.key_id as "keyId", k.number, k.key_id is not null and k.retires_at is null and (
    k.acknowledged_at is not null or not exists (
      select from exchanged_keys later where later.acquirer_id = k.acquirer_id and later.processor_id = k.processor_id
        and later.use = k.use and later.announced_at > k.announced_at)) as "isRepeatable"
from announced_keys a left join exchanged_keys k on k.acquirer_id = a.acquirer_id and k.processor_id = a.processor_id
  and k.use = a.use and upper(left(k.kcv, 6)) = a.kcv
where a.acquirer_id = $1 and a.processor_id = $2 and a.use = $3 and a.kcv = $4`;

const REMEMBER = 'insert into announced_keys (acquirer_id, processor_id, use, kcv) values ($1, $2, $3, $4)';

const FORGET_OLDEST = `
delete from announced_keys where ${OF_USE} and kcv in (
  select kcv from announced_keys where ${OF_USE} order by announced_at desc offset $4::integer - 1)`;

const KEEP = `
insert into exchanged_keys (acquirer_id, processor_id, key_id, use, number, transport_key_id, form, wrapped, kcv)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** An end stays only if a later key has set it. */
const ACKNOWLEDGE = `
update exchanged_keys k set acknowledged_at = coalesce(acknowledged_at, clock_timestamp()),
  retires_at = case when exists (
    select from exchanged_keys later
    where later.acquirer_id = k.acquirer_id and later.processor_id = k.processor_id and later.use = k.use
      and later.acknowledged_at is not null and later.announced_at > k.announced_at + $5 * interval '1 s')
    then retires_at end
where ${OF_USE} and key_id = $4`;

const END_OLDER = `
update exchanged_keys set retires_at = clock_timestamp() + $6 * interval '1 s'
where ${OF_USE} and retires_at is null and announced_at < (
  select announced_at - $5 * interval '1 s' from exchanged_keys where ${OF_USE} and key_id = $4)`;

/** Only the first key that replaces a key of the configuration sets its end. */
const REPLACE = `
insert into replaced_keys (acquirer_id, processor_id, use, key_id, retires_at)
select $1, $2, $3, key_id, clock_timestamp() + $5 * interval '1 s' from unnest($4::text[]) as key_id
on conflict do nothing`;

const CLAIM = `
insert into key_requests (acquirer_id, processor_id, use, asked_until)
values ($1, $2, $3, clock_timestamp() + $4 * interval '1 s')
on conflict (acquirer_id, processor_id, use) do update set asked_until = excluded.asked_until
where key_requests.asked_until < clock_timestamp()`;

const RELEASE = `update key_requests set asked_until = '-infinity' where acquirer_id = $1 and processor_id = $2 and use = $3`;
