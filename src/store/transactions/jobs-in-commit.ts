import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { QueueName } from '#schemas/jobs';
import type { JobRequest, StorableJob, UnaddressedEvent } from '../../payments/model/decision.ts';
import type { NewAttempt } from '../../payments/ports/store-ports.ts';
import { findEndpoints } from '../webhooks/webhook-endpoints.ts';

/**
 * The job table as seen by a commit: the same database transaction writes a status and its jobs, so neither exists
 * without the other.
 */
export interface JobsInCommit {
  /** @throws if fewer jobs were inserted than requested: the commit must be rolled back */
  enqueue(client: pg.ClientBase, jobs: readonly StorableJob[]): Promise<void>;
  /** Inserts the jobs whose ids are free. @returns their ids */
  offer(client: pg.ClientBase, jobs: readonly IdentifiedJob[]): Promise<ReadonlySet<string>>;
  remove(client: pg.ClientBase, queue: QueueName, ids: readonly string[]): Promise<void>;
}

/** A job that is known before it is inserted. */
export type IdentifiedJob = StorableJob & { readonly id: string };

/** The jobs that a write needs from now on, and those that it makes unnecessary. */
export interface JobChanges {
  readonly enqueue?: readonly JobRequest[];
  readonly remove?: { readonly queue: QueueName; readonly ids: readonly string[] }[];
}

export function changesJobs({ enqueue = [], remove = [] }: JobChanges): boolean {
  return enqueue.length > 0 || remove.some(({ ids }) => ids.length > 0);
}

/** Jobs that were inserted together with writes of which it was not yet known whether they take effect. */
export class OfferedJobs {
  readonly #client: pg.ClientBase;
  readonly #jobs: JobsInCommit;
  readonly #offered: Promise<Offered>;

  /** @param ofWrites the new jobs of each write of a batch */
  constructor(client: pg.ClientBase, jobs: JobsInCommit, ofWrites: readonly (readonly JobRequest[])[]) {
    this.#client = client;
    this.#jobs = jobs;
    this.#offered = offer(client, jobs, ofWrites);
    this.#offered.catch(() => {}); // `keep` awaits it
  }

  /**
   * Removes the jobs of writes that took no effect. A job that was there before stays: a write that is repeated after
   * a commit whose response was lost has inserted it.
   *
   * @param outcomes for each write, in order, whether it took effect
   * @throws if a job of a write that took effect was not inserted: the commit must be rolled back
   */
  async keep(outcomes: readonly boolean[]): Promise<void> {
    const { ofWrites, inserted } = await this.#offered;
    const kept = ofWrites.filter((_, n) => outcomes[n]).flat();
    const missing = kept.filter(({ id }) => !inserted.has(id)).length;
    if (missing > 0) throw new Error(`${kept.length} jobs were to be inserted, ${kept.length - missing} were`);
    const superfluous = ofWrites.filter((_, n) => !outcomes[n]).flat();
    const removed = superfluous.filter(({ id }) => inserted.has(id));
    await removeJobs(
      this.#client,
      this.#jobs,
      removed.map(({ queue, id }) => ({ queue, ids: [id] })),
    );
  }
}

interface Offered {
  /** Jobs of each write, without events that have no endpoint. */
  readonly ofWrites: readonly (readonly IdentifiedJob[])[];
  readonly inserted: ReadonlySet<string>;
}

