import type { JobPayloads } from '#schemas/jobs';
import { OutboundError } from '../basics/errors.ts';
import type { GuardedFetch, GuardedResponse } from '../outbound/guarded-fetch.ts';
import type { Clock } from '../payments/ports/transaction-dependencies.ts';
import type { DeliveryEnd, Lanes, Turn } from './lanes.ts';
import type { Attempt, DeliveryStore, JobOutcome, SigningEndpoint, StoredEvent, WorkerSlot } from './ports.ts';
import type { Recoveries } from './recoveries.ts';
import { type AttemptResult, nextStep, parseRetryAfter } from './schedule.ts';
import { type SecretVault, signWebhook } from './webhook-signature.ts';

/** Standard Webhooks 1.0 recommends 15 to 30 s; a receiver should respond first and process afterwards. */
const TIMEOUT_MS = 15_000;
/** Limit of the stored part of a response. */
const MAX_RESPONSE_BYTES = 1_024;
/** A slower response is awaited without a worker slot, because slots are for endpoints that respond. */
const SLOT_FOR_MS = 1_000;
/** Delay of a probe that found no room among too many others. */
const PROBE_AGAIN_SECONDS = { least: 15, most: 60 } as const;
/** A stop waits this long for responses that are about to arrive. */
const STOP_AFTER_MS = 500;

type WebhookJob = JobPayloads['webhook'];

/** The result of a job: removed in the commit of its result, or to be taken again. */
export type DeliveryResult = 'removed' | 'done' | { readonly againAfterSeconds: number; readonly payload: WebhookJob };

interface Made {
  readonly attempt: Attempt;
  readonly result: AttemptResult;
}

/** Makes the attempts of the schedule, and records each with its consequences. */
export class WebhookDeliverer {
  readonly #options;
  readonly #stopping = new AbortController();

  constructor(options: {
    readonly store: DeliveryStore;
    readonly fetcher: Pick<GuardedFetch, 'request'>;
    readonly vault: SecretVault;
    readonly lanes: Lanes;
    readonly recoveries: Recoveries;
    readonly clock: Clock;
    /** Returns numbers from 0 to 1. */
    readonly random: () => number;
  }) {
    this.#options = options;
  }

