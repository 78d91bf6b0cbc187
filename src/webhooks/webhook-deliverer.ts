import type { JobPayloads } from '#schemas/jobs';
import { OutboundError } from '../errors.ts';
import type { Clock } from '../transactions/ports.ts';
import type { GuardedAnswer, GuardedFetch } from './guarded-fetch.ts';
import type { Lanes } from './lanes.ts';
import type { Attempt, DeliveryStore, JobOutcome, StoredEvent } from './ports.ts';
import { type AttemptResult, nextStep, parseRetryAfter } from './schedule.ts';
import type { SecretVault } from './secret-vault.ts';
import { signWebhook } from './webhook-secret.ts';

/** Standard Webhooks 1.0 recommends 15 to 30 s; a receiver should answer first and work then. */
const TIMEOUT_MS = 15_000;
/** What is kept of an answer. */
const MAX_ANSWER_BYTES = 1_024;
/** A stop lets answers that are just coming in arrive. */
const STOP_AFTER_MS = 500;

export interface WebhookDelivererOptions {
  readonly store: DeliveryStore;
  readonly fetcher: Pick<GuardedFetch, 'request'>;
  readonly vault: SecretVault;
  readonly lanes: Lanes;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
}

type WebhookJob = JobPayloads['webhook'];

/** What became of a job: gone with the commit that tells what came of it, or to be taken up again. */
export type DeliveryResult = 'settled' | 'done' | { readonly againAfterSeconds: number; readonly payload: WebhookJob };

/** Makes the attempts that the schedule asks for, and records each with what follows from it. */
export class WebhookDeliverer {
  readonly #options: WebhookDelivererOptions;
  readonly #stopping = new AbortController();

  constructor(options: WebhookDelivererOptions) {
    this.#options = options;
  }

  /**
   * Runs one job: at most one attempt.
   *
   * @throws StoreUnavailable; the job then comes again
   */
  async deliver(job: WebhookJob, jobId: string): Promise<DeliveryResult> {
    const { store, lanes, random } = this.#options;
    const { outcome, ...later } = job;
    const event = await (outcome ? store.write({ ...job, outcome }) : store.open(job));
    if (!event || !isDue(event, job)) return 'done';
    if (event.endpoint.isDisabled) {
      await store.settle({ event, jobId, attempt: null, state: 'stopped', next: null, disablesEndpoint: false });
      return 'settled';
    }
    const turn = await lanes.enter(event.endpoint.id);
    if (turn.kind === 'putOff') return { againAfterSeconds: turn.seconds, payload: later };
    const made = await this.#post(event).finally(turn.leave);
    if (made === undefined) return { againAfterSeconds: 0, payload: later };
    const { attempt, result } = made;
    if ('status' in result && result.retryAfterSeconds) lanes.pause(event.endpoint.id, result.retryAfterSeconds);
    await store.settle({ event, jobId, attempt, ...decide(nextStep(job.delivery, result, random())) });
    return 'settled';
  }

  /** Attempts under way are given up soon; their jobs are taken up by the next process. */
  stop(): void {
    setTimeout(() => this.#stopping.abort(), STOP_AFTER_MS);
  }

  /** Undefined when we stopped before there was an answer: that was no attempt. */
  async #post(event: StoredEvent): Promise<{ attempt: Attempt; result: AttemptResult } | undefined> {
    const { fetcher, clock } = this.#options;
    const { url } = event.endpoint;
    const [atMs, startMs] = [clock.nowMs(), clock.monotonicMs()];
    const request = {
      url: new URL(url),
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Tapwire',
        ...(event.correlationId !== null && { 'x-correlation-id': event.correlationId }),
        ...this.#signatures(event, atMs),
      },
      body: event.body,
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      signal: this.#stopping.signal,
    } as const;
    const tell = (told: Pick<Attempt, 'status' | 'error' | 'answer'>) => {
      return { atMs, url, durationMs: Math.round(clock.monotonicMs() - startMs), ...told };
    };
    try {
      const answer = await fetcher.request(request);
      const retryAfterSeconds = parseRetryAfter(answer.headers['retry-after'], clock.nowMs());
      const attempt = tell({ status: answer.status, error: null, answer: textOf(answer) });
      return { attempt, result: { status: answer.status, retryAfterSeconds } };
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      if (error.code === 'CANCELLED') return undefined;
      return { attempt: tell({ status: null, error: error.code, answer: null }), result: { error: error.code } };
    }
  }

  #signatures({ id, body, endpoint }: StoredEvent, atMs: number): Record<string, string> {
    const { sealedSecret, previousSealedSecret, previousUntilMs } = endpoint;
    const previous = atMs < (previousUntilMs ?? 0) ? previousSealedSecret : null;
    const secrets = [sealedSecret, ...(previous ? [previous] : [])];
    const { vault } = this.#options;
    return signWebhook(
      secrets.map((sealed) => vault.open(endpoint.id, sealed)),
      { id, body, atMs },
    );
  }
}

/** Anything else was replayed, delivered or taken up by somebody else since the job was made. */
function isDue({ state, round, delivery }: StoredEvent, job: WebhookJob): boolean {
  return state === 'pending' && round === job.round && delivery === job.delivery;
}

function decide(step: ReturnType<typeof nextStep>): Pick<JobOutcome, 'state' | 'next' | 'disablesEndpoint'> {
  const none = { next: null, disablesEndpoint: false };
  switch (step.kind) {
    case 'delivered':
      return { ...none, state: 'delivered' };
    case 'gone':
      return { ...none, state: 'stopped', disablesEndpoint: true };
    case 'failed':
      return { ...none, state: 'failed' };
    case 'again':
      return { ...none, state: 'pending', next: { delivery: step.delivery, afterSeconds: step.afterSeconds } };
  }
}

/** As text that a column can hold. */
function textOf({ body }: GuardedAnswer): string {
  return body.toString().replaceAll('\0', '\ufffd');
}
