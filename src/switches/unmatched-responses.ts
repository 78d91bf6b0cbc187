import { isStoreCondition } from '../errors/store-conditions.ts';
import { StoreUnavailable } from '../errors.ts';
import type { UnmatchedKind, UnmatchedResponse } from '../transactions/reversal/late-response.ts';

/** Looked up by one statement. */
const MAX_BATCH = 256;
/** Between two statements, of which there is never more than one at a time: 5,120 responses a second at most. */
const PAUSE_MS = 50;
/**
 * Responses that wait to be looked up. A switch that hung for a deadline and then answers everything sends so many at
 * once; one that sends more makes them up, and what is beyond is counted and dropped.
 */
const MAX_WAITING = 8_192;
/** The commit that made a tap uncertain may be under way: so the first look comes again so soon. */
const FIRST_AGAIN_MS = 1_000;
/**
 * While the database is unavailable a look counts for nothing and is repeated: the switch may never repeat its response, which
 * may be an approval of a tap that was declined. After an hour of this the response is counted as dropped.
 */
const LONGEST_RETRY_MS = 60_000;
const MOST_RETRIES = 64;

/** What became of the responses of one switch that no request waited for. They only grow. */
export class UnmatchedCounters {
  late = 0;
  duplicates = 0;
  /** They answer nothing that is uncertain. */
  unknown = 0;
  /** Too many came to look them all up, or the database was unavailable for too long. */
  dropped = 0;
}

interface Waiting {
  readonly unmatched: UnmatchedResponse;
  readonly counters: UnmatchedCounters;
  /** When to look again, counted from the look before. */
  readonly againMs: readonly number[];
  /** Looks in a row that failed because the database was unavailable. */
  readonly failures: number;
}

type RecordUnmatchedResponses = (unmatchedResponses: readonly UnmatchedResponse[]) => Promise<readonly UnmatchedKind[]>;

/**
 * Responses that no request of this process waits for, on their way to the database: batched, so many a second and no
 * more, because a switch that misbehaves may send thousands.
 *
 * A response can come before its transaction is known to be uncertain: to another worker, or after a restart, while the
 * `overdue` job has not decided yet. What is not found is therefore looked for again, for the last time when every request
 * that it could answer has been decided.
 */
export class UnmatchedResponses {
  readonly #onError: (error: unknown) => void;
  readonly #onUnknown: (unmatched: UnmatchedResponse) => void;
  readonly #timers = new Set<NodeJS.Timeout>();
  #settle: RecordUnmatchedResponses | undefined;
  #queue: Waiting[] = [];
  #waiting = 0;
  #looking: Promise<void> | undefined;
  #pause: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param onUnknown told of each response that was looked for in vain, for the last time */
  constructor(onError: (error: unknown) => void, onUnknown: (unmatched: UnmatchedResponse) => void = () => {}) {
    this.#onError = onError;
    this.#onUnknown = onUnknown;
  }

  /** Nothing is looked up before. */
  open(settle: RecordUnmatchedResponses): void {
    this.#settle = settle;
    this.#lookSoon();
  }

  /** Those at hand, those being looked up, and those to be looked for again. */
  get waiting(): number {
    return this.#waiting;
  }

  /** @param decidedAfterMs until then every request that is under way now will have been decided */
  take(unmatched: UnmatchedResponse, counters: UnmatchedCounters, decidedAfterMs: number): void {
    if (this.#isClosed || this.#waiting >= MAX_WAITING) {
      counters.dropped++;
      return;
    }
    this.#waiting++;
    this.#put({ unmatched, counters, againMs: [FIRST_AGAIN_MS, decidedAfterMs], failures: 0 });
  }

  /** Looks up what is at hand, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await this.#looking;
    while (this.#settle && this.#queue.length > 0) await this.#look(this.#settle);
  }

  #put(waiting: Waiting): void {
    this.#queue.push(waiting);
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#looking || this.#pause || !this.#settle || this.#queue.length === 0 || this.#isClosed) return;
    this.#looking = this.#look(this.#settle).then(() => {
      this.#looking = undefined;
      this.#pause = setTimeout(() => {
        this.#pause = undefined;
        this.#lookSoon();
      }, PAUSE_MS).unref();
    });
  }

  async #look(settle: RecordUnmatchedResponses): Promise<void> {
    const batch = this.#queue.slice(0, MAX_BATCH);
    this.#queue = this.#queue.slice(MAX_BATCH);
    let kinds: readonly UnmatchedKind[] = [];
    try {
      kinds = await settle(batch.map(({ unmatched }) => unmatched));
    } catch (error) {
      this.#onError(error);
      if (error instanceof StoreUnavailable || isStoreCondition(error)) {
        for (const waiting of batch) this.#retry(waiting);
        return;
      }
    }
    for (const [index, waiting] of batch.entries()) this.#end(waiting, kinds[index] ?? 'unknown');
  }

  #retry(waiting: Waiting): void {
    const failures = waiting.failures + 1;
    if (failures > MOST_RETRIES || this.#isClosed) {
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
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#put(waiting);
    }, delayMs).unref();
    this.#timers.add(timer);
  }
}
