import type { JobPayloads, QueueName } from '#schemas/jobs';
import { expireLink } from '../payments/links/link-lifecycle.ts';
import type { PromptWebhooks } from '../payments/ports/process-ports.ts';
import type { ReversalAttempt } from '../payments/ports/store-ports.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { OpenHandover } from '../payments/taps/handovers.ts';
import { createUseCases, type UseCases } from '../payments/use-cases.ts';
import { DueJobs } from './due-jobs.ts';
import type { JobTable } from './job-table.ts';
import { PACES, rationByLoad } from './paces.ts';
import { type JobResult, Pump, type WorkerSlot } from './pump.ts';

/** An outcome may still be committed: check again when the grace has surely ended. */
const NOT_YET_SECONDS = 1;
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
export type AroundJob = <Result>(queue: QueueName, asked: object, work: () => Promise<Result>) => Promise<Result>;

export interface PipelineOptions {
  readonly onError: (error: unknown, queue: QueueName, asked?: JobPayloads[QueueName]) => void;
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
  /** Wraps each job; nothing by default. */
  readonly around?: AroundJob | undefined;
}

/** The jobs that move every transaction on if no request does; one use case for each queue. */
export class Pipeline {
  readonly #pumps = new Map<QueueName, Pump<QueueName>>();
  readonly #due: DueJobs;
  readonly #useCases: UseCases;

  constructor(jobs: JobTable, deps: TransactionDependencies, options: PipelineOptions) {
    this.#useCases = createUseCases(deps);
    this.#due = new DueJobs(jobs, options.onUnknownDue, options.othersJobsEveryMs);
    jobs.followInserts((queue, inSeconds) => this.#due.note(queue, inSeconds));
    const { onError, around = (_queue, _asked, work) => work() } = options;
    for (const [name, handler] of Object.entries(handlersOf(deps, this.#useCases, options))) {
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
    await Promise.all([this.#due.stop(), ...[...this.#pumps.values()].map((pump) => pump.stop())]);
  }
}

function handlersOf(
  { links, store }: TransactionDependencies,
  { handovers, outcomes, pins, reversals, completions, refunds }: UseCases,
  { openHandover, deliverWebhook, retryPush, purge }: Omit<PipelineOptions, 'onError' | 'onUnknownDue' | 'around'>,
): Handlers {
  /** Decides the named attempt, if it is still the transaction's last. */
  const decideOverdueAttempt = async (asked: JobPayloads['overdue']): Promise<'decided' | 'notYet'> => {
    const transaction = await store.find(asked);
    if (!transaction || transaction.attempt !== asked.attempt) return 'decided';
    return outcomes.decideOverdue(transaction);
  };
  return {
    ...(openHandover && { authorize: (asked) => handovers.submit(openHandover, asked) }),
    overdue: async (asked) => {
      const decided = await decideOverdueAttempt(asked);
      return decided === 'decided' ? 'done' : { againAfterSeconds: NOT_YET_SECONDS };
    },
    'overdue-taps': async ({ acquirerId, taps }) => {
      const decided = await Promise.all(taps.map((tap) => decideOverdueAttempt({ acquirerId, ...tap })));
      const undecided = taps.filter((_, n) => decided[n] === 'notYet');
      if (undecided.length === 0) return 'done';
      return { againAfterSeconds: NOT_YET_SECONDS, payload: { acquirerId, taps: undecided } };
    },
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
