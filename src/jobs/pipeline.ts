import type { JobPayloads, QueueName } from '#schemas/jobs';
import { expireLink } from '../payments/links/link-lifecycle.ts';
import type { ReversalAttempt } from '../payments/ports/store-ports.ts';
import type { PromptWebhooks, TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { OpenHandover } from '../payments/taps/handovers.ts';
import type { UseCases } from '../payments/use-cases.ts';
import type { OpenAttempts, OverdueAttempt } from '../store/transactions/open-attempts.ts';
import { DueJobs } from './due-jobs.ts';
import type { JobTable } from './job-table.ts';
import { OverdueAttempts, type OverdueResult } from './overdue-attempts.ts';
import { PACES, rationByLoad } from './paces.ts';
import { type JobResult, Pump, type WorkerSlot } from './pump.ts';
import type { WorkName } from './queues.ts';

/** Between two purges that found nothing further to remove. */
const PURGE_AGAIN_SECONDS = 3_600;

type Handler<Queue extends QueueName> = (
  asked: JobPayloads[Queue],
  jobId: string,
  slot: WorkerSlot,
) => Promise<JobResult<JobPayloads[Queue]>>;

/** The handler of each queue; a queue without a handler belongs to another process. */
type Handlers = { readonly [Queue in QueueName]?: Handler<Queue> };

/** Runs a job's work inside a wrapper, such as a span. */
export type AroundJob = <Result>(queue: WorkName, asked: object, work: () => Promise<Result>) => Promise<Result>;

export interface PipelineOptions {
  readonly onError: (error: unknown, queue: WorkName, asked?: object) => void;
  /** Called if the database did not say which queues have jobs; it is asked again. */
  readonly onUnknownDue: (error: unknown) => void;
  /** Interval at which a process without work looks for jobs of others (`DueJobs`). */
  readonly othersJobsEveryMs: number | undefined;
  /** Only in role `worker`: opens handovers of api processes. */
  readonly openHandover: OpenHandover | undefined;
  readonly deliverWebhook: Handler<'webhook'>;
  readonly retryPush: (payload: JobPayloads['push']) => Promise<JobResult<JobPayloads['push']>>;
  /** Removes one batch of data that is past its retention time. */
  readonly purge: () => Promise<'more' | 'done'>;
  readonly openAttempts: OpenAttempts;
  /** Wraps each job; nothing by default. */
  readonly around?: AroundJob | undefined;
}

/** Moves every transaction on if no request does: by a use case for each queue, and by decisions of overdue attempts. */
export class Pipeline {
  readonly #pumps = new Map<QueueName, Pump<QueueName>>();
  readonly #due: DueJobs;
  readonly #overdue: OverdueAttempts;
  readonly #useCases: UseCases;

  constructor(jobs: JobTable, deps: TransactionDependencies, useCases: UseCases, options: PipelineOptions) {
    this.#useCases = useCases;
    this.#due = new DueJobs(jobs, options.onUnknownDue, options.othersJobsEveryMs);
    jobs.followInserts((queue, inSeconds) => this.#due.note(queue, inSeconds));
    const { onError, around = (_queue, _asked, work) => work() } = options;
    for (const [name, handler] of Object.entries(handlersOf(deps, useCases, options))) {
      const queue = name as QueueName;
      const { ration, ...pace } = PACES[queue];
      const handle: Handler<QueueName> = (asked, jobId, slot) =>
        around(queue, asked, () => (handler as Handler<QueueName>)(asked, jobId, slot));
      const rationed = ration && { ration: rationByLoad(ration) };
      const leftToOthers =
        deps.path.kind === 'direct' ? deps.path.others?.leftToOthers.bind(deps.path.others) : undefined;
      const pump = new Pump(jobs, this.#due, { queue, ...pace, ...rationed, leftToOthers, handle, onError });
      this.#pumps.set(queue, pump);
    }
    const decide = (attempt: OverdueAttempt) =>
      around('overdue', attempt, () => decideOverdue(deps, this.#useCases, attempt));
    this.#overdue = new OverdueAttempts(options.openAttempts, this.#due, decide, (error, attempt) =>
      onError(error, 'overdue', attempt),
    );
  }

  /** Polls the queue now, because it has work. */
  wake(queue: QueueName): void {
    this.#pumps.get(queue)?.wake();
  }

  /** Sends a reversal that was just committed, without waiting for a poll to find its job. */
  reverseAhead(asked: ReversalAttempt, jobId: string | undefined): void {
    this.#pumps.get('reverse')?.runAhead(asked.acquirerId, () => this.#useCases.reversals.send(asked, jobId));
  }

  /** Takes no further jobs and lets those in progress finish. */
  async stop(): Promise<void> {
    await Promise.all([
      this.#due.stop(),
      this.#overdue.stop(),
      ...[...this.#pumps.values()].map((pump) => pump.stop()),
    ]);
  }
}

/** Decides the attempt, if it is still the transaction's last. */
async function decideOverdue(
  { store }: TransactionDependencies,
  { outcomes }: UseCases,
  attempt: OverdueAttempt,
): Promise<OverdueResult> {
  const transaction = await store.find(attempt);
  if (transaction?.attempt !== attempt.attempt) return 'rests';
  return outcomes.decideOverdue(transaction);
}

function handlersOf(
  { links }: TransactionDependencies,
  { handovers, pins, reversals, completions, refunds }: UseCases,
  {
    openHandover,
    deliverWebhook,
    retryPush,
    purge,
  }: Omit<PipelineOptions, 'onError' | 'onUnknownDue' | 'openAttempts' | 'around'>,
): Handlers {
  return {
    ...(openHandover && { authorize: (asked) => handovers.submit(openHandover, asked) }),
    'expire-pin': (asked) => pins.expire(asked),
    'expire-link': (asked) => expireLink(links, asked),
    reverse: (asked) => reversals.send(asked),
    complete: (asked) => completions.send(asked),
    refund: (asked) => refunds.submit(asked),
    webhook: deliverWebhook,
    push: retryPush,
    purge: async () => ({ againAfterSeconds: (await purge()) === 'more' ? 0 : PURGE_AGAIN_SECONDS }),
  };
}

/**
 * Leads to the pipeline from parts that are constructed before it. Its calls have no effect before the pipeline is
 * started, and in a process without one: the jobs in the database wait for a worker.
 */
export class PipelineHandle {
  #pipeline: Pipeline | undefined;
  #webhooks: Pick<PromptWebhooks, 'deliver'> | undefined;

  connect(pipeline: Pipeline, webhooks: Pick<PromptWebhooks, 'deliver'>): void {
    this.#pipeline = pipeline;
    this.#webhooks = webhooks;
  }

  wake(queue: QueueName): void {
    this.#pipeline?.wake(queue);
  }

  reverseAhead(asked: ReversalAttempt, jobId: string | undefined): void {
    this.#pipeline?.reverseAhead(asked, jobId);
  }

  readonly deliverWebhooks: PromptWebhooks['deliver'] = (transaction, jobs) =>
    this.#webhooks?.deliver(transaction, jobs);
}
