import { PinState } from '../../payments/model/pin.ts';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import { FIRST_TAP_DATE, TAP_USABLE_DAYS } from '../../payments/model/time-limits.ts';
import { ReversalState, RUNNING_REVERSAL_STATES, VoidState } from '../../payments/model/transaction.ts';
import { IS_HELD } from '../links/link-claims.ts';
import type { Database } from '../postgres/open-database.ts';
import {
  ATTEMPT_MESSAGES,
  dropPartitions,
  makePartitions,
  TRANSACTION_EVENTS,
  TRANSACTIONS,
} from '../postgres/partitions.ts';

const { needsReview } = ReversalState;

/** Retention times in days. */
export interface Retention {
  /** PAN and expiry, sealed, counted from the tap. Open transactions keep theirs until they end. */
  readonly cardDays: number;
  /** The audit trail and the admin events; the database itself refuses less than seven years. */
  readonly auditDays: number;
  /** Settled webhook events, and their delivery attempts. */
  readonly webhookDays: number;
  /** Links and intents that no tap holds, the mandates of TT3, and devices without the app. */
  readonly linkDays: number;
  /** Masked exchanges with switches. */
  readonly messageDays: number;
  /** Chip data that copies are found by. Only tests have another time than that in which a tap is accepted. */
  readonly useDays?: number;
}

/**
 * Data of workers and their connections. No code reads a business date after five days, a key after its retirement,
 * or a fault after seconds. They are kept for a month for people who investigate an incident.
 */
const LINE_DAYS = 30;

type Kind = 'cards' | 'audit' | 'webhooks' | 'links';

/** The end of the previous purge; older rows need no check. */
const MARK = (kind: Kind) => `coalesce((select up_to from purge_marks where kind = '${kind}'), '-infinity')`;
const CUTOFF = `clock_timestamp() - $1 * interval '1 day'`;

/** Rows per statement: its locks are held for milliseconds. */
const BATCH_ROWS = 1_000;

const MARK_UP_TO = (kind: Kind, upTo: string) => `marked as (
  insert into purge_marks (kind, up_to) select '${kind}', ${upTo}
  on conflict (kind) do update set up_to = greatest(purge_marks.up_to, excluded.up_to)
)`;
/** The end of a full batch, or the cut-off after a partial one: then only rows that must be kept are older. */
const BATCH_END = `case when count(due) = ${BATCH_ROWS} then max(due.created_at) else min(cutoff.at) end
  from cutoff left join due on true`;

/**
 * How long beyond its retention a card is kept for an unresolved review. Acquirers settle disputes within the 180
 * days that card networks allow.
 */
const REVIEW_DAYS = 180;

/** No further message to a switch needs the card. A void is part of the sale's reversal. */
const IS_AT_REST = `(t.reversal_state not in (${RUNNING_REVERSAL_STATES.join()})
    and (t.reversal_state <> ${needsReview} or t.created_at < ${CUTOFF} - interval '${REVIEW_DAYS} days')
    and t.void_state is distinct from ${VoidState.asked}
    and t.status not in (${MUST_NOT_REST.join()}) and t.pin_state <> ${PinState.awaiting}
    and coalesce(t.completing_until < clock_timestamp(), true))`;

// The condition is part of the update, so that it is checked again on a row that changes meanwhile.
const ERASE_CARDS = `
with cutoff as (select ${CUTOFF} as at),
due as (
  select t.acquirer_id, t.id, t.created_at from transactions t, cutoff
  where t.created_at >= ${MARK('cards')} and t.created_at < cutoff.at and t.sealed_card is not null
    and not exists (select from purge_held_cards held where held.acquirer_id = t.acquirer_id and held.transaction_id = t.id)
  order by t.created_at limit ${BATCH_ROWS}
),
erased as (
  update transactions t set sealed_card = null from due
  where t.acquirer_id = due.acquirer_id and t.id = due.id and ${IS_AT_REST}
  returning t.id
),
held as (
  insert into purge_held_cards (acquirer_id, transaction_id)
  select acquirer_id, id from due where id not in (select id from erased)
),
${MARK_UP_TO('cards', BATCH_END)}
select count(*) from due`;

/** The card may be that of a later tap than the first one of its row. */
const IS_PAST = `coalesce(t.sent_at < ${CUTOFF}, true)`;

const ERASE_HELD_CARDS = `
with ended as (
  select held.acquirer_id, held.transaction_id from purge_held_cards held
  join transactions t on t.acquirer_id = held.acquirer_id and t.id = held.transaction_id
  where ${IS_PAST} and ${IS_AT_REST} limit ${BATCH_ROWS}
),
erased as (
  update transactions t set sealed_card = null from ended
  where t.acquirer_id = ended.acquirer_id and t.id = ended.transaction_id and ${IS_PAST} and ${IS_AT_REST}
  returning t.acquirer_id, t.id
),
released as (
  delete from purge_held_cards held using erased
  where held.acquirer_id = erased.acquirer_id and held.transaction_id = erased.id
)
select count(*) from erased`;

