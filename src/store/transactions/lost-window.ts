import type pg from 'pg';
import type { LostWindow } from '../../payments/ports/directory-ports.ts';
import type { HeldRequest, RestoreHolds } from '../../payments/ports/store-ports.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { INSTALLATION, inAdminCommit, recordChange } from '../settings/admin-commit.ts';
import { STATED } from '../switches/database-epoch.ts';

/**
 * The lost window of a restored database: what payments/decisions/after-restore.ts decides with, and what an operator states
 * and releases. It has one row in `lost_window` while it is open.
 */

const MS = (time: string) => `(extract(epoch from ${time}) * 1000)::float8`;

/** For processes, which follow it with the configuration. */
export const LOST_WINDOW = `select ${MS('w.lost_from')} as "fromMs", ${MS('w.lost_until')} as "untilMs", w.holds_all_taps as "holdsAllTaps",
  array(select concat_ws(' ', r.acquirer_id, nullif(r.merchant_id, '')) from lost_window_releases r order by 1) as released
from lost_window w`;

/** A row of `LOST_WINDOW`. */
export type LostWindowRow = Omit<LostWindow, 'released'> & { readonly released: readonly string[] };

const FIND = `select is_released as "isReleased" from held_references
  where acquirer_id = $1 and merchant_id = $2 and reference = $3`;

const HOLD = `
insert into held_references as h (acquirer_id, merchant_id, reference, kind, amount_minor, currency, requests)
values ($1, $2, $3, $4, $5, $6, 1)
on conflict (acquirer_id, merchant_id, reference) do update set requests = h.requests + 1, last_at = clock_timestamp()`;

/** The references that are held, on Postgres. */
export function postgresRestoreHolds(database: Database): RestoreHolds {
  return {
    find: async ({ acquirerId, merchantId, reference }) => {
      const query = { name: 'find-held', text: FIND, values: [acquirerId, merchantId, reference] };
      const { rows } = await mapConnectionLoss(database.query<{ isReleased: boolean }>(query));
      return rows[0] && (rows[0].isReleased ? 'released' : 'held');
    },
    hold: async ({ acquirerId, merchantId, reference, kind, amountMinor, currency }) => {
      const values = [acquirerId, merchantId, reference, kind, amountMinor, currency];
      await mapConnectionLoss(database.query({ name: 'hold-reference', text: HOLD, values }));
    },
  };
}

/** The lost window as an operator sees it. */
export interface RestoreStatus {
  readonly lostFrom: Date;
  readonly lostUntil: Date;
  readonly holdsAllTaps: boolean;
  readonly cause: 'stated' | 'replaced' | 'restored';
  readonly beganAt: Date;
  /** As in `LostWindow`. */
  readonly released: readonly string[];
  /** How many references are held now. */
  readonly held: number;
}

const STATUS = `select lost_from as "lostFrom", lost_until as "lostUntil", holds_all_taps as "holdsAllTaps", cause, began_at as "beganAt",
  array(select concat_ws(' ', r.acquirer_id, nullif(r.merchant_id, '')) from lost_window_releases r order by 1) as released,
  (select count(*) from held_references h where not h.is_released and not exists (select from lost_window_releases r
    where r.acquirer_id = h.acquirer_id and r.merchant_id in ('', h.merchant_id)))::integer as held
from lost_window`;

/** Undefined if no lost window is open. */
export async function readRestore(database: Pick<Database, 'query'>): Promise<RestoreStatus | undefined> {
  return (await database.query<RestoreStatus>(STATUS)).rows[0];
}

/** More lines than a person reads. */
const MAX_LISTED = 10_000;

export interface HeldReference extends HeldRequest {
  readonly requests: number;
  readonly firstAt: Date;
  readonly lastAt: Date;
}

/** What is held now, the oldest first. */
export async function listHeld(database: Pick<Database, 'query'>): Promise<HeldReference[]> {
  const { rows } = await database.query<HeldReference>(
    `select acquirer_id as "acquirerId", merchant_id as "merchantId", reference, kind, amount_minor::float8 as "amountMinor", currency,
       requests::float8 as requests, first_at as "firstAt", last_at as "lastAt"
     from held_references h where not is_released and not exists (select from lost_window_releases r
       where r.acquirer_id = h.acquirer_id and r.merchant_id in ('', h.merchant_id))
     order by first_at, acquirer_id, merchant_id, reference limit ${MAX_LISTED}`,
  );
  return rows;
}

/** How long no gateway had been connected to the database; undefined if none ever was. */
export interface UnseenDatabase {
  readonly seenAt: Date;
  readonly unseenSeconds: number;
  /** Whether numbers were skipped at the last change of the database, and for how long reservations may have been lost. */
  readonly skippedForSeconds: number | null;
  /** Scopes that have no numbers until an operator names the last one. */
  readonly held: number;
}

/** What the record of the database (database-epoch.ts) shows to a person. */
export async function readUnseen(database: Pick<Database, 'query'>): Promise<UnseenDatabase | undefined> {
  const { rows } = await database.query<UnseenDatabase>(
    `select seen_at as "seenAt", greatest(extract(epoch from clock_timestamp() - seen_at), 0)::float8 as "unseenSeconds",
       case when has_skipped and gap_seconds > 0 then gap_seconds end as "skippedForSeconds",
       (select count(*) from stan_blocks where held_until >= (clock_timestamp() at time zone 'UTC')::date)::integer as held
     from database_epoch`,
  );
  return rows[0];
}

