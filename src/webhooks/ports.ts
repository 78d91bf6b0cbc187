import type { JobPayloads, WebhookOutcome } from '#schemas/jobs';
import type { EventState, WebhookAttemptView, WebhookEventView, WebhookType } from '#schemas/webhook';
import type { WebhookOrigin } from '../transactions/ports/directory-ports.ts';

/** What webhooks ask of the store. */

/** Whose endpoints and events: an integrator sees its own and nothing else. */
export interface Integrator {
  readonly acquirerId: number;
  readonly integratorId: number;
}

/** Where an integrator is told of outcomes, and what signs it. */
export interface WebhookEndpoint extends Integrator {
  readonly id: string;
  readonly serves: WebhookOrigin;
  readonly url: string;
  readonly sealedSecret: Uint8Array;
  /** The secret before, which signs besides until `previousUntilMs`. */
  readonly previousSealedSecret: Uint8Array | null;
  readonly previousUntilMs: number | null;
  /** The receiver answered 410 Gone; registering anew ends that. */
  readonly isDisabled: boolean;
}

export interface Registration extends Integrator {
  readonly serves: WebhookOrigin;
  readonly url: string;
  /** For an endpoint that is new; one that exists keeps its own. */
  readonly id: string;
  readonly sealedSecret: Uint8Array;
}

export interface RegisteredCallback {
  readonly id: string;
  readonly url: string;
  readonly disabledAtMs: number | null;
}

/** Writes and reads of endpoints, as they are in the database. */
export interface EndpointStore {
  /** Makes the endpoint, or gives it this URL and wakes it from being disabled. */
  register(registration: Registration): Promise<void>;
  find(owner: Integrator, serves: WebhookOrigin): Promise<RegisteredCallback | undefined>;
  /** Nothing more is sent there until it is registered anew. False when there was nothing to end. */
  disable(owner: Integrator, serves: WebhookOrigin): Promise<boolean>;
  /**
   * Puts a new secret in the place of the present one, which goes on signing for `overlapSeconds` if anybody was ever shown
   * it.
   *
   * @returns when the one before ends, null when it ended at once
   */
  replaceSecret(
    endpoint: { acquirerId: number; id: string },
    sealed: Uint8Array,
    overlapSeconds: number,
  ): Promise<number | null>;
}

/** An event and where it goes, as both are right now. */
export interface StoredEvent {
  readonly acquirerId: number;
  readonly id: string;
  /** Sent as it is, to the byte, on every attempt. */
  readonly body: string;
  readonly state: EventState;
  /** With `delivery`: the one job that may go on with it. */
  readonly round: number;
  readonly delivery: number;
  /** How long it is until the schedule asks for this delivery; 0 when it is due, more when it was brought forward. */
  readonly dueInSeconds: number;
  /** Attempts that were brought forward since the last one of the schedule. */
  readonly earlyAttempts: number;
  /** Of the request that the event follows from, where that had one. */
  readonly correlationId: string | null;
  readonly endpoint: WebhookEndpoint;
}

/** One attempt to deliver: an answer, or why there was none. */
export interface Attempt {
  readonly atMs: number;
  readonly url: string;
  readonly status: number | null;
  readonly error: string | null;
  readonly durationMs: number;
  /** The first kilobyte. */
  readonly answer: string | null;
}

export interface NextDelivery {
  readonly delivery: number;
  readonly afterSeconds: number;
  /** It may not be brought forward before. */
  readonly notEarlyForSeconds: number;
  readonly earlyAttempts: number;
}

/** What a job came to, for one commit. The job goes with it. */
export interface JobOutcome {
  readonly event: StoredEvent;
  readonly jobId: string;
  /** Null when the endpoint wants no more. */
  readonly attempt: Attempt | null;
  readonly state: EventState;
  /** The next delivery, when there is one. */
  readonly next: NextDelivery | null;
  /** The receiver is gone: nothing more is sent to this URL. */
  readonly disablesEndpoint: boolean;
}

/** What a job is worked on with; released while there is nothing to do but wait. */
export interface Hand {
  /** Lets another job have it. False when too many wait without one already: it is kept then. */
  release(): boolean;
}

/** What deliveries ask of the store. */
export interface DeliveryStore {
  /** Writes the event of a first job, unless it was written before, and gives it. */
  write(job: JobPayloads['webhook'] & { readonly outcome: WebhookOutcome }): Promise<StoredEvent | undefined>;
  open(job: JobPayloads['webhook']): Promise<StoredEvent | undefined>;
  settle(outcome: JobOutcome): Promise<void>;
}

/** How many deliveries of an endpoint to bring forward at most. */
export interface ForwardRequest {
  readonly acquirerId: number;
  readonly endpointId: string;
  readonly most: number;
}

export interface Forwarded {
  readonly moved: number;
  /** When the first of those may be brought forward that may not yet; null when there are none. */
  readonly laterSeconds: number | null;
}

/** Deliveries that wait for a later time. */
export interface WaitingDeliveries {
  /**
   * Makes the oldest of them due, at random moments within so many seconds.
   *
   * @returns by endpoint; undefined when another process is at it
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

/** What integrators see of their events. */
export interface EventReader {
  list(owner: Integrator, filter: EventFilter): Promise<WebhookEventView[]>;
  /** Oldest first; undefined when there is no such event of this integrator. */
  attempts(owner: Integrator, eventId: string): Promise<WebhookAttemptView[] | undefined>;
}

/** Sends events again, under their own ids, beginning with the first step of the schedule. */
export interface EventReplayer {
  /** False when there is no such event of this integrator. */
  replay(owner: Integrator, eventId: string): Promise<boolean>;
  /** @returns how many; undefined, and nothing is replayed, when there are more than `limit` */
  replayRange(
    owner: Integrator,
    range: { from: string; to: string; includeDelivered: boolean },
    limit: number,
  ): Promise<number | undefined>;
}
