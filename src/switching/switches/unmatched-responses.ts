import { isStoreCondition } from '../../basics/errors/system-error.ts';
import { StoreUnavailable } from '../../basics/errors.ts';
import type { UnmatchedKind, UnmatchedResponse } from '../../payments/reversals/late-responses.ts';

/** Responses looked up by one statement. */
const MAX_BATCH = 256;
/**
 * The last look-up searches among what the acquirer has sent in minutes: some milliseconds for each response, or a
 * tenth of a second for an acquirer with 300 taps a second. So few are looked up at once, and the database rests
 * between them.
 */
const MAX_LAST_BATCH = 16;
const REST_AFTER_LAST = 4;
/** Time for the last look-ups when the process stops, and for those of an acquirer that another cell may serve next. */
const LAST_LOOKS_MS = 5_000;
/** Pause between two statements, of which at most one runs at a time: at most 5,120 responses a second. */
const PAUSE_MS = 50;
/**
 * Limit of responses that wait to be looked up. A switch that hung for a deadline and then responds to everything sends
 * this many at once. If a switch sends more, it makes them up. Each response above the limit displaces the oldest one of
 * the acquirer that has the most, so no switch takes the places of another acquirer's late approvals. The oldest have
 * been looked up, and not found.
 */
const MAX_WAITING = 8_192;
/**
 * The commit that made a transaction uncertain may still be running, so the first look-up is repeated after this
 * time.
 */
const FIRST_AGAIN_MS = 1_000;
/**
 * While the database is unavailable, a look-up does not count and is repeated: the switch may never repeat its
 * response, which may be an approval of a tap that was declined. After an hour the response is counted as dropped.
 */
const LONGEST_RETRY_MS = 60_000;
const MAX_RETRIES = 64;

/** Counters of the unmatched responses of one switch. They only increase. */
export class UnmatchedCounters {
  late = 0;
  duplicates = 0;
  /** Responses that match nothing uncertain. */
  unknown = 0;
  /** Too many responses came to look them all up, or the database was unavailable for too long. */
  dropped = 0;
}

interface Waiting {
  readonly unmatched: UnmatchedResponse;
  readonly counters: UnmatchedCounters;
  /** When to look up again, counted from the previous look-up. */
  readonly againMs: readonly number[];
  /** Consecutive look-ups that failed because the database was unavailable. */
  readonly failures: number;
  /** Runs until the next look-up is due. */
  timer?: NodeJS.Timeout;
}

type RecordUnmatchedResponses = (
  unmatchedResponses: readonly UnmatchedResponse[],
  isLastLookUp: boolean,
) => Promise<readonly UnmatchedKind[]>;

/** Looks up responses, one statement after another. */
interface Lane {
  /** Those to look up now, oldest first. */
  readonly due: Set<Waiting>;
  readonly isLast: boolean;
  /** Those that are being looked up. They are held again if they are not found. */
  batch: readonly Waiting[];
  looking?: Promise<void> | undefined;
  pause?: NodeJS.Timeout | undefined;
}

/**
 * Unmatched responses on their way to the database: in batches and at a limited rate, because a faulty switch may
 * send thousands.
 *
 * A response can come before its transaction is known to be uncertain: to another worker, or after a restart, while
 * no worker has decided the overdue attempt yet. A response that is not found is therefore looked up again, for the last time
 * when every request to which it could belong has been decided. Last look-ups take longer, and have a lane of their
 * own.
 */
export class UnmatchedResponses {
  readonly #onError: (error: unknown) => void;
  readonly #onUnknown: (unmatched: UnmatchedResponse) => void;
  readonly #first: Lane = { due: new Set(), isLast: false, batch: [] };
  readonly #last: Lane = { due: new Set(), isLast: true, batch: [] };
  /** Those to look up now or later, by acquirer, oldest first. */
  readonly #held = new Map<number, Set<Waiting>>();
  #settle: RecordUnmatchedResponses | undefined;
  #waiting = 0;
  #isClosed = false;

  /** @param onUnknown called for each response that the last look-up did not find */
  constructor(onError: (error: unknown) => void, onUnknown: (unmatched: UnmatchedResponse) => void = () => {}) {
    this.#onError = onError;
    this.#onUnknown = onUnknown;
  }

  /** Starts the look-ups. */
  open(settle: RecordUnmatchedResponses): void {
    this.#settle = settle;
    this.#lookSoon(this.#first);
  }

  /** Number of responses that wait, are being looked up, or will be looked up again. */
  get waiting(): number {
    return this.#waiting;
  }

