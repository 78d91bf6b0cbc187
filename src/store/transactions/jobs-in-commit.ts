import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { QueueName } from '#schemas/jobs';
import type { JobRequest } from '../../payments/model/jobs.ts';

/**
 * The job table as seen by a commit: the same database transaction writes a status and its jobs, so neither exists
 * without the other.
 */
export interface JobsInCommit {
  /** @throws if fewer jobs were inserted than requested: the commit must be rolled back */
  enqueue(client: pg.ClientBase, jobs: readonly JobRequest[]): Promise<void>;
  /** Inserts the jobs whose ids are free. @returns their ids */
  offer(client: pg.ClientBase, jobs: readonly IdentifiedJob[]): Promise<ReadonlySet<string>>;
  remove(client: pg.ClientBase, queue: QueueName, ids: readonly string[]): Promise<void>;
}

/** A job that is known before it is inserted. */
export type IdentifiedJob = JobRequest & { readonly id: string };

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
  readonly #ofWrites: readonly (readonly IdentifiedJob[])[];
  readonly #inserted: Promise<ReadonlySet<string>>;

  /** @param ofWrites the new jobs of each write of a batch */
  constructor(client: pg.ClientBase, jobs: JobsInCommit, ofWrites: readonly (readonly JobRequest[])[]) {
    this.#client = client;
    this.#jobs = jobs;
    this.#ofWrites = ofWrites.map((requests) => requests.map((job) => ({ ...job, id: job.id ?? randomUUID() })));
    const offered = this.#ofWrites.flat();
    this.#inserted = offered.length === 0 ? Promise.resolve(new Set()) : jobs.offer(client, offered);
    this.#inserted.catch(() => {}); // `keep` awaits it
  }

  /**
   * Removes the jobs of writes that took no effect. A job that was there before stays: a write that is repeated after
   * a commit whose response was lost has inserted it.
   *
   * @param outcomes for each write, in order, whether it took effect
   * @throws if a job of a write that took effect was not inserted: the commit must be rolled back
   */
  async keep(outcomes: readonly boolean[]): Promise<void> {
    const inserted = await this.#inserted;
    const kept = this.#ofWrites.filter((_, n) => outcomes[n]).flat();
    const missing = kept.filter(({ id }) => !inserted.has(id)).length;
    if (missing > 0) throw new Error(`${kept.length} jobs were to be inserted, ${kept.length - missing} were`);
    const superfluous = this.#ofWrites.filter((_, n) => !outcomes[n]).flat();
    const removed = superfluous.filter(({ id }) => inserted.has(id));
    await removeJobs(
      this.#client,
      this.#jobs,
      removed.map(({ queue, id }) => ({ queue, ids: [id] })),
    );
  }
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
  const enqueue = changes.flatMap((change) => change.enqueue ?? []);
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
