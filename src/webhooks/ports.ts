import type { JobPayloads, WebhookOutcome } from '#schemas/jobs';
import type { EventState, WebhookAttemptView, WebhookEventView, WebhookType } from '#schemas/webhook';
import type { WebhookOrigin } from '../payments/model/decision.ts';
import type { Transaction } from '../payments/model/transaction.ts';

/** Ports of the webhooks to the store. */

/** Owner of endpoints and events: an integrator sees only its own. */
export interface Integrator {
  readonly acquirerId: number;
  readonly integratorId: number;
}

/** The URL to which an integrator's outcomes are sent, and the secret that signs them. */
export interface WebhookEndpoint extends Integrator {
  readonly id: string;
  readonly serves: WebhookOrigin;
  readonly url: string;
  readonly sealedSecret: Uint8Array;
  /** The previous secret while it also signs. The store decides that: its clock has set the end. */
  readonly previousSealedSecret: Uint8Array | null;
  /** The receiver responded with 410 Gone; a new registration ends that. */
  readonly isDisabled: boolean;
}

/** What a request to an endpoint needs. */
export type SigningEndpoint = Pick<WebhookEndpoint, 'id' | 'url' | 'sealedSecret' | 'previousSealedSecret'>;

export interface Registration extends Integrator {
  readonly serves: WebhookOrigin;
  readonly url: string;
  /** Id of a new endpoint; an existing one keeps its own. */
  readonly id: string;
  readonly sealedSecret: Uint8Array;
}

export interface RegisteredCallback {
  readonly id: string;
  readonly url: string;
  readonly disabledAtMs: number | null;
}

/** What becomes of the earlier secrets when a new one is issued. */
export interface SecretOverlap {
  /** How long the current secret also signs; 0 ends it at once. */
  readonly overlapSeconds: number;
  /** Ends all earlier secrets at once, the one whose overlap still runs included. `overlapSeconds` is 0. */
  readonly isCompromised: boolean;
}

/** Writes and reads of endpoints in the database. */
export interface EndpointStore {
  /** Creates the endpoint, or gives it this URL and enables it. */
  register(registration: Registration): Promise<void>;
  find(owner: Integrator, serves: WebhookOrigin): Promise<RegisteredCallback | undefined>;
  /** With its secrets. */
  findSigning(owner: Integrator, serves: WebhookOrigin): Promise<SigningEndpoint | undefined>;
  /** Stops further webhooks until the next registration. False if there was no endpoint. */
  disable(owner: Integrator, serves: WebhookOrigin): Promise<boolean>;
  /**
   * Replaces the current secret. The old one continues to sign for `overlapSeconds` if it was ever shown.
   *
   * @returns when the old one ends; null if it ended at once
   * @throws RequestRejected (SECRET_OVERLAP_RUNNING) if an earlier secret is still promised and none is compromised
   */
  replaceSecret(
    endpoint: { acquirerId: number; id: string },
    sealed: Uint8Array,
    overlap: SecretOverlap,
  ): Promise<number | null>;
}

/** An event and its endpoint in their current state. */
export interface StoredEvent {
  readonly acquirerId: number;
  readonly id: string;
  /** Sent unchanged on every attempt. */
  readonly body: string;
  readonly state: EventState;
  /** With `delivery`, identifies the only job that may continue the event. */
  readonly round: number;
  readonly delivery: number;
  /** Time until the schedule requires this delivery; 0 if it is due, more if it was brought forward. */
  readonly dueInSeconds: number;
  /** Attempts that were brought forward since the last one of the schedule. */
  readonly earlyAttempts: number;
  /** Correlation id of the request that caused the event, if any. */
  readonly correlationId: string | null;
  readonly endpoint: WebhookEndpoint;
}

/** One delivery attempt: a response, or why there was none. */
export interface Attempt {
  readonly atMs: number;
  readonly url: string;
  readonly status: number | null;
  readonly error: string | null;
  readonly durationMs: number;
  /** The first kilobyte. */
  readonly response: string | null;
}

export interface NextDelivery {
  readonly delivery: number;
  readonly afterSeconds: number;
  /** It may not be brought forward before this time. */
  readonly notEarlyForSeconds: number;
  readonly earlyAttempts: number;
}

