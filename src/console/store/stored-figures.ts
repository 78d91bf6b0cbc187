import { inTransaction } from '../../store/postgres/group-commit.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { FIGURE_SPANS } from '../../store/transactions/purge.ts';
import type { TransactionLists } from './transaction-list.ts';

/**
 * What the switches did, as sums of spans of time, for charts of the past. Processes add what they have counted since
 * they last did; no tap waits for it.
 */

export type Counts = Readonly<Record<string, number>>;

/** What one switch did. */
export interface SwitchCounts {
  /** Outcomes by disposition. */
  readonly outcomes: Counts;
  /** Declines by response code. */
  readonly declines: Counts;
  /** Round trips by the upper bound of the bucket in seconds, as text. */
  readonly roundTrips: Counts;
}

export interface CountedSwitch extends SwitchCounts {
  readonly acquirerId: number;
  readonly processorId: number;
}

interface CountedSpan extends SwitchCounts {
  readonly atMs: number;
}

/** Rows are locked in the order of their keys, so that two processes cannot deadlock. */
const ADD = `
insert into stored_figures (acquirer_id, processor_id, minutes, begins_at, outcomes, declines, round_trips)
select x."acquirerId", x."processorId", span.minutes,
  date_bin(make_interval(mins => span.minutes), now() - make_interval(secs => $3), timestamptz '2000-01-01 00:00Z'),
  x.outcomes, x.declines, x."roundTrips"
from json_to_recordset($1) as x("acquirerId" integer, "processorId" integer, outcomes jsonb, declines jsonb,
  "roundTrips" jsonb)
cross join unnest($2::smallint[]) as span(minutes)
order by 1, 2, 3
on conflict (acquirer_id, processor_id, minutes, begins_at) do update set
  outcomes = add_counts(stored_figures.outcomes, excluded.outcomes),
  declines = add_counts(stored_figures.declines, excluded.declines),
  round_trips = add_counts(stored_figures.round_trips, excluded.round_trips)`;

/** Time is that of the database, for rows and for charts: the clocks of the processes may differ. */
const NOW = `select (extract(epoch from now()) * 1000)::float8 as "nowMs"`;

/** Null: all acquirers of this database, all processors. */
const IN_SIGHT = `minutes = $1 and begins_at > now() - make_interval(mins => $2) and begins_at <= now()
  and ($3::integer is null or acquirer_id = $3) and ($4::integer is null or processor_id = $4)`;

const KINDS = { outcomes: 'outcomes', declines: 'declines', roundTrips: 'round_trips' } as const;

/** Sums of each kind of counts, by what a row is part of. */
function summed(whole: string): string {
  const sums = Object.entries(KINDS).map(
    ([kind, column]) => `
    select whole, '${kind}' as kind, key, sum(value::bigint) as total from seen, jsonb_each_text(seen.${column})
    group by whole, key`,
  );
  return `
with seen as materialized (
  select ${whole} as whole, outcomes, declines, round_trips from stored_figures where ${IN_SIGHT}
)
select whole, kind, jsonb_object_agg(key, total) as counts from (${sums.join(' union all ')}) each
group by whole, kind order by whole`;
}

const BY_SPAN = summed('(extract(epoch from begins_at) * 1000)::float8');
const BY_SWITCH = summed('array[acquirer_id, processor_id]');

/**
 * Adds to the spans of the present.
 *
 * @param secondsAgo the middle of the time in which the switches were counted
 * @throws StoreUnavailable with `mayBeStored` if it is unknown whether they were added
 */
export async function addFigures(
  database: Database,
  switches: readonly CountedSwitch[],
  secondsAgo: number,
): Promise<void> {
  const values = [JSON.stringify(switches), FIGURE_SPANS.map(({ minutes }) => minutes), secondsAgo];
  await inTransaction(database, (client) => client.query({ name: 'add-figures', text: ADD, values }));
}

export interface WantedFigures {
  readonly spanMinutes: number;
  readonly minutes: number;
  /** The acquirer whose switches are in sight; undefined for all. */
  readonly own: number | undefined;
  /** The switches whose spans are wanted; undefined for all in sight. */
  readonly acquirerId: number | undefined;
  readonly processorId: number | undefined;
}

export interface ReadSpans {
  /** The present of the database. */
  readonly nowMs: number;
  /** Spans in order; those without taps are missing. */
  readonly spans: readonly CountedSpan[];
  /** All in sight. */
  readonly switches: readonly CountedSwitch[];
}

