import type { TlvValues } from '../emv/tlv-values.ts';
import type {
  OriginalData,
  Outcome,
  PinData,
  Purchase,
  Refund,
  Reversal,
  ReversalAnswer,
} from '../processor-kit/processor.ts';
import type { ProcessorProfile } from '../processor-kit/profile.ts';
import type { DispositionId } from './disposition.ts';
import type { JobRequest } from './jobs.ts';
import type { EnteredPin, PinAttempt, PinExpiry, PinRequest } from './pin-ports.ts';
import type { PinEntry } from './pin-step.ts';
import type { Settlement } from './settle-outcome.ts';
import type { Move, StatusId } from './status.ts';
import type { ProviderValues, Transaction, TransactionKey } from './transaction.ts';

/** What the domain asks of the world. Adapters implement these; the domain knows no pg, no sockets, no fastify. */

export interface Clock {
  /** Milliseconds since 1970 by the wall clock: for records. */
  nowMs(): number;
  /** Milliseconds on a clock that only goes forward: for deadlines. */
  monotonicMs(): number;
}

/** A new transaction, or the next attempt of one of which nothing reached a switch. */
export interface NewAttempt {
  readonly transaction: Transaction;
  readonly moves: readonly AuditEntry[];
  readonly enqueue: readonly JobRequest[];
  /** Until then somebody must have an answer: processor deadline + 5 s. The database adds it to its clock. */
  readonly answerBySeconds: number;
  /** How long a PIN is awaited, where the attempt ends at once in the wish for one. The database adds it, too. */
  readonly pinSeconds: number | null;
  /** The tap sealed for the workers; null where it goes to the switch from here. */
  readonly handover: Uint8Array | null;
}

/** A tap that was accepted goes to a switch, or to the next one: route, STAN, deadline and `overdue` job. */
export interface NewSubmission {
  readonly transaction: Transaction;
  /** 3, or 4 when it is proven that the switch before it never got a byte. */
  readonly fromStatus: StatusId;
  readonly moves: readonly Move[];
  readonly enqueue: readonly JobRequest[];
  /** The `overdue` job that the new one replaces. */
  readonly remove: readonly string[];
}

/** A settlement with what it must still find in the row: the status it was decided from, on the right side of the deadline. */
export interface GuardedSettlement {
  readonly transaction: Transaction;
  readonly settlement: Settlement;
  /** False: the deadline and its grace have not passed. True: they have. */
  readonly isOverdue: boolean;
  readonly nowMs: number;
}

/** The phone has its answer, or was gone. */
export interface AnswerRecord extends TransactionKey {
  readonly attempt: number;
  readonly fromStatus: StatusId;
  readonly status: StatusId;
  readonly moves: readonly Move[];
  /** The job that guarded the transaction until it could rest. */
  readonly overdueJob: string | null;
}

/** A step of a reversal: guarded by the state and the attempt that it follows. */
export interface ReversalStep {
  readonly transaction: Transaction;
  readonly to: Pick<Transaction, 'reversalState' | 'reversalAttempt' | 'disposition' | 'needsReview'>;
  /** For the audit trail. */
  readonly told: readonly ReversalTold[];
  readonly nowMs: number;
  readonly enqueue: readonly JobRequest[];
  /** The `reverse` jobs that it makes needless. */
  readonly remove: readonly string[];
}

/** What a step tells the audit trail: the state it led to, or that an attempt was not written after all. */
export interface ReversalTold {
  readonly reversal: 'owed' | 'sent' | 'unsent' | 'confirming' | 'acknowledged' | 'refused' | 'needsReview';
  readonly attempt: number;
}

/** What a reversal must know of its original besides the row. */
export interface OriginalFacts {
  /** Seconds since the original's deadline, by the database's clock; negative before it. */
  readonly sinceDeadlineSeconds: number;
  /** Whether the switch has answered the original, however late or strangely: then nothing of it is on its way any more. */
  readonly wasAnswered: boolean;
  /** Whether an approval came late, and its DE38. */
  readonly wasApprovedLate: boolean;
  readonly lateAuthorizationCode: string | null;
}

