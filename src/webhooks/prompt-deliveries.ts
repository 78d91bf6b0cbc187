import { Shares } from '../basics/limits/concurrency-limit.ts';
import type { JobRequest } from '../payments/model/decision.ts';
import type { Transaction } from '../payments/model/transaction.ts';
import type { PromptWebhooks } from '../payments/ports/transaction-dependencies.ts';
import type { Lanes, Turn } from './lanes.ts';
import type { FirstDelivery, PromptStore, StoredEvent } from './ports.ts';
import type { WebhookDeliverer } from './webhook-deliverer.ts';

/**
 * After a commit, no other process starts the job of its event for this long. A delivery waits for its turn for at most
 * `MAX_WAIT_MS`, takes its job after a second without a response, and is recorded a fifth of a second after the response.
 * So a process that is alive needs the rest only for a slow database. The events of a process that died wait for as long.
 */
export const LEASE_SECONDS = 10;
const MAX_WAIT_MS = 4_000;
/**
 * Deliveries that wait for a turn, each with its transaction, a few kilobytes. At full load this is what a process commits in
 * four seconds, and more could not be delivered before the lease ends.
 */
const MAX_WAITING = 4_096;
/**
 * Deliveries in progress, a socket each. Receivers that respond need a fraction of them; seventeen that become silent in the
 * same second could have all, until the second is over.
 */
const MAX_RUNNING = 1_024;
/** Further deliveries whose receivers have not responded for a second: a socket each, as in `paces.ts`. */
const MAX_SLOW = 4_096;

interface Waiting {
  readonly first: FirstDelivery;
  readonly addedAtMs: number;
}

type Going = Extract<Turn, { kind: 'go' }>;

/**
 * Delivers events as soon as their outcome is committed, from the memory of the process that committed it. The job of
 * each event is the safety net: it starts when the lease ends, and the record of the delivery removes it. If a receiver
 * fails, is slow or has requested a pause, or too much waits, the job starts at once and waits for the receiver.
 *
 * Endpoints share the places, so that none delays another: each may hold as many as are free besides.
 */
export class PromptDeliveries implements PromptWebhooks {
  readonly leaseSeconds = LEASE_SECONDS;
  readonly #options;
  /** By endpoint, oldest first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #places = new Shares<string>(MAX_WAITING);
  readonly #running = new Shares<string>(MAX_RUNNING);
  #slow = 0;
  /** Whether an endpoint waits for deliveries of others to end. */
  #isCrowded = false;
  readonly #work = new Set<Promise<void>>();
  #isStopped = false;

  constructor(options: {
    readonly store: PromptStore;
    readonly deliverer: Pick<WebhookDeliverer, 'attempt'>;
    readonly lanes: Pick<Lanes, 'enterPrompt'>;
    /** A clock that never goes backwards. */
    readonly nowMs: () => number;
    /** Wraps each delivery, such as in a span. */
    readonly around: <Result>(job: FirstDelivery['job'], work: () => Promise<Result>) => Promise<Result>;
    readonly onError: (error: unknown) => void;
  }) {
    this.#options = options;
  }

  deliver(transaction: Transaction, jobs: readonly JobRequest[]): void {
    for (const job of jobs) {
      if (job.queue !== 'webhook' || 'endpointOf' in job) continue;
      const { id: jobId, data } = job;
      if (jobId !== undefined && data.outcome)
        this.#add({ job: { ...data, outcome: data.outcome }, jobId, transaction });
    }
  }

  /** Leaves what waits to its jobs, and resolves when the deliveries in progress have ended and are recorded. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const waiting of this.#waiting.values()) for (const { first } of waiting) this.#leave(first);
    this.#waiting.clear();
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  #add(first: FirstDelivery): void {
    const { endpointId } = first.job;
    if (this.#isStopped || this.#places.isAtShare(endpointId)) {
      this.#leave(first);
      return;
    }
    this.#places.hold(endpointId);
    const waiting = this.#waiting.get(endpointId) ?? [];
    this.#waiting.set(endpointId, waiting);
    waiting.push({ first, addedAtMs: this.#options.nowMs() });
    this.#start(endpointId);
  }

  /** Starts deliveries to an endpoint while there is room for them. */
  #start(endpointId: string): void {
    const { lanes, nowMs } = this.#options;
    const waiting = this.#waiting.get(endpointId) ?? [];
    while (waiting.length > 0) {
      if (this.#running.isAtShare(endpointId)) {
        this.#isCrowded = true;
        return;
      }
      const turn = lanes.enterPrompt(endpointId);
      if (turn === 'full') return;
      const { first, addedAtMs } = waiting.shift()!;
      this.#places.release(endpointId);
      if (turn === 'closed') this.#leave(first);
      else if (nowMs() - addedAtMs > MAX_WAIT_MS) {
        turn.leave('notMade');
        this.#leave(first);
      } else this.#track(this.#options.around(first.job, () => this.#run(first, turn)));
    }
    this.#waiting.delete(endpointId);
  }

  async #run(first: FirstDelivery, turn: Going): Promise<void> {
    const { store, deliverer } = this.#options;
    const place = this.#takePlace(first.job.endpointId);
    try {
      const event = await this.#prepare(first, turn);
      if (!event) return this.#leave(first);
      let claim: Promise<boolean> | undefined;
      const ended = await deliverer.attempt(turn, event, () => {
        place.releaseSlow();
        claim = store.claim(first, event).catch((error) => {
          this.#options.onError(error);
          return false; // its claim expires
        });
      });
      place.release();
      const isClaimed = (await claim) ?? false;
      if (ended === undefined) return this.#leave(first, isClaimed);
      await store.record(first, { event, jobId: first.jobId, ...ended });
    } finally {
      place.release();
    }
  }

  /** The event, if its endpoint takes any; otherwise the turn is over. */
  async #prepare(first: FirstDelivery, turn: Going): Promise<StoredEvent | undefined> {
    let event: StoredEvent | undefined;
    try {
      event = await this.#options.store.prepare(first);
      if (event?.endpoint.isDisabled) event = undefined;
      return event;
    } finally {
      if (!event) turn.leave('notMade');
    }
  }

  #takePlace(endpointId: string) {
    let [isRunning, isSlow] = [true, false];
    this.#running.hold(endpointId);
    const end = () => {
      if (!isRunning) return;
      isRunning = false;
      this.#running.release(endpointId);
    };
    return {
      /** Lets others have the place while this delivery waits for a response. */
      releaseSlow: () => {
        if (this.#slow >= MAX_SLOW) return;
        isSlow = true;
        this.#slow++;
        end();
        this.#startNext(endpointId);
      },
      release: () => {
        if (!isRunning && !isSlow) return;
        if (isSlow) this.#slow--;
        isSlow = false;
        end();
        this.#startNext(endpointId);
      },
    };
  }

  #startNext(endpointId: string): void {
    const isForAll = this.#isCrowded;
    this.#isCrowded = false;
    if (isForAll) for (const each of [...this.#waiting.keys()]) this.#start(each);
    else this.#start(endpointId);
  }

  #leave(first: FirstDelivery, isClaimed = false): void {
    this.#track(this.#options.store.leave(first, isClaimed));
  }

  /** If something fails, the job delivers when the lease ends. */
  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work.catch(this.#options.onError).finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }
}