/** Each has its own card data, which its reversal may need. */
const DELETE_SUPERSEDED = unmarkedDeletion(
  'superseded_attempts',
  'superseded_at',
  `reversal_state not in (${RUNNING_REVERSAL_STATES.join()})
    and (reversal_state <> ${needsReview} or superseded_at < ${CUTOFF} - interval '${REVIEW_DAYS} days')`,
);
const DELETE_REVERSALS = unmarkedDeletion('reversal_attempts', 'sent_at');
/** Rows without a partition of their day; all others are removed with their partition. */
const DELETE_STRAY_ENTRIES = deletion('audit', `${TRANSACTION_EVENTS.name}_default`, 'at', 'true');
const DELETE_STRAY_MESSAGES = unmarkedDeletion(`${ATTEMPT_MESSAGES.name}_default`, 'sent_at');
/** A proposal stays, because its transaction still needs review. */
const DELETE_RESOLUTIONS = deletion('audit', 'review_resolutions', 'proposed_at', `state <> 'proposed'`);
const DELETE_NOTES_OF_STAFF = unmarkedDeletion('transaction_notes', 'written_at');
const DELETE_LATE_RESPONSES = deletion('audit', 'late_responses', 'came_at', 'true');
/** A pending event stays at any age, because a receiver waits for it. */
const DELETE_EVENTS = deletion('webhooks', 'webhook_events', 'created_at', `state <> 'pending'`);
const DELETE_ATTEMPTS = deletion('webhooks', 'webhook_attempts', 'at', 'true');
// A link that a tap holds keeps its paymentReference used, also if the tap has another reference. So it stays, without
// its mandate. A tap that releases it later leaves a row that no creation of a link regards as used.
const DELETE_LINKS = `
with cutoff as (select ${CUTOFF} as at),
due as (
  select l.acquirer_id, l.id, l.created_at, ${IS_HELD} as is_held from links l, cutoff
  where l.created_at >= ${MARK('links')} and l.created_at < cutoff.at
    and (l.sealed_mandate is not null or not ${IS_HELD})
  order by l.created_at limit ${BATCH_ROWS}
),
deleted as (
  delete from links l using due where l.acquirer_id = due.acquirer_id and l.id = due.id and not due.is_held
),
emptied as (
  update links l set sealed_mandate = null from due
  where l.acquirer_id = due.acquirer_id and l.id = due.id and due.is_held
),
${MARK_UP_TO('links', BATCH_END)}
select count(*) from due`;

/**
 * Taps of a refused date have no more copies that could pay. Their hashes begin with the date, so the rows are one range of
 * the primary key; those of PIN blocks and of taps without a date are outside of it. The date is that of the reader's time
 * zone, and processes have clocks of their own.
 */
const USE_SLACK_DAYS = 3;
const DELETE_USES = `
with deleted as (
  delete from used_values where hash = any (array(
    select hash from used_values
    where hash >= '${FIRST_TAP_DATE}00-0000-0000-0000-000000000000'
      and hash < (to_char((${CUTOFF}) at time zone 'UTC', 'YYMMDD') || '00-0000-0000-0000-000000000000')::uuid
    order by hash limit ${BATCH_ROWS}))
  returning 1
)
select count(*) from deleted`;

/** Selected only by age: a summary of each range of pages finds them. */
const DELETE_CHANGES = unmarkedDeletion('admin_events', 'at');
const DELETE_SESSIONS = unmarkedDeletion('console_sessions', 'begun_at');

/** The provider does not report when a person leaves its directory. */
const DELETE_VIEWS = unmarkedDeletion('console_views', 'saved_at', 'user_id is null');

const DELETE_BUSINESS_DATES = unmarkedDeletion('business_dates', 'since');
/** A key that has not retired is in use at any age. */
const DELETE_KEYS = unmarkedDeletion('exchanged_keys', 'retires_at');
/** Its app was removed. A device with a token stays: a push service may keep a token for years. */
const DELETE_DEVICES = unmarkedDeletion('devices', 'updated_at', 'sealed_push_token is null');
const DELETE_NOTES = unmarkedDeletion('settings_changes', 'changed_at');
const NOTE_DAYS = 1;
const DELETE_FAULTS = unmarkedDeletion('processor_faults', 'seen_at');
const DELETE_HANDOVER_KEYS = unmarkedDeletion('handover_keys', 'expires_at');