/** Names the request that a response answers, as the switch knows it. */
export interface ResponseIdentity {
  readonly acquirerId: number;
  readonly processorId: number;
  /** DE11 and DE41. */
  readonly stan: string;
  readonly tid: string;
  /** DE37 or DE7: one of them must agree besides. */
  readonly rrn: string | undefined;
  readonly transmissionDateTime: string | undefined;
}

/** What a late response says. A wish for a PIN is a decline by then. */
export interface LateFacts {
  readonly kind: 'approved' | 'declined' | 'unknown';
  readonly responseCode: string;
  readonly authorizationCode: string;
}

/** A late response to be recorded; guarded like a step. */
export interface LateRecord {
  readonly transaction: Transaction;
  readonly late: LateFacts;
  /** The step of the reversal that it causes; undefined when the reversal goes on as it would without. */
  readonly rearm: ReversalStep | undefined;
  readonly nowMs: number;
}

/** `known`: the same answer was recorded before. `moved`: the reversal has taken a step meanwhile, nothing was recorded. */
export type LateRecordOutcome = 'recorded' | 'known' | 'moved';

export interface TransactionStore {
  insert(attempt: NewAttempt): Promise<'inserted' | 'exists'>;
  retry(attempt: NewAttempt): Promise<boolean>;
  /** False when no PIN is awaited any more, or the row is in another status than it was. */
  submitPin(attempt: PinAttempt): Promise<boolean>;
  /** False when the PIN came, or may still come. */
  expirePin(expiry: PinExpiry): Promise<boolean>;
  submit(submission: NewSubmission): Promise<boolean>;
  settle(settlement: GuardedSettlement): Promise<boolean>;
  /** The phone got its answer, or was gone. Nobody waits for the record, and one that is lost is made up for by a job. */
  recordAnswer(answer: AnswerRecord): void;
  /** The same for that job, which must live until it is recorded. */
  recordOverdueAnswer(answer: AnswerRecord): Promise<unknown>;
  stepReversal(step: ReversalStep): Promise<boolean>;
  recordLate(record: LateRecord): Promise<LateRecordOutcome>;
  find(key: TransactionKey): Promise<Transaction | undefined>;
  findByReference(acquirerId: number, merchantId: string, merchantReference: string): Promise<Transaction | undefined>;
  /** The tap as an `api` process sealed it, and the seconds until somebody must have an answer; undefined once it was submitted. */
  findHandover(key: TransactionKey): Promise<{ handover: Uint8Array; secondsLeft: number } | undefined>;
  findOriginalFacts(transaction: Transaction): Promise<OriginalFacts>;
  /** The uncertain transaction that each response answers, in order; undefined for a response that answers none. */
  findUncertain(responses: readonly ResponseIdentity[]): Promise<(Transaction | undefined)[]>;
}

/** Which rows a credential may see. */
export interface Tenant {
  readonly acquirerId: number;
  readonly integratorId?: number | undefined;
  readonly merchantId?: string | undefined;
}

