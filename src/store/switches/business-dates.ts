import { type Repetition, repeatEvery } from '../../basics/limits/waits.ts';
import { nearestDate } from '../../kits/processor-kit/field-values.ts';
import type { Database } from '../postgres/open-database.ts';

/** All workers know a cut-over within this time: long before any scope could reuse a number. */
const REFRESH_EVERY_MS = 2_000;
/** The longest business day: from the Thursday before Easter to the Tuesday after. An older date is ignored. */
const LONGEST_DAY = '5 days';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/**
 * No switch cuts over twice in half a day: a second message without a date is the first one on another connection.
 */
const HALF_DAY_MS = 12 * HOUR_MS;
/**
 * The switches of one acquirer cut over within a day of one another. One that is further behind no longer announces
 * its date, or carries no traffic. If its old date counted, the numbers of all others would run out.
 */
const FURTHEST_BEHIND_MS = DAY_MS;

/** A processor of an acquirer. */
interface ProcessorKey {
  readonly acquirerId: number;
  readonly processorId: number;
}

interface KnownDate extends ProcessorKey {
  readonly date: string;
  readonly announcedAtMs: number;
}

interface StoredDate extends KnownDate {
  readonly isRemoved: boolean;
}

/**
 * The business date of each switch, as the switch itself announces it: by a cut-over, or by the settlement date of
 * its responses (DE15). It only advances. A switch that announces none follows the calendar, in UTC.
 */
export class BusinessDates {
  readonly #database: Database;
  readonly #nowMs: () => number;
  readonly #onError: (error: unknown) => void;
  #known = new Map<string, KnownDate>();
  #refreshing: Repetition | undefined;
  /** Announcements that are being stored. */
  readonly #storing = new Set<Promise<void>>();

  private constructor(database: Database, nowMs: () => number, onError: (error: unknown) => void) {
    this.#database = database;
    this.#nowMs = nowMs;
    this.#onError = onError;
  }

  /** @param onError called if a date could not be stored; it still counts in this process */
  static async open(
    database: Database,
    nowMs: () => number,
    onError: (error: unknown) => void,
  ): Promise<BusinessDates> {
    const dates = new BusinessDates(database, nowMs, onError);
    await dates.refresh();
    // Readiness reports that the database is unavailable.
    dates.#refreshing = repeatEvery(REFRESH_EVERY_MS, () => dates.refresh());
    return dates;
  }

  /** Resolves when all announcements are stored, or could not be. */
  async close(): Promise<void> {
    await this.#refreshing?.stop();
    await Promise.all(this.#storing);
  }

  /**
   * The business date by which an acquirer's numbers are counted, `2026-11-20`. Its switches share the numbers, so it
   * is their earliest date that is not outdated.
   */
  current(acquirerId: number): string {
    const dates: string[] = [];
    for (const known of this.#known.values()) if (known.acquirerId === acquirerId) dates.push(known.date);
    if (dates.length === 0) return dateText(this.#nowMs());
    const newest = dates.reduce((one, other) => (one > other ? one : other));
    const oldest = dateText(Date.parse(newest) - FURTHEST_BEHIND_MS);
    return dates.reduce((one, other) => (other >= oldest && other < one ? other : one), newest);
  }

  /** A switch has cut over, or has named its settlement date (MMDD); without a date, the next day begins. */
  announce(processor: ProcessorKey, monthDay?: string): void {
    const known = this.#known.get(keyOf(processor));
    const date = monthDay === undefined ? this.#nextDate(known) : nearestDate(monthDay, this.#nowMs());
    if (date === undefined || (known && date <= known.date)) return;
    this.#known.set(keyOf(processor), { ...processor, date, announcedAtMs: this.#nowMs() });
    const values = [processor.acquirerId, processor.processorId, date];
    const storing = this.#store(values).finally(() => this.#storing.delete(storing));
    this.#storing.add(storing);
  }

  async #store(values: readonly unknown[]): Promise<void> {
    try {
      await this.#database.query({ name: 'announce-business-date', text: ANNOUNCE, values: [...values] });
    } catch (error) {
      this.#onError(error);
    }
  }

  async refresh(): Promise<void> {
    const { rows } = await this.#database.query<StoredDate>({ name: 'find-business-dates', text: FIND });
    const removed = new Set(rows.filter(({ isRemoved }) => isRemoved).map(keyOf));
    const known = new Map<string, KnownDate>();
    for (const row of rows) if (!row.isRemoved) known.set(keyOf(row), row);
    for (const [key, own] of this.#known) {
      if (removed.has(key)) continue;
      // A date that this process has just received may not be stored yet.
      const stored = known.get(key);
      if (this.#nowMs() - own.announcedAtMs < HALF_DAY_MS && (!stored || stored.date < own.date)) known.set(key, own);
    }
    this.#known = known;
  }

  #nextDate(known: KnownDate | undefined): string | undefined {
    const nowMs = this.#nowMs();
    if (known && nowMs - known.announcedAtMs < HALF_DAY_MS) return undefined;
    // A cut-over before midnight starts tomorrow's business date, one after midnight today's.
    const nearest = dateText(nowMs + HALF_DAY_MS);
    return known && nearest <= known.date ? dateText(Date.parse(known.date) + DAY_MS) : nearest;
  }
}

function keyOf({ acquirerId, processorId }: ProcessorKey): string {
  return `${acquirerId} ${processorId}`;
}

function dateText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

const FIND = `select distinct on (b.acquirer_id, b.processor_id) b.acquirer_id as "acquirerId", b.processor_id as "processorId",
  b.business_date::text as date, (extract(epoch from b.since) * 1000)::float8 as "announcedAtMs",
  p.removed_at is not null as "isRemoved"
  from business_dates b left join processors p on p.acquirer_id = b.acquirer_id and p.id = b.processor_id
  where b.since > clock_timestamp() - interval '${LONGEST_DAY}'
  order by b.acquirer_id, b.processor_id, b.business_date desc`;

const ANNOUNCE = `insert into business_dates (acquirer_id, processor_id, business_date) values ($1, $2, $3)
  on conflict do nothing`;

/** STANs are 000001 to 999999 (ISO 8583:1987, DE11), so a scope has this many per business date. */
export const STANS = 999_999;