/** The result of a job, for one commit that also removes the job. */
export interface JobOutcome {
  readonly event: StoredEvent;
  readonly jobId: string;
  /** Null if the endpoint takes no further webhooks. */
  readonly attempt: Attempt | null;
  readonly state: EventState;
  /** The next delivery, if any. */
  readonly next: NextDelivery | null;
  /** The receiver responded with 410: nothing further is sent to this URL. */
  readonly disablesEndpoint: boolean;
}

/** A worker slot; released while the job only waits. */
export interface WorkerSlot {
  /** Lets another job have the slot. False if too many already wait without one; the slot is then kept. */
  release(): boolean;
}

/** Port of deliveries to the store. */
export interface DeliveryStore {
  /** Writes the event of a first job, unless it exists, and returns it. */
  write(job: JobPayloads['webhook'] & { readonly outcome: WebhookOutcome }): Promise<StoredEvent | undefined>;
  open(job: JobPayloads['webhook']): Promise<StoredEvent | undefined>;
  finish(outcome: JobOutcome): Promise<void>;
}

/** The first delivery of an event that this process has committed, while its job waits. */
export interface FirstDelivery {
  readonly job: JobPayloads['webhook'] & { readonly outcome: WebhookOutcome };
  readonly jobId: string;
  /** As committed. */
  readonly transaction: Transaction;
}

/** Port of first deliveries to the store. No job runs beside one unless the process or the database was frozen. */
export interface PromptStore {
  /** The event as its job would write it, and its endpoint in its current state; undefined without one. */
  prepare(first: FirstDelivery): Promise<StoredEvent | undefined>;
  /**
   * Takes the job and writes the event, which is then visible: for a response that takes long.
   *
   * @returns false if another process has taken the job
   */
  claim(first: FirstDelivery, event: StoredEvent): Promise<boolean>;
  /** Writes the event with its first attempt, and removes the job. */
  record(first: FirstDelivery, outcome: JobOutcome): Promise<void>;
  /** Makes the job due now, unless another process has taken it. @param isClaimed whether this process has */
  leave(first: FirstDelivery, isClaimed: boolean): Promise<void>;
}

/** How many deliveries of an endpoint to bring forward at most. */
export interface ForwardRequest {
  readonly acquirerId: number;
  readonly endpointId: string;
  readonly most: number;
}

export interface Forwarded {
  readonly moved: number;
  /** When the next delivery may be brought forward; null if no delivery waits. */
  readonly laterSeconds: number | null;
}

/** Deliveries that wait for a later time. */
export interface WaitingDeliveries {
  /**
   * Makes the oldest of them due, at random times within the given seconds.
   *
   * @returns the results by endpoint; undefined if another process is doing this
   */
  bringForward(
    wanted: readonly ForwardRequest[],
    withinSeconds: number,
  ): Promise<ReadonlyMap<string, Forwarded> | undefined>;
}

export interface EventFilter {
  readonly type?: WebhookType | undefined;
  readonly state?: EventState | undefined;
  readonly serviceReference?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** An integrator's view of its events. */
export interface EventReader {
  list(owner: Integrator, filter: EventFilter): Promise<WebhookEventView[]>;
  /** The last 100, oldest first; undefined if this integrator has no such event. */
  attempts(owner: Integrator, eventId: string): Promise<WebhookAttemptView[] | undefined>;
}

/** Exhausted: it had too many attempts to be sent again. */
export type Replay = 'scheduled' | 'exhausted';

/**
 * Sends events again with their ids, from the first step of the schedule. An event that is due or being sent now stays as
 * it is.
 */
export interface EventReplayer {
  /** Undefined if this integrator has no such event. */
  replay(owner: Integrator, eventId: string): Promise<Replay | undefined>;
  /** Skips events that were delivered, or are pending. @returns how many */
  replayUndelivered(owner: Integrator, eventIds: readonly string[]): Promise<number>;
  /** @returns how many; undefined if there are more than `limit`, and then nothing is replayed */
  replayRange(
    owner: Integrator,
    range: { from: string; to: string; includeDelivered: boolean },
    limit: number,
  ): Promise<number | undefined>;
}