export interface TransactionFilter {
  readonly user?: string | undefined;
  readonly startDate?: string | undefined;
  readonly endDate?: string | undefined;
  readonly minAmount?: number | undefined;
  readonly maxAmount?: number | undefined;
  readonly merchantReference?: string | undefined;
  readonly disposition?: DispositionId | undefined;
  readonly needsReview?: boolean | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Reads for those a transaction belongs to. */
export interface TransactionReader {
  list(tenant: Tenant, filter: TransactionFilter): Promise<Transaction[]>;
  findOwned(tenant: Tenant, id: string): Promise<Transaction | undefined>;
  events(key: TransactionKey): Promise<{ attempt: number; moves: AuditEntry[] }[]>;
}

/** One line of the audit trail: a move of the status or of the PIN step, a void, a step of the reversal, a late response. */
export type AuditEntry =
  | Move
  | PinEntry
  | (ReversalTold & { readonly at: string })
  /** A void was asked for: the id of its row. The reversal that follows is the void's. */
  | { readonly void: string; readonly at: string }
  | { readonly late: LateFacts['kind']; readonly responseCode: string; readonly at: string };

export interface MerchantRecord {
  readonly acquirerId: number;
  readonly id: string;
  readonly integratorId: number;
  readonly name: string;
  readonly street: string;
  readonly city: string;
  readonly country: string;
  readonly mcc: string;
  readonly currency: string;
  readonly timeZone: string;
  readonly feesConfigId: number | null;
  readonly fee: number | null;
}

export interface TerminalRecord {
  readonly xTid: string;
  readonly tid: string;
  readonly mid: string;
  readonly canTakePin: boolean;
}

/** One way to a switch, for taps that fit; tried by priority, the lowest first. */
export interface RouteRecord {
  readonly id: number;
  readonly processorId: number;
  readonly priority: number;
  readonly currency: string | null;
  readonly scheme: string | null;
  readonly xTid: string | null;
  /** No tap goes by it any more; transactions that did still find their switch through it. */
  readonly isRemoved: boolean;
}

/** Configuration by tenant, cached for a few seconds. */
export interface Directory {
  hasIntegrator(acquirerId: number, integratorId: number): boolean;
  merchant(acquirerId: number, merchantId: string): MerchantRecord | undefined;
  terminal(acquirerId: number, xTid: string): TerminalRecord | undefined;
  routes(acquirerId: number): readonly RouteRecord[];
  isBlockedDevice(acquirerId: number, deviceInstallationId: string): boolean;
  userId(acquirerId: number, merchantId: string, claim: string): { id: string; isBlocked: boolean } | undefined;
  /** Where an integrator is told of outcomes, by the id of the endpoint; undefined when it does not want to be. */
  webhookEndpoint(acquirerId: number, integratorId: number, serves: WebhookOrigin): string | undefined;
}

/** What an endpoint serves: taps of the SDK, or what came by link or intent. Neither stands in for the other. */
export type WebhookOrigin = 'taps' | 'links';

/** What became of a request to a switch, and the connection that carried it. `written`: whether a byte may have left. */
export type SwitchAnswer<Value> = { readonly connectionId: string } & (
  | { readonly kind: 'answered'; readonly value: Value }
  | { readonly kind: 'garbled' }
  | { readonly kind: 'failed'; readonly written: boolean; readonly reason: string }
);

/** What a switch made of a purchase, and what it told integrators besides. */
export interface PurchaseAnswer {
  readonly outcome: Outcome;
  readonly providerFields: ProviderValues;
}

/** A place on a signed-on connection, held before anything is committed as submitted. */
export interface SwitchSlot {
  authorize(request: PreparedRequest, timing: SendTiming): Promise<SwitchAnswer<PurchaseAnswer>>;
  reverse(reversal: Reversal, timing: SendTiming): Promise<SwitchAnswer<ReversalAnswer>>;
  release(): void;
}

/** On the monotonic clock: an answer counts until the one, nothing is written after the other. */
export interface SendTiming {
  readonly deadlineMs: number;
  readonly sendByMs: number;
}

/** A processor of an acquirer, wired to its connections. */
export interface Switch {
  readonly type: string;
  readonly profile: ProcessorProfile;
  /** Whether PINs can be enciphered for it. */
  readonly takesPin: boolean;
  /** Whether a connection is signed on, taken or not; otherwise one may be coming up, or none is. */
  readonly isSignedOn: boolean;
  /** Whether connections are signed on, but all of them are taken: what came now would have to wait. */
  readonly isFull: boolean;
  /** The next STAN within the scope that the profile names; undefined when the business day has none left. */
  nextStan(tid: string): Promise<string | undefined>;
  /** Undefined when no connection is signed on, none is about to be, or all are full. */
  takeSlot(connectionId?: string): Promise<SwitchSlot | undefined>;
  /** Whether the connection still lives, signed on or not. */
  hasConnection(connectionId: string): boolean;
  /**
   * Builds the message and tries it on the codec, so that what cannot be sent is known before anything is committed.
   * @throws TapwireError when a value does not fit the switch's fields
   */
  prepare(purchase: Purchase): PreparedRequest;
  /** The same for a refund; undefined when the switch takes none. */
  prepareRefund(refund: Refund): PreparedRequest | undefined;
  /**
   * Enciphers a PIN anew, from the reader's key to the switch's, inside the HSM.
   * @throws PinUnusable when the block holds no PIN of this card
   */
  translatePin(pin: EnteredPin, pan: string): Promise<PinData>;
  /** Who the merchant is at this switch, for integrators. */
  providerId(terminal: TerminalRecord): ProviderValues;
}

/** A request of one switch, ready to be written. */
export interface PreparedRequest {
  /** What a reversal must repeat of it. */
  readonly original: OriginalData;
}

export interface Switches {
  find(acquirerId: number, processorId: number): Switch | undefined;
}

/** What is sealed of a card for as long as a reversal or refund may need it. */
export interface KeptCard {
  readonly pan: string;
  /** YYMM. */
  readonly expiry: string;
  readonly original: OriginalData;
}

export interface CardVault {
  seal(transactionId: string, card: KeptCard): Uint8Array;
  /** @throws SealError when the key is gone or the bytes were changed */
  open(transactionId: string, sealed: Uint8Array): KeptCard;
  /** Keyed hash for search, with its key's id. */
  hashPan(pan: string): string;
  /** Whether it is the hash of this PAN, under whichever key. */
  isHashOf(hash: string, pan: string): boolean;
}

/** A tap as the phone submitted it. */
export interface TapRequest {
  readonly merchantReference: string;
  /** Base64 of BER-TLV. */
  readonly generalCardData: string;
  /** Base64 of a compact JWE. */
  readonly paymentCardData: string;
  readonly deviceInstallationId: string;
}

/** Both blobs of a tap, opened and indexed; the bytes themselves for a handover. */
export interface OpenedTap {
  readonly general: TlvValues;
  readonly payment: TlvValues;
  readonly bytes: { readonly general: Uint8Array; readonly payment: Uint8Array };
}

/** Opens what readers seal. */
export interface CardDataOpener {
  /** @throws CardDataError, one and the same for every cause */
  open(request: TapRequest): OpenedTap;
  fingerprint(request: TapRequest | PinRequest): string;
  isFingerprintOf(fingerprint: string, request: TapRequest | PinRequest): boolean;
}

/** From an `api` process to a `worker`: sealed to keys that live in the workers' memory alone. */
export interface Handover {
  /** @throws SealError NO_WORKER when nobody could open it */
  seal(
    attempt: { readonly id: string; readonly attempt: number },
    tap: { general: Uint8Array; payment: Uint8Array },
  ): Promise<Uint8Array>;
}

/** As whom a tap is submitted. */
export interface Principal {
  readonly acquirerId: number;
  readonly merchantId: string;
  readonly userClaim: string | null;
  readonly xTid: string | null;
}

/** Calls a person. */
export interface Alarms {
  /** The time for a reversal is over, and the switch has not acknowledged it. */
  needsReview(key: TransactionKey): void;
}

/** Tells who waits that a transaction moved, in this process or from another one. */
export interface Wakeups {
  /** Resolves when the transaction may have moved, or at the latest after `timeoutMs`. */
  moved(key: TransactionKey, timeoutMs: number): Promise<void>;
  announce(key: TransactionKey): void;
  /** Taps were handed over: workers should look. */
  announceWork(): void;
}
