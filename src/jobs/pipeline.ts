import type { QueueName } from '#schemas/jobs';
import { decideOverdue } from '../transactions/overdue.ts';
import { sendReversal } from '../transactions/reverse.ts';
import { type OpenHandover, submitHandover } from '../transactions/submit-handover.ts';
import type { World } from '../transactions/world.ts';
import type { JobTable } from './job-table.ts';
import { Pump } from './pump.ts';

/** A tap waits for this: its wake-up usually comes first. */
const AUTHORIZE_POLL_MS = 250;
/** Recovery of an orphan is counted in seconds. */
const POLL_MS = 500;
/** Each holds a place at a switch for up to a deadline; above this many the queue is the better place to wait. */
const AUTHORIZE_CREDITS = 512;
const REVERSE_CREDITS = 32;
const OVERDUE_CREDITS = 64;
/** An outcome may still be committed: look again when the grace is surely over. */
const NOT_YET_SECONDS = 1;

export interface PipelineOptions {
  readonly onError: (error: unknown, queue: QueueName) => void;
  /** Role `worker` alone: opens what api processes hand over. */
  readonly openHandover: OpenHandover | undefined;
}

/** The jobs that drive every status on when nobody else does; one use case behind each queue. */
export class Pipeline {
  readonly #pumps: Partial<Record<QueueName, Pump<QueueName>>>;

  constructor(jobs: JobTable, world: World, { onError, openHandover }: PipelineOptions) {
    const pump = <Queue extends QueueName>(options: Omit<ConstructorParameters<typeof Pump<Queue>>[1], 'onError'>) =>
      new Pump<Queue>(jobs, { ...options, onError }) as unknown as Pump<QueueName>;
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
      reverse: pump({
        queue: 'reverse',
        credits: REVERSE_CREDITS,
        pollMs: POLL_MS,
        handle: (asked) => sendReversal(world, asked),
      }),
      ...(openHandover && {
        authorize: pump({
          queue: 'authorize',
          credits: AUTHORIZE_CREDITS,
          pollMs: AUTHORIZE_POLL_MS,
          handle: async (asked) => {
            await submitHandover(world, openHandover, asked);
            return 'done';
          },
        }),
      }),
    };
  }

  /** There is work in this queue: look now. */
  wake(queue: QueueName): void {
    this.#pumps[queue]?.wake();
  }

  /** Takes no more jobs and lets those at hand finish. */
  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#pumps).map((pump) => pump.stop()));
  }
}
