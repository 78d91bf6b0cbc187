import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { QueueName } from '#schemas/jobs';
import type { JobRequest, StorableJob, UnaddressedEvent } from '../../payments/model/decision.ts';
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