/** Within the limits of the console's lists. @throws what `TransactionLists.read` throws */
export function readFigures(lists: TransactionLists, wanted: WantedFigures): Promise<ReadSpans> {
  const { spanMinutes, minutes, own, acquirerId, processorId } = wanted;
  return lists.read(async (client) => {
    const sums = async <Whole>(text: string, acquirer?: number, processor?: number) => {
      const values = [spanMinutes, minutes, acquirer ?? null, processor ?? null];
      return assembled((await client.query<SumRow<Whole>>(text, values)).rows);
    };
    const { nowMs } = (await client.query<{ nowMs: number }>(NOW)).rows[0]!;
    const spans = await sums<number>(BY_SPAN, own ?? acquirerId, processorId);
    const switches = await sums<readonly [number, number]>(BY_SWITCH, own);
    return {
      nowMs,
      spans: spans.map(([atMs, counts]) => ({ atMs, ...counts })),
      switches: switches.map(([[of, id], counts]) => ({ acquirerId: of, processorId: id, ...counts })),
    };
  });
}

interface SumRow<Whole> {
  readonly whole: Whole;
  readonly kind: keyof SwitchCounts;
  readonly counts: Counts;
}

const NONE: SwitchCounts = { outcomes: {}, declines: {}, roundTrips: {} };

/** One entry for each whole, in the order of the rows. */
function assembled<Whole>(rows: readonly SumRow<Whole>[]): (readonly [Whole, SwitchCounts])[] {
  const wholes = Map.groupBy(rows, ({ whole }) => String(whole));
  return [...wholes.values()].map((kinds) => [
    kinds[0]!.whole,
    Object.assign({}, NONE, ...kinds.map(({ kind, counts }) => ({ [kind]: counts }))),
  ]);
}

// Figures and commands that processes exchange through the database, for people at a console.

/** Time between two reports of a process while no console is open. */
export const RESTING_SECONDS = 5;
/** More than twice that; older figures are not used. */
const FRESH_SECONDS = 12;
/** A console reads figures every second. */
const WATCHED_SECONDS = 5;
/** Time after which a process that ended is removed. */
const GONE_SECONDS = 60;
/** The person is watching the screen: a command that was not run by then is dropped. */
const COMMAND_SECONDS = 10;

const REPORT = `
with mine as (
  insert into process_figures (process_id, figures) values ($1, $2)
  on conflict (process_id) do update set figures = excluded.figures, at = clock_timestamp()
),
gone as (delete from process_figures where at < clock_timestamp() - interval '${GONE_SECONDS} seconds'),
asked as (
  delete from process_commands
  where process_id = $1 or asked_at < clock_timestamp() - interval '${GONE_SECONDS} seconds'
  returning process_id, command, asked_at
)
select coalesce((select json_agg(command order by asked_at) from asked
    where process_id = $1 and asked_at > clock_timestamp() - interval '${COMMAND_SECONDS} seconds'), '[]') as commands,
  exists (select from console_watch where at > clock_timestamp() - interval '${WATCHED_SECONDS} seconds') as "isWatched"`;

const WATCH = `
with watch as (
  insert into console_watch (at) values (clock_timestamp()) on conflict (is_only) do update set at = excluded.at
)`;
const READ = `
select process_id as id, figures from process_figures
where at > clock_timestamp() - interval '${FRESH_SECONDS} seconds' order by process_id limit $1`;

/** More processes than one screen shows. */
const MAX_PROCESSES = 64;

export interface ReportedFigures<Figures> {
  readonly id: string;
  readonly figures: Figures;
}

/** The response to a report of figures. */
interface Reported<Command> {
  /** The commands for the process since the last report. */
  readonly commands: Command[];
  /** Whether a console is open at any process. */
  readonly isWatched: boolean;
}

/** Reports the figures of this process. */
export async function reportFigures<Command>(
  database: Database,
  id: string,
  figures: object,
): Promise<Reported<Command>> {
  const query = { name: 'report-figures', text: REPORT, values: [id, JSON.stringify(figures)] };
  return (await database.query<Reported<Command>>(query)).rows[0]!;
}

/** Figures of every running process. @param isWatching whether they are for an open console, which needs them every second */
export async function readReportedFigures<Figures>(
  database: Database,
  isWatching = false,
): Promise<ReportedFigures<Figures>[]> {
  const [name, text] = isWatching ? ['watch-figures', WATCH + READ] : ['read-figures', READ];
  return (await database.query<ReportedFigures<Figures>>({ name, text, values: [MAX_PROCESSES] })).rows;
}

export async function forgetFigures(database: Database, id: string): Promise<void> {
  await database.query('delete from process_figures where process_id = $1', [id]);
}

/** Sends a command to a process. @returns false if it is not running */
export async function askProcess(database: Database, processId: string, command: object): Promise<boolean> {
  const text = `
    insert into process_commands (process_id, id, command)
    select process_id, gen_random_uuid(), $2 from process_figures
    where process_id = $1 and at > clock_timestamp() - interval '${FRESH_SECONDS} seconds'`;
  const { rowCount } = await database.query(text, [processId, JSON.stringify(command)]);
  return rowCount === 1;
}
