import type { RecordedChange } from '#schemas/admin-audit';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { shown } from './settings-table.ts';

/** A page of admin events. */
export interface ChangePage {
  /** Only events older than the one with this number. */
  readonly after?: number | undefined;
  readonly limit: number;
  /** Only events of objects of this kind, and with this id. */
  readonly kind?: string | undefined;
  readonly id?: string | undefined;
}

const SELECT = `
select id::float8 as number, acquirer_id as "acquirerId", at, actor, action, kind, subject_id as id, before, after
from admin_events`;

/** Admin events of one acquirer or of all, newest first. */
export async function listAdminEvents(
  database: Database,
  { acquirerId, after, limit, kind, id }: ChangePage & { readonly acquirerId?: number | undefined },
): Promise<RecordedChange[]> {
  const { rows } = await mapConnectionLoss(
    database.query<object>(
      `${SELECT} where ($1::integer is null or acquirer_id = $1) and ($2::bigint is null or admin_events.id < $2)
         and ($4::text is null or kind = $4) and ($5::text is null or subject_id = $5)
       order by admin_events.id desc limit $3`,
      [acquirerId ?? null, after ?? null, limit, kind ?? null, id ?? null],
    ),
  );
  return rows.map((row) => shown<RecordedChange>(row));
}

/** An admin event as its chain covers it; text is as the database shows it. */
export interface ChainedEvent {
  readonly acquirerId: number;
  /** Position in the chain of the acquirer, from 1. */
  readonly number: number;
  readonly id: string;
  /** UTC with microseconds, `2026-11-20T10:00:00.000000`. */
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly kind: string;
  readonly subjectId: string;
  readonly before: string | null;
  readonly after: string | null;
  /** Time of the event before; null for the first one. */
  readonly previousAt: string | null;
  readonly previousHash: string | null;
  readonly hash: string;
  /** Whether the event before is old enough to have been deleted. */
  readonly mayFollowDeleted: boolean;
}

/** A page needs little memory, and few queries read a chain of years. */
const PAGE = 1_000;

const TIME = `'YYYY-MM-DD"T"HH24:MI:SS.US'`;

/** Admin events are kept for seven years (trigger `admin_events_kept_for_seven_years`). */
const READ = `
select acquirer_id as "acquirerId", chain_number::float8 as number, id::text,
  to_char(at at time zone 'UTC', ${TIME}) as at, actor, action, kind, subject_id::text as "subjectId",
  before::text, after::text, to_char(previous_at at time zone 'UTC', ${TIME}) as "previousAt",
  encode(previous_hash, 'hex') as "previousHash", encode(hash, 'hex') as hash,
  coalesce(previous_at < clock_timestamp() - interval '7 years', false) as "mayFollowDeleted"
from admin_events where (acquirer_id, chain_number) > ($1, $2) and ($3::integer is null or acquirer_id = $3)
order by acquirer_id, chain_number limit ${PAGE}`;

/** The admin events of one acquirer or of all, by acquirer and position in its chain. */
export async function* chainedEvents(database: Database, acquirerId?: number): AsyncGenerator<ChainedEvent> {
  let last: Pick<ChainedEvent, 'acquirerId' | 'number'> | undefined = { acquirerId: acquirerId ?? -1, number: 0 };
  while (last) {
    const { rows }: { rows: ChainedEvent[] } = await mapConnectionLoss(
      database.query<ChainedEvent>(READ, [last.acquirerId, last.number, acquirerId ?? null]),
    );
    yield* rows;
    last = rows.length === PAGE ? rows.at(-1) : undefined;
  }
}