/** The time whose commits the database lacks, as an operator states it. */
export interface StatedRestore {
  readonly actor: string;
  readonly lostFrom: Date;
  /** Undefined for the present time. */
  readonly lostUntil?: Date | undefined;
  readonly holdsAllTaps: boolean;
}

// The next gateway that notes the database finds another epoch, and every scope skips the numbers of the lost time.
const STATE_EPOCH = `update database_epoch set epoch = '${STATED}', is_synchronous = false, seen_at = least(seen_at, $1::timestamptz)`;

const BEGIN = `
insert into lost_window as w (lost_from, lost_until, holds_all_taps, cause)
values ($1, coalesce($2, clock_timestamp()), $3, 'stated')
on conflict (is_only) do update
set lost_from = excluded.lost_from, lost_until = excluded.lost_until, holds_all_taps = excluded.holds_all_taps, cause = excluded.cause`;

const IS_FUTURE = `select $1::timestamptz > clock_timestamp() or coalesce($2, clock_timestamp()) > clock_timestamp() as "isFuture"`;

/**
 * States that the database was restored. It begins the lost window, or changes the open one, and the next gateway that starts
 * skips STANs. To be called before a gateway starts.
 *
 * @returns `future` if a time is in the future, `unused` if no gateway has ever used the database; nothing was changed then
 */
export function stateRestored(
  database: Database,
  { actor, lostFrom, lostUntil, holdsAllTaps }: StatedRestore,
): Promise<'begun' | 'future' | 'unused'> {
  const until = lostUntil ?? null;
  return inAdminCommit(database, INSTALLATION, async (client) => {
    const { rows } = await client.query<{ isFuture: boolean }>(IS_FUTURE, [lostFrom, until]);
    if (rows[0]!.isFuture) return 'future';
    const before = await readForAudit(client);
    const { rowCount } = await client.query(STATE_EPOCH, [lostFrom]);
    if (rowCount === 0) return 'unused';
    await client.query(BEGIN, [lostFrom, until, holdsAllTaps]);
    await record(client, actor, { before, after: await readForAudit(client) });
    return 'begun';
  });
}

/**
 * Names the time at which the last gateway stopped that worked with the lost commits. A tap that was made after it is new.
 *
 * @returns false if no window is open, or the time is not in it
 */
export function endLostWindowAt(database: Database, actor: string, lostUntil: Date): Promise<boolean> {
  return inAdminCommit(database, INSTALLATION, async (client) => {
    const before = await readForAudit(client);
    const { rowCount } = await client.query(
      'update lost_window set lost_until = $1 where lost_from <= $1 and $1 <= clock_timestamp()',
      [lostUntil],
    );
    if (rowCount === 1) await record(client, actor, { before, after: await readForAudit(client) });
    return rowCount === 1;
  });
}

/** What an operator releases after the comparison of the books. */
export type Release =
  | { readonly what: 'all' }
  | { readonly what: 'merchant'; readonly acquirerId: number; readonly merchantId: string | null }
  | { readonly what: 'references'; readonly references: readonly ReleasedReference[] };

export interface ReleasedReference {
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly reference: string;
}

const RELEASE_MERCHANT = `insert into lost_window_releases (acquirer_id, merchant_id) values ($1, $2) on conflict do nothing`;

const RELEASE_REFERENCES = `
insert into held_references (acquirer_id, merchant_id, reference, kind, is_released)
select distinct "acquirerId", "merchantId", reference, 'listed', true
from json_to_recordset($1::text::json) as x("acquirerId" integer, "merchantId" text, reference text)
on conflict (acquirer_id, merchant_id, reference) do update set is_released = true`;

/**
 * Releases what is held: everything, which ends the lost window; a merchant or a whole acquirer; or references.
 *
 * @returns false if no window is open
 */
export function releaseHeld(database: Database, actor: string, release: Release): Promise<boolean> {
  return inAdminCommit(database, INSTALLATION, async (client) => {
    const before = await readForAudit(client);
    if (before === null) return false;
    if (release.what === 'all') {
      await client.query('delete from lost_window');
      await client.query('delete from lost_window_releases');
      await client.query('delete from held_references');
    } else if (release.what === 'merchant') {
      await client.query(RELEASE_MERCHANT, [release.acquirerId, release.merchantId ?? '']);
    } else {
      await client.query(RELEASE_REFERENCES, [JSON.stringify(release.references)]);
    }
    const listed = release.what === 'references' ? { references: release.references.length } : {};
    const after = await readForAudit(client);
    await record(client, actor, { before, after: after && { ...after, ...listed } });
    return true;
  });
}

async function readForAudit(client: pg.ClientBase): Promise<object | null> {
  return (await client.query<RestoreStatus>(STATUS)).rows[0] ?? null;
}

function record(
  client: pg.ClientBase,
  actor: string,
  { before, after }: { readonly before: object | null; readonly after: object | null },
): Promise<void> {
  const action = before === null ? 'add' : after === null ? 'remove' : 'change';
  const change = { acquirerId: INSTALLATION, actor };
  return recordChange(client, change, { action, kind: 'restore', id: 'database', before, after });
}