  /**
   * Runs one job: at most one attempt.
   *
   * @throws StoreUnavailable; the job is then repeated
   */
  async deliver(job: WebhookJob, jobId: string, slot: WorkerSlot): Promise<DeliveryResult> {
    const { store, lanes } = this.#options;
    const { outcome, ...later } = job;
    const event = await (outcome ? store.write({ ...job, outcome }) : store.open(job));
    if (!event || !isDue(event, job)) return 'done';
    if (event.endpoint.isDisabled) {
      await store.finish({ event, jobId, attempt: null, state: 'stopped', next: null, disablesEndpoint: false });
      return 'removed';
    }
    const turn = await lanes.enter(event.endpoint.id);
    if (turn.kind === 'putOff') return { againAfterSeconds: turn.seconds, payload: later };
    if (turn.isProbe && !slot.release()) {
      turn.leave('notMade');
      return { againAfterSeconds: this.#untilNextProbe(), payload: later };
    }
    const ended = await this.attempt(turn, event, () => slot.release());
    if (ended === undefined) return { againAfterSeconds: 0, payload: later };
    await store.finish({ event, jobId, ...ended });
    return 'removed';
  }

  /**
   * Makes the attempt, and informs the lane and waiting deliveries how it ended.
   *
   * @param onSlow called when the response takes longer than a worker slot is kept for it
   * @returns what to record; undefined if the process stopped before there was a response
   */
  async attempt(
    turn: Extract<Turn, { kind: 'go' }>,
    event: StoredEvent,
    onSlow: () => void,
  ): Promise<Omit<JobOutcome, 'event' | 'jobId'> | undefined> {
    const { lanes, recoveries } = this.#options;
    const slow = setTimeout(onSlow, SLOT_FOR_MS);
    let end: DeliveryEnd = 'notMade';
    try {
      const made = await postWebhook(this.#options, event, this.#stopping.signal);
      if (!made) return undefined;
      end = wasTaken(made.result) ? 'taken' : 'failed';
      const retryAfterSeconds = 'status' in made.result ? made.result.retryAfterSeconds : undefined;
      if (retryAfterSeconds) lanes.pause(event.endpoint.id, retryAfterSeconds);
      return { attempt: made.attempt, ...this.#decide(event, made) };
    } finally {
      clearTimeout(slow);
      turn.leave(end);
      recoveries.after(event.endpoint, end);
    }
  }

  #decide(event: StoredEvent, { attempt, result }: Made): Pick<JobOutcome, 'state' | 'next' | 'disablesEndpoint'> {
    const { delivery, earlyAttempts } = event;
    const dueInSeconds = event.dueInSeconds - attempt.durationMs / 1_000;
    return nextStep({ delivery, dueInSeconds, earlyAttempts }, result, this.#options.random());
  }

  #untilNextProbe(): number {
    const { least, most } = PROBE_AGAIN_SECONDS;
    return least + (most - least) * this.#options.random();
  }

  /** Attempts in progress are given up soon; the next process takes their jobs. */
  stop(): void {
    setTimeout(() => this.#stopping.abort(), STOP_AFTER_MS);
  }
}

/** What is sent to an endpoint. */
export interface SentWebhook extends Pick<StoredEvent, 'id' | 'body' | 'correlationId'> {
  readonly endpoint: SigningEndpoint;
}

export interface PostParts {
  readonly fetcher: Pick<GuardedFetch, 'request'>;
  readonly vault: SecretVault;
  readonly clock: Clock;
}

/**
 * Makes one signed request.
 *
 * @returns undefined if the signal ended it before there was a response: that does not count as an attempt
 */
export async function postWebhook(
  { fetcher, vault, clock }: PostParts,
  sent: SentWebhook,
  signal?: AbortSignal,
): Promise<Made | undefined> {
  const { url } = sent.endpoint;
  const [atMs, startedAtMs] = [clock.nowMs(), clock.monotonicMs()];
  const request = {
    url: new URL(url),
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Tapwire',
      ...(sent.correlationId !== null && { 'x-correlation-id': sent.correlationId }),
      ...signatures(vault, sent, atMs),
    },
    body: sent.body,
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    ...(signal && { signal }),
  } as const;
  const attemptOf = (result: Pick<Attempt, 'status' | 'error' | 'response'>) => {
    return { atMs, url, durationMs: Math.round(clock.monotonicMs() - startedAtMs), ...result };
  };
  try {
    const response = await fetcher.request(request);
    const retryAfterSeconds = parseRetryAfter(response.headers['retry-after'], clock.nowMs());
    const attempt = attemptOf({ status: response.status, error: null, response: textOf(response) });
    return { attempt, result: { status: response.status, retryAfterSeconds } };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.code === 'CANCELLED') return undefined;
    return { attempt: attemptOf({ status: null, error: error.code, response: null }), result: { error: error.code } };
  }
}

function signatures(vault: SecretVault, { id, body, endpoint }: SentWebhook, atMs: number): Record<string, string> {
  const { sealedSecret, previousSealedSecret } = endpoint;
  const secrets = [sealedSecret, ...(previousSealedSecret ? [previousSealedSecret] : [])];
  return signWebhook(
    secrets.map((sealed) => vault.open(endpoint.id, sealed)),
    { id, body, atMs },
  );
}

/** Any other event was replayed, delivered or taken by another job meanwhile. */
function isDue({ state, round, delivery }: StoredEvent, job: WebhookJob): boolean {
  return state === 'pending' && round === job.round && delivery === job.delivery;
}

function wasTaken(result: AttemptResult): boolean {
  return 'status' in result && result.status >= 200 && result.status < 300;
}

/** Text that a database column can hold. */
function textOf({ body }: GuardedResponse): string {
  return body.toString().replaceAll('\0', '\ufffd');
}