  /** @param decidedAfterMs by then every request that is in flight now will have been decided */
  take(unmatched: UnmatchedResponse, counters: UnmatchedCounters, decidedAfterMs: number): void {
    if (this.#isClosed) {
      counters.dropped++;
      return;
    }
    if (this.#waiting >= MAX_WAITING) this.#displace();
    this.#waiting++;
    const waiting = { unmatched, counters, againMs: [FIRST_AGAIN_MS, decidedAfterMs], failures: 0 };
    this.#hold(waiting);
    this.#makeDue(waiting);
  }

  /**
   * Looks up everything that is held of an acquirer as for the last time, because another cell may have its rows next. What
   * is not found keeps its next look-ups: the acquirer may stay, and a request of it may not be decided yet.
   *
   * @returns false if the database was unavailable or the time did not suffice: the rest is held as before
   */
  async lookUpAll(acquirerId: number): Promise<boolean> {
    const looked = new Set<UnmatchedResponse>();
    const endAtMs = performance.now() + LAST_LOOKS_MS;
    while (performance.now() < endAtMs) {
      const held = [...(this.#held.get(acquirerId) ?? [])].filter(({ unmatched }) => !looked.has(unmatched));
      const batch = held.slice(0, MAX_LAST_BATCH);
      if (batch.length > 0) {
        const kinds = this.#settle && (await this.#kindsOf(batch, true, this.#settle));
        if (!kinds) return false;
        for (const [index, waiting] of batch.entries()) {
          looked.add(waiting.unmatched);
          const kind = kinds[index] ?? 'unknown';
          // A lane that has taken it meanwhile ends it.
          if (kind === 'unknown' || !this.#held.get(acquirerId)?.has(waiting)) continue;
          this.#release(waiting);
          this.#end(waiting, kind);
        }
        continue;
      }
      const lanes = [this.#first, this.#last].filter((lane) =>
        lane.batch.some(({ unmatched }) => unmatched.acquirerId === acquirerId),
      );
      if (lanes.length === 0) return true;
      await Promise.all(lanes.map(({ looking }) => looking));
    }
    return false;
  }

  /** Looks up the responses that wait for the last time, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { pause } of [this.#first, this.#last]) clearTimeout(pause);
    await Promise.all([this.#first.looking, this.#last.looking]);
    const { due } = this.#last;
    this.#first.due.clear();
    const endAtMs = performance.now() + LAST_LOOKS_MS;
    for (const waiting of [...this.#held.values()].flatMap((held) => [...held])) {
      clearTimeout(waiting.timer);
      due.add(waiting);
    }
    while (this.#settle && due.size > 0 && performance.now() < endAtMs) await this.#look(this.#last, this.#settle);
    for (const waiting of due) {
      this.#release(waiting);
      this.#waiting--;
      waiting.counters.dropped++;
    }
  }

  #hold(waiting: Waiting): void {
    const { acquirerId } = waiting.unmatched;
    const held = this.#held.get(acquirerId);
    if (held) held.add(waiting);
    else this.#held.set(acquirerId, new Set([waiting]));
  }

  #release(waiting: Waiting): void {
    const { acquirerId } = waiting.unmatched;
    const held = this.#held.get(acquirerId);
    held?.delete(waiting);
    if (held?.size === 0) this.#held.delete(acquirerId);
    for (const { due } of [this.#first, this.#last]) due.delete(waiting);
    clearTimeout(waiting.timer);
  }

  #displace(): void {
    let most: Set<Waiting> = new Set();
    for (const held of this.#held.values()) if (held.size > most.size) most = held;
    const [oldest] = most;
    if (!oldest) return;
    this.#release(oldest);
    this.#waiting--;
    oldest.counters.dropped++;
  }

  #makeDue(waiting: Waiting): void {
    const lane = waiting.againMs.length === 0 ? this.#last : this.#first;
    lane.due.add(waiting);
    this.#lookSoon(lane);
  }

  #lookSoon(lane: Lane): void {
    if (lane.looking || lane.pause || !this.#settle || lane.due.size === 0 || this.#isClosed) return;
    const startedAtMs = performance.now();
    lane.looking = this.#look(lane, this.#settle).then(() => {
      lane.looking = undefined;
      const restMs = lane.isLast ? (performance.now() - startedAtMs) * REST_AFTER_LAST : 0;
      const again = () => {
        lane.pause = undefined;
        this.#lookSoon(lane);
      };
      lane.pause = setTimeout(again, Math.max(PAUSE_MS, restMs)).unref();
    });
  }

  async #look(lane: Lane, settle: RecordUnmatchedResponses): Promise<void> {
    const { due, isLast } = lane;
    const batch = [...due.values().take(isLast ? MAX_LAST_BATCH : MAX_BATCH)];
    for (const waiting of batch) this.#release(waiting);
    lane.batch = batch;
    const kinds = await this.#kindsOf(batch, isLast, settle);
    lane.batch = [];
    for (const [index, waiting] of batch.entries()) {
      if (kinds) this.#end(waiting, kinds[index] ?? 'unknown');
      else this.#retry(waiting);
    }
  }

  /** @returns undefined if the database was unavailable; a fault of the program is no kind */
  async #kindsOf(
    batch: readonly Waiting[],
    isLast: boolean,
    settle: RecordUnmatchedResponses,
  ): Promise<readonly UnmatchedKind[] | undefined> {
    try {
      return await settle(
        batch.map(({ unmatched }) => unmatched),
        isLast,
      );
    } catch (error) {
      this.#onError(error);
      return error instanceof StoreUnavailable || isStoreCondition(error) ? undefined : [];
    }
  }

  #retry(waiting: Waiting): void {
    const failures = waiting.failures + 1;
    if (failures > MAX_RETRIES || this.#isClosed) {
      this.#waiting--;
      waiting.counters.dropped++;
      return;
    }
    const delayMs = Math.min(FIRST_AGAIN_MS * 2 ** (failures - 1), LONGEST_RETRY_MS);
    this.#putLater({ ...waiting, failures }, delayMs);
  }

  #end({ unmatched, counters, againMs }: Waiting, kind: UnmatchedKind): void {
    const [nextMs, ...laterMs] = againMs;
    if (kind === 'unknown' && nextMs !== undefined && !this.#isClosed) {
      this.#putLater({ unmatched, counters, againMs: laterMs, failures: 0 }, nextMs);
      return;
    }
    this.#waiting--;
    if (kind === 'late') counters.late++;
    else if (kind === 'duplicate') counters.duplicates++;
    else {
      counters.unknown++;
      this.#onUnknown(unmatched);
    }
  }

  #putLater(waiting: Waiting, delayMs: number): void {
    waiting.timer = setTimeout(() => {
      this.#makeDue(waiting);
    }, delayMs).unref();
    this.#hold(waiting);
  }
}
