import type { JobPayloads, QueueName } from '#schemas/jobs';
import { sendCompletion } from '../transactions/afterwards/complete.ts';
import { submitRefund } from '../transactions/afterwards/refund.ts';
import { expireLink } from '../transactions/links/expire-link.ts';
import { expirePin } from '../transactions/pin/expire-pin.ts';
import { decideOverdue } from '../transactions/reversal/overdue.ts';
import { type ReversalAttempt, sendReversal } from '../transactions/reversal/reverse.ts';
import { type OpenHandover, submitHandover } from '../transactions/tap/submit-handover.ts';
import type { World } from '../transactions/world.ts';
import type { JobTable } from './job-table.ts';
import { type JobResult, Pump } from './pump.ts';
import { rationByLoad } from './ration-by-load.ts';

/** A tap waits for this: its wake-up usually comes first. */
const AUTHORIZE_POLL_MS = 250;
/** Recovery of an orphan is counted in seconds. */
const POLL_MS = 500;
/** Each holds a place at a switch for up to a deadline; above this many the queue is the better place to wait. */
const AUTHORIZE_CREDITS = 512;
const REVERSE_CREDITS = 64;
/**
 * Per look, twice a second. First attempts run ahead of their jobs, so what is found here are repeats, or all that an outage has
 * left: ten thousand at once, through which each look has to sort. Beside taps at full load 16 of them go out a second.
 */
const REVERSE_RATION = { idle: 64, busy: 8 };
const OVERDUE_CREDITS = 64;
const EXPIRE_PIN_CREDITS = 32;
/** Every link has one, and nobody waits for it: a day's links may expire in one minute without taps noticing. */
const EXPIRE_LINK_CREDITS = 16;
/** Each holds a place at a switch; a tenth of what taps may take of one line. */
const COMPLETE_CREDITS = 48;
/** Refunds are rare; a day's worth in one file of a merchant's must not take the lines from taps. */
const REFUND_CREDITS = 32;
/** An outcome may still be committed: look again when the grace is surely over. */
const NOT_YET_SECONDS = 1;

/** Most of them wait for a receiver, and some for a dead one. */
const WEBHOOK_CREDITS = 256;
/** A reference that is wanted before its job has come by is freed by whoever wants it. */
const EXPIRE_LINK_POLL_MS = 1_000;
/** They wait for the push service alone, and only while it is away. */
const PUSH_CREDITS = 32;
/** Old data waits for a purge, and then for the next: there is no hurry in either. */
const PURGE_POLL_MS = 5_000;
const PURGE_AGAIN_SECONDS = 3_600;
/** Nobody stands at a till for a webhook, and each look costs what a dozen of them cost. */
const WEBHOOK_POLL_MS = 200;
/** Per look: 2,000 a second for a process with nothing else to do, 60 and more beside taps at full load. */
const WEBHOOK_RATION = { idle: 400, busy: 12 };

/** Runs a job's work inside something of its own, a span. */
export type AroundJob = <Result>(queue: QueueName, asked: object, work: () => Promise<Result>) => Promise<Result>;

export interface PipelineOptions {
  readonly onError: (error: unknown, queue: QueueName, asked?: JobPayloads[QueueName]) => void;
  /** Role `worker` alone: opens what api processes hand over. */
  readonly openHandover: OpenHandover | undefined;
  readonly deliverWebhook: (
    payload: JobPayloads['webhook'],
    jobId: string,
  ) => Promise<JobResult<JobPayloads['webhook']>>;
  /** Done around each job; nothing unless given. */
  readonly around?: AroundJob | undefined;
  readonly retryPush: (payload: JobPayloads['push']) => Promise<JobResult<JobPayloads['push']>>;
  /** Removes one batch of what is older than it may be. */
  readonly purge: () => Promise<'more' | 'done'>;
}

/** The jobs that drive every status on when nobody else does; one use case behind each queue. */
export class Pipeline {
  readonly #pumps: Partial<Record<QueueName, Pump<QueueName>>>;
  readonly #world: World;

  constructor(
    jobs: JobTable,
    world: World,
    {
      onError,
      openHandover,
      deliverWebhook,
      retryPush,
      purge,
      around = (_queue, _asked, work) => work(),
    }: PipelineOptions,
  ) {
    const pump = <Queue extends QueueName>(options: Omit<ConstructorParameters<typeof Pump<Queue>>[1], 'onError'>) =>
      new Pump<Queue>(jobs, {
        ...options,
        onError,
        ...(around && { handle: (asked, jobId) => around(options.queue, asked, () => options.handle(asked, jobId)) }),
      }) as unknown as Pump<QueueName>;
    this.#world = world;
    this.#pumps = {
      overdue: pump({
        queue: 'overdue',
        credits: OVERDUE_CREDITS,
        pollMs: POLL_MS,
        handle: async (asked) => {
          const transaction = await world.store.find(asked);
          if (!transaction || transaction.attempt !== asked.attempt) return 'done';
          const decided = await decideOverdue(world, transaction);
          return decided === 'decided' ? 'done' : { againAfterSeconds: NOT_YET_SECONDS };
        },
      }),
      'expire-pin': pump({
        queue: 'expire-pin',
        credits: EXPIRE_PIN_CREDITS,
        pollMs: POLL_MS,
        handle: (asked) => expirePin(world, asked),
      }),
      'expire-link': pump({
        queue: 'expire-link',
        credits: EXPIRE_LINK_CREDITS,
        pollMs: EXPIRE_LINK_POLL_MS,
        handle: (asked) => expireLink(world, asked),
      }),
      reverse: pump({
        queue: 'reverse',
        credits: REVERSE_CREDITS,
        pollMs: POLL_MS,
        ration: rationByLoad(REVERSE_RATION),
        handle: (asked) => sendReversal(world, asked),
      }),
      complete: pump({
        queue: 'complete',
        credits: COMPLETE_CREDITS,
        pollMs: POLL_MS,
        handle: (asked) => sendCompletion(world, asked),
      }),
      refund: pump({
        queue: 'refund',
        credits: REFUND_CREDITS,
        pollMs: AUTHORIZE_POLL_MS,
        handle: async (asked) => {
          await submitRefund(world, asked);
          return 'done';
        },
      }),
      purge: pump({
        queue: 'purge',
        credits: 1,
        pollMs: PURGE_POLL_MS,
        handle: async () => ({ againAfterSeconds: (await purge()) === 'more' ? 0 : PURGE_AGAIN_SECONDS }),
      }),
      webhook: pump({
        queue: 'webhook',
        credits: WEBHOOK_CREDITS,
        pollMs: WEBHOOK_POLL_MS,
        ration: rationByLoad(WEBHOOK_RATION),
        handle: deliverWebhook,
      }),
      push: pump({ queue: 'push', credits: PUSH_CREDITS, pollMs: POLL_MS, handle: retryPush }),
      ...(openHandover && {
        authorize: pump({
          queue: 'authorize',
          credits: AUTHORIZE_CREDITS,
          pollMs: AUTHORIZE_POLL_MS,
          handle: (asked) => submitHandover(world, openHandover, asked),
        }),
      }),
    };
  }

  /** There is work in this queue: look now. */
  wake(queue: QueueName): void {
    this.#pumps[queue]?.wake();
  }

  /** Sends a reversal that was just committed, without waiting for its job to be found. */
  reverseAhead(asked: ReversalAttempt, jobId: string | undefined): void {
    this.#pumps.reverse?.runAhead(() => sendReversal(this.#world, asked, jobId));
  }

  /** Takes no more jobs and lets those at hand finish. */
  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#pumps).map((pump) => pump.stop()));
  }
}