/** Inserts jobs. Only events without an address wait for a look-up. */
async function offer(
  client: pg.ClientBase,
  jobs: JobsInCommit,
  ofWrites: readonly (readonly JobRequest[])[],
): Promise<Offered> {
  const requests = ofWrites.map((ofWrite) => ofWrite.map((job) => ({ ...job, id: job.id ?? randomUUID() })));
  const events = requests.flat().filter(isUnaddressed);
  const insert = async (offered: readonly IdentifiedJob[]) => (offered.length === 0 ? [] : jobs.offer(client, offered));
  const [ofKnown, endpoints] = await Promise.all([
    insert(requests.flat().filter(isStorable)),
    findEndpoints(client, events),
  ]);
  const ofEvents = await insert(events.flatMap((event) => addressed(event, endpoints.get(event))));
  const storable = requests.map((ofWrite) =>
    ofWrite.flatMap((job) => (isStorable(job) ? job : addressed(job, endpoints.get(job)))),
  );
  return { ofWrites: storable, inserted: new Set([...ofKnown, ...ofEvents]) };
}

/**
 * Changes the jobs of writes that took effect, with one statement for the new jobs and one for each queue from which
 * jobs are removed.
 */
export async function changeJobs(
  client: pg.ClientBase,
  jobs: JobsInCommit,
  changes: readonly JobChanges[],
): Promise<void> {
  const requests = changes.flatMap((change) => change.enqueue ?? []);
  const events = requests.filter(isUnaddressed);
  const endpoints = await findEndpoints(client, events);
  const ofEvents = events.flatMap((event) => addressed(event, endpoints.get(event)));
  const enqueue = [...requests.filter(isStorable), ...ofEvents];
  if (enqueue.length > 0) await jobs.enqueue(client, enqueue);
  await removeJobs(
    client,
    jobs,
    changes.flatMap(({ remove = [] }) => remove),
  );
}

/** Removes jobs, with one statement for each queue. */
export async function removeJobs(
  client: pg.ClientBase,
  jobs: JobsInCommit,
  removals: NonNullable<JobChanges['remove']>,
): Promise<void> {
  for (const [queue, removed] of Map.groupBy(removals, (removal) => removal.queue)) {
    const ids = removed.flatMap((removal) => removal.ids);
    if (ids.length > 0) await jobs.remove(client, queue, ids);
  }
}

function isUnaddressed<Job extends JobRequest>(job: Job): job is Extract<Job, UnaddressedEvent> {
  return 'endpointOf' in job;
}

function isStorable<Job extends JobRequest>(job: Job): job is Exclude<Job, UnaddressedEvent> {
  return !isUnaddressed(job);
}

/** The job of an event, or none without an endpoint. */
function addressed<Event extends UnaddressedEvent>(event: Event, endpointId: string | undefined) {
  if (endpointId === undefined) return [];
  const { endpointOf: _, ...job } = event;
  return [{ ...job, data: { ...event.data, endpointId } }];
}

/** One `overdue-taps` job for several taps of a commit. */
export type SharedJob = Extract<IdentifiedJob, { readonly queue: 'overdue-taps' }>;

interface SharedTimer {
  readonly job: SharedJob;
  /** The jobs that the taps asked for. */
  readonly replaced: readonly string[];
  /** How many of its taps have no recorded response to their phones yet. */
  open: number;
  readonly startsAtMs: number;
}

/** The jobs of a batch of new taps, in the order of the taps, and the timers that stand for some of them. */
export interface BatchJobs {
  readonly ofTaps: readonly (readonly JobRequest[])[];
  readonly timers: readonly { readonly job: IdentifiedJob; readonly taps: readonly NewAttempt[] }[];
}

/**
 * Nearly every tap receives a response long before its deadline, so its `overdue` job is inserted only to be removed.
 * The taps of one commit that have the same deadline share one `overdue-taps` job instead, which names them all. It is
 * removed when this process has recorded the response of the last of them. If this process does not live as long, or
 * another one records a response, the job runs, and changes nothing of what is decided.
 *
 * With a job for each tap, its insertion and removal took 30 µs of Postgres's time and 0.5 KB of write-ahead log.
 */
export class SharedTimers {
  /** The timers, by each job that one replaces. */
  readonly #timers = new Map<string, SharedTimer>();
  /** The timers in the order of their commits. */
  #inOrder: SharedTimer[] = [];
  /** The timers of taps whose commit has not ended. */
  readonly #prepared = new WeakMap<NewAttempt, SharedTimer>();

