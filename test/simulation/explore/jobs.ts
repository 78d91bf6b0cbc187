import { expirePin } from '../../../src/transactions/pin/expire-pin.ts';
import type { TransactionDependencies } from '../../../src/transactions/ports/transaction-dependencies.ts';
import { decideOverdue } from '../../../src/transactions/reversal/overdue.ts';
import { sendReversal } from '../../../src/transactions/reversal/reverse.ts';
import type { Job } from '../memory-rows.ts';
import type { Execution } from './execution.ts';
import type { ExploredProcess } from './explored-process.ts';

type JobResult = 'done' | { readonly againAfterSeconds: number };

/** After the death of a worker that holds a job: the time until another may take it. */
const CLAIM_LAPSES_MS: Partial<Record<string, number>> = { overdue: 15_000, 'expire-pin': 15_000, reverse: 150_000 };
/** Delay after a failure. */
const AGAIN_AFTER_MS = 1_000;

/** A process takes a job and runs it; a failed job is retried. */
export function workOn(execution: Execution, process: ExploredProcess, job: Job): void {
  const { store, time } = execution;
  const lapsesMs = CLAIM_LAPSES_MS[job.request.queue] ?? 60_000;
  job.heldUntilMs = time.nowMs + lapsesMs;
  const { data, queue } = job.request;
  const about = 'id' in data ? `${data.id}${'reversalAttempt' in data ? ` ${data.reversalAttempt}` : ''}` : '';
  execution.begin(`${process.name} works on ${queue} ${about}`, process, async (deps) => {
    try {
      const result = await handle(deps, job);
      if (!process.isAlive) return;
      const again =
        result === 'done' ? undefined : { ...job.request, id: undefined, startAfterSeconds: result.againAfterSeconds };
      store.endJob(job.id, again as never);
    } catch (error) {
      if (process.isAlive) job.heldUntilMs = time.nowMs + AGAIN_AFTER_MS;
      throw error;
    }
  });
}

async function handle(deps: TransactionDependencies, { request }: Job): Promise<JobResult> {
  switch (request.queue) {
    case 'overdue': {
      const transaction = await deps.store.find(request.data);
      if (transaction?.attempt !== request.data.attempt) return 'done';
      return (await decideOverdue(deps, transaction)) === 'decided' ? 'done' : { againAfterSeconds: 1 };
    }
    case 'expire-pin':
      return expirePin(deps, request.data);
    case 'reverse':
      return sendReversal(deps, request.data);
    default:
      throw new Error(`${request.queue} is not explored`);
  }
}
