import type { QueueName } from '#schemas/jobs';
import type { ReversalAttempt } from '../transactions/ports/reversal-ports.ts';
import type { Pipeline } from './pipeline.ts';

/**
 * Leads to the pipeline from parts that are constructed before it. Its calls have no effect before the pipeline is
 * started, and in a process without one: the jobs in the database wait for a worker.
 */
export class PipelineHandle {
  #pipeline: Pipeline | undefined;

  connect(pipeline: Pipeline): void {
    this.#pipeline = pipeline;
  }

  wake(queue: QueueName): void {
    this.#pipeline?.wake(queue);
  }

  reverseAhead(asked: ReversalAttempt, jobId: string | undefined): void {
    this.#pipeline?.reverseAhead(asked, jobId);
  }
}