  /** Replaces the `overdue` jobs of a batch where at least two can share one. */
  share(taps: readonly NewAttempt[]): BatchJobs {
    for (const tap of taps) this.#prepared.delete(tap); // of a batch that was refused, and is repeated in halves
    const groups = Map.groupBy(taps.filter(isShareable), (tap) => {
      const { data, startAfterSeconds } = overdueJobOf(tap)!;
      return `${data.acquirerId} ${startAfterSeconds}`;
    });
    const timers = [...groups.values()]
      .filter((members) => members.length > 1)
      .map((members) => this.#prepare(members));
    const ofTaps = taps.map((tap) =>
      this.#prepared.has(tap) ? tap.enqueue.filter((job) => !isOverdue(job)) : tap.enqueue,
    );
    return { ofTaps, timers };
  }

  #prepare(taps: readonly NewAttempt[]) {
    const jobs = taps.map((tap) => overdueJobOf(tap)!);
    const { data, startAfterSeconds = 0 } = jobs[0]!;
    const named = jobs.map(({ data: { id, attempt } }) => ({ id, attempt }));
    const payload = { acquirerId: data.acquirerId, taps: named };
    const job = { queue: 'overdue-taps', id: randomUUID(), data: payload, startAfterSeconds } as const;
    const startsAtMs = performance.now() + startAfterSeconds * 1_000;
    const timer = { job, replaced: jobs.map(({ id }) => id!), open: 0, startsAtMs };
    for (const tap of taps) this.#prepared.set(tap, timer);
    return { job, taps };
  }

  /** Called when the commit has inserted the tap. */
  inserted(tap: NewAttempt): void {
    const timer = this.#prepared.get(tap);
    if (timer === undefined) return;
    if (timer.open === 0) {
      this.#forgetStarted();
      this.#inOrder.push(timer);
    }
    timer.open++;
    this.#timers.set(overdueJobOf(tap)!.id!, timer);
  }

  /**
   * The jobs that can be removed once the responses to the taps of these `overdue` jobs are recorded: own ones, and shared ones
   * without another tap. A shared job stays if Postgres has lost the record of an earlier response, because such records
   * are not flushed to the disk.
   */
  jobsWithoutUse(overdueJobs: readonly string[]): { readonly own: string[]; readonly shared: readonly SharedJob[] } {
    const own = overdueJobs.filter((id) => !this.#timers.has(id));
    const responded = Map.groupBy(
      overdueJobs.flatMap((id) => this.#timers.get(id) ?? []),
      (timer) => timer,
    );
    const ended = [...responded].filter(([timer, taps]) => timer.open === taps.length);
    return { own, shared: ended.map(([timer]) => timer.job) };
  }

  /**
   * Called when such a commit has succeeded, and before the next one begins. A tap whose response was not recorded
   * needs the job.
   */
  responded(overdueJob: string): void {
    const timer = this.#timers.get(overdueJob);
    if (timer === undefined) return;
    this.#timers.delete(overdueJob);
    timer.open--;
  }

  /** Taps whose response another process records, or none, must not stay here for ever: their job has run by now. */
  #forgetStarted(): void {
    const nowMs = performance.now();
    const waiting = this.#inOrder.findIndex(({ startsAtMs }) => startsAtMs > nowMs);
    const started = this.#inOrder.splice(0, waiting === -1 ? this.#inOrder.length : waiting);
    for (const { replaced } of started) for (const id of replaced) this.#timers.delete(id);
  }
}

function isOverdue(job: JobRequest): boolean {
  return job.queue === 'overdue';
}

function overdueJobOf(tap: NewAttempt) {
  return tap.enqueue.find((job) => job.queue === 'overdue');
}

function isShareable(tap: NewAttempt): boolean {
  return overdueJobOf(tap)?.id !== undefined;
}