/** The spans of the figures of the console. Each span serves one range of the charts and is kept for longer than that. */
export const FIGURE_SPANS = [
  { minutes: 1, keptDays: 1 },
  { minutes: 5, keptDays: 1 },
  { minutes: 15, keptDays: 2 },
  { minutes: 60, keptDays: 8 },
  { minutes: 360, keptDays: 32 },
] as const;

// With the order, Postgres uses the index. Most rows have a short span and most are young, so it would otherwise expect many
// that are both short and old, and scan the table for them.
const DELETE_FIGURES = FIGURE_SPANS.map(
  ({ minutes, keptDays }) =>
    [unmarkedDeletion('stored_figures', 'begins_at', `minutes = ${minutes} order by begins_at`), keptDays] as const,
);

/** For a table so small that a full scan costs nothing, or with its ages summarized. */
function unmarkedDeletion(table: string, at: string, condition = 'true'): string {
  return `
with deleted as (
  delete from ${table} where ctid = any (array(
    select ctid from ${table} where ${at} < ${CUTOFF} and ${condition} limit ${BATCH_ROWS}))
  returning 1
)
select count(*) from deleted`;
}

function deletion(kind: Kind, table: string, at: string, condition: string): string {
  return `
with cutoff as (select ${CUTOFF} as at),
deleted as (
  delete from ${table} where ctid = any (array(
    select x.ctid from ${table} x, cutoff where x.${at} < cutoff.at and ${condition} limit ${BATCH_ROWS}))
  returning 1
),
${MARK_UP_TO(kind, 'at from cutoff')}
select count(*) from deleted`;
}

/** Usually false; then the table of taps is not locked a second time. */
async function holdsCards(database: Database): Promise<boolean> {
  return (await database.query('select from purge_held_cards limit 1')).rowCount === 1;
}

/**
 * Makes the partitions of the next days, and drops those that are past their retention time. What others' locks prevent
 * is done an hour later; rows without a partition are stored all the same. An error of one step stops no other.
 */
async function keepPartitions(
  database: Database,
  { auditDays, messageDays }: Retention,
  onError: (error: unknown) => void,
): Promise<void> {
  for (const [table, days] of [
    [TRANSACTIONS, undefined],
    [TRANSACTION_EVENTS, auditDays],
    [ATTEMPT_MESSAGES, messageDays],
  ] as const) {
    const report = (what: string) => (cause: Error) =>
      onError(new Error(`partitions of ${table.name} could not be ${what}: ${cause.message}`, { cause }));
    await makePartitions(database, table).catch(report('made'));
    if (days !== undefined) await dropPartitions(database, table, days).catch(report('dropped'));
  }
}

function rethrow(error: unknown): never {
  throw error;
}

/**
 * Removes one batch of each kind of data past its retention time.
 *
 * @param onError receives errors of partitions, which do not stop the rest
 * @returns `more` while there may be another batch
 */
export async function purge(
  database: Database,
  retention: Retention,
  onError: (error: unknown) => void = rethrow,
): Promise<'more' | 'done'> {
  const { cardDays, auditDays, webhookDays, linkDays, messageDays, useDays = TAP_USABLE_DAYS } = retention;
  await keepPartitions(database, retention, onError);
  let isFull = false;
  for (const [statement, days] of [
    [ERASE_CARDS, cardDays],
    ...((await holdsCards(database)) ? [[ERASE_HELD_CARDS, cardDays] as const] : []),
    [DELETE_SUPERSEDED, cardDays],
    [DELETE_STRAY_ENTRIES, auditDays],
    [DELETE_RESOLUTIONS, auditDays],
    [DELETE_NOTES_OF_STAFF, auditDays],
    [DELETE_LATE_RESPONSES, auditDays],
    [DELETE_REVERSALS, auditDays],
    [DELETE_VIEWS, auditDays],
    [DELETE_CHANGES, auditDays],
    [DELETE_EVENTS, webhookDays],
    [DELETE_ATTEMPTS, webhookDays],
    [DELETE_LINKS, linkDays],
    [DELETE_DEVICES, linkDays],
    [DELETE_NOTES, NOTE_DAYS],
    [DELETE_STRAY_MESSAGES, messageDays],
    [DELETE_USES, useDays + USE_SLACK_DAYS],
    [DELETE_SESSIONS, LINE_DAYS],
    [DELETE_BUSINESS_DATES, LINE_DAYS],
    [DELETE_KEYS, LINE_DAYS],
    [DELETE_FAULTS, LINE_DAYS],
    [DELETE_HANDOVER_KEYS, LINE_DAYS],
    ...DELETE_FIGURES,
  ] as const) {
    const { rows } = await database.query<{ count: string }>(statement, [days]);
    isFull ||= Number(rows[0]!.count) === BATCH_ROWS;
  }
  return isFull ? 'more' : 'done';
}
