import type { JobRequest } from '../../../src/payments/model/decision.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { createUseCases } from '../../../src/payments/use-cases.ts';
import type { Job, OverdueRequest } from '../memory-rows.ts';
import type { Execution } from './execution.ts';
import type { ExploredProcess } from './explored-process.ts';
import { compare } from './order.ts';

type JobResult = 'done' | { readonly againAfterSeconds: number };

/** After the death of a worker that holds a job: the time until another may take it. */
const CLAIM_LAPSES_MS: Partial<Record<string, number>> = { overdue: 15_000, 'expire-pin': 15_000, reverse: 150_000 };
/** Delay after a failure. */
const AGAIN_AFTER_MS = 1_000;

/** A process takes a job and runs it; a failed job is retried. */
export function workOn(execution: Execution, process: ExploredProcess, job: Job): void {
  const { time } = execution;
  const lapsesMs = CLAIM_LAPSES_MS[job.request.queue] ?? 60_000;
  job.heldUntilMs = time.nowMs + lapsesMs;
  const { data, queue } = job.request;
  const about = 'id' in data ? `${data.id}${'reversalAttempt' in data ? ` ${data.reversalAttempt}` : ''}` : '';
  execution.begin(`${process.name} works on ${queue} ${about}`, process, async (deps, task, within) => {
    try {
      if (job.request.queue === 'overdue') {
        const decided = await decideOverdue(deps, job.request.data);
        if (task.process.isAlive) within.store.endOverdue(job, decided);
        return;
      }
      const result = await handle(deps, job.request);
      if (!task.process.isAlive) return;
      const again =
        result === 'done' ? undefined : { ...job.request, id: undefined, startAfterSeconds: result.againAfterSeconds };
      within.store.endJob(job.id, again as never);
    } catch (error) {
      const held = within.store.jobs.get(job.id);
      if (task.process.isAlive && held) held.heldUntilMs = within.time.nowMs + AGAIN_AFTER_MS;
      throw error;
    }
  });
}

async function decideOverdue(deps: TransactionDependencies, attempt: OverdueRequest['data']) {
  const transaction = await deps.store.find(attempt);
  if (transaction?.attempt !== attempt.attempt) return 'rests';
  return createUseCases(deps).outcomes.decideOverdue(transaction);
}

async function handle(deps: TransactionDependencies, request: JobRequest): Promise<JobResult> {
  switch (request.queue) {
    case 'expire-pin':
      return createUseCases(deps).pins.expire(request.data);
    case 'reverse':
      return createUseCases(deps).reversals.send(request.data);
    default:
      throw new Error(`${request.queue} is not explored`);
  }
}

/** Of those that are due, the one that has been due for longest: the order in which they were stored decides nothing. */
export function firstOf(jobs: Job[]): Job | undefined {
  if (jobs.length < 2) return jobs[0];
  const nameOf = ({ request: { queue, data } }: Job) => `${queue} ${JSON.stringify(data)}`;
  return jobs.sort((one, other) => dueMs(one) - dueMs(other) || compare(nameOf(one), nameOf(other)))[0];
}

export function dueMs({ startAtMs, heldUntilMs }: Job): number {
  return Math.max(startAtMs, heldUntilMs);
}
