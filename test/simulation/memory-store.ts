import { isDeepStrictEqual } from 'node:util';
import type { AuditEntry, JobRequest } from '../../src/payments/model/decision.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { hasResponse, isAwaitingPin, NO_PIN } from '../../src/payments/model/pin.ts';
import { isInDoubt, keepsAmount } from '../../src/payments/model/review.ts';
import { MUST_NOT_REST, type StatusId } from '../../src/payments/model/status.ts';
import { OUTCOME_GRACE_SECONDS } from '../../src/payments/model/time-limits.ts';
import {
  ReversalState,
  type Transaction,
  type TransactionKey,
  TransactionType,
} from '../../src/payments/model/transaction.ts';
import type {
  GuardedDecision,
  LateRecord,
  LateRecordOutcome,
  NewAttempt,
  NewSubmission,
  OriginalFacts,
  PhoneResponseRecord,
  PinAttempt,
  PinExpiry,
  RequestKey,
  ResponseIdentity,
  ReversalKey,
  ReversalRecord,
  ReversalStep,
} from '../../src/payments/ports/store-ports.ts';
import { dependsOnReview, factsOf, findApproved, findRequestsOfResponses, findReversals } from './memory-reads.ts';
import type { Job, Row } from './memory-rows.ts';

/** The database's own clock. */
interface Clock {
  readonly nowMs: number;
}

/** A deliberate fault of the store, to prove that histories find it. */
export type Sabotage =
  | 'no outcome guard'
  | 'no reversal guard'
  | 'forgets reverse jobs'
  | 'takes a reference twice'
  | 'takes two PINs'
  | 'forgets expire-pin jobs'
  | 'reserves too much'
  | 'voids what was refunded'
  | 'keeps reservations'
  | 'gives STANs out twice';

/** As limited in src/store/transactions/late-responses.ts. */
const MAX_RESPONSES = 8;

/**
 * What the database commits, each commit at once: the same guards as in src/store, on a Map. Reads and writes take no
 * time here; the caller adds delays, failures and crashes.
 */
export class MemoryStore {
  readonly rows = new Map<string, Row>();
  readonly jobs = new Map<string, Job>();
  onJob: () => void = () => {};
  readonly sabotage: Sabotage | undefined;
  readonly #time: Clock;
  readonly #newId: () => string;
  #stans = 0;
  /** The attempt with a PIN that has each value which is accepted once. */
  readonly #used = new Map<string, string>();

  constructor(time: Clock, newId: () => string, sabotage?: Sabotage) {
    this.#time = time;
    this.#newId = newId;
    this.sabotage = sabotage;
  }

  /** Transactions and their audit entries are never modified, only replaced and added to. */
  copyTo(copy: MemoryStore): void {
    for (const [id, row] of this.rows) {
      const { trail, late, reversals, superseded } = row;
      const own = { trail: [...trail], late: [...late], reversals: [...reversals], superseded: [...superseded] };
      copy.rows.set(id, { ...row, ...own });
    }
    for (const [id, job] of this.jobs) copy.jobs.set(id, { ...job });
    copy.#stans = this.#stans;
    for (const [value, user] of this.#used) copy.#used.set(value, user);
  }

  /** The first STAN of a new block. */
  takeStans(count: number): number {
    const first = this.#stans + 1;
    if (this.sabotage !== 'gives STANs out twice' || first > count) this.#stans += count;
    return first;
  }

  insert(attempt: NewAttempt): 'inserted' | 'exists' {
    const { merchantReference } = attempt.transaction;
    const isTaken = this.findByReference(merchantReference, attempt.transaction) !== undefined;
    if (isTaken && this.sabotage !== 'takes a reference twice') return 'exists';
    const empty = { trail: [], late: [], reversals: [], superseded: [] };
    const usesReview = dependsOnReview(this.rows, attempt.transaction);
    this.rows.set(attempt.transaction.id, { ...this.#timesOf(attempt), ...empty, usesReview });
    this.addEntries(attempt.transaction, attempt.auditEntries);
    this.#open(attempt.transaction, attempt.overdueSeconds);
    this.enqueue(attempt.enqueue);
    return 'inserted';
  }

  retry(attempt: NewAttempt): boolean {
    const row = this.rows.get(attempt.transaction.id);
    if (row?.transaction.attempt !== attempt.transaction.attempt - 1) return false;
    const { status, disposition, pinFingerprint, originalId } = row.transaction;
    if (pinFingerprint !== null || originalId !== null || isInDoubt(row.transaction)) return false;
    const reachedNone = status === 0 || status === 2 || disposition === 2 || disposition === 3;
    if (!reachedNone || ![0, 2, 8, 9].includes(status)) return false;
    row.usesReview ||= row.transaction.needsReview;
    Object.assign(row, this.#timesOf(attempt));
    this.addEntries(attempt.transaction, attempt.auditEntries);
    this.#open(attempt.transaction, attempt.overdueSeconds);
    this.enqueue(attempt.enqueue);
    return true;
  }

  submit({ transaction, fromStatus, auditEntries, overdueSeconds }: NewSubmission): boolean {
    const row = this.rowAt(transaction, fromStatus);
    const deadlineAtMs = this.#time.nowMs + (transaction.deadlineSeconds ?? 0) * 1_000;
    if (!row || hasResponse(row.transaction) || row.respondByMs < deadlineAtMs) return false;
    const { status, routeId, tid, mid, stan, rrn, sentAtMs, deadlineSeconds, sealedCard } = transaction;
    const submission = { status, routeId, tid, mid, stan, rrn, sentAtMs, deadlineSeconds, sealedCard };
    Object.assign(row, { transaction: { ...row.transaction, ...submission }, deadlineAtMs });
    this.addEntries(transaction, auditEntries);
    this.#open(transaction, overdueSeconds);
    return true;
  }

  /** The attempt is overdue after this time. */
  #open({ acquirerId, id, attempt }: Transaction, overdueSeconds: number | null): void {
    if (overdueSeconds === null) return;
    const request = { queue: 'overdue', data: { acquirerId, id, attempt } } as const;
    this.jobs.set(id, { id, request, startAtMs: this.#time.nowMs + overdueSeconds * 1_000, heldUntilMs: 0 });
    this.onJob();
  }

  recordDecision({ transaction, decision, isOverdue, nowMs }: GuardedDecision): boolean {
    const row =
      this.sabotage === 'no outcome guard'
        ? this.rows.get(transaction.id)
        : this.rowAt(transaction, transaction.status);
    if (!row) return false;
    if (hasResponse(row.transaction) && this.sabotage !== 'no outcome guard') return false;
    const isPast =
      row.deadlineAtMs === null ? isOverdue : this.#time.nowMs >= row.deadlineAtMs + OUTCOME_GRACE_SECONDS * 1_000;
    if (isPast !== isOverdue && this.sabotage !== 'no outcome guard') return false;
    const { result, pin, status } = decision;
    const pinExpiresAtMs = this.#pinExpiry(decision.pinSeconds);
    const needsReview = row.transaction.needsReview || result.needsReview;
    const decided = { ...result, ...pin, needsReview, status, pinExpiresAtMs, updatedAtMs: nowMs };
    const before = row.transaction;
    row.transaction = { ...before, ...decided };
    this.addEntries(transaction, decision.auditEntries);
    this.enqueue(decision.enqueue.filter(({ queue }) => this.sabotage !== `forgets ${queue} jobs`));
    this.#adjustReservation(before);
    return true;
  }

  submitPin(attempt: PinAttempt): boolean {
    const { transaction, fromStatus, remove } = attempt;
    const row = this.rows.get(transaction.id);
    if (!this.#takeValues(attempt)) return false;
    const isAwaited = row && isAwaitingPin(row.transaction) && (row.transaction.pinExpiresAtMs ?? 0) > this.#time.nowMs;
    const isGuarded = row?.transaction.attempt === transaction.attempt - 1 && row.transaction.status === fromStatus;
    if (!row || !((isAwaited && isGuarded && !isInDoubt(row.transaction)) || this.sabotage === 'takes two PINs'))
      return false;
    const before = row.transaction;
    row.usesReview ||= before.needsReview;
    if (before.stan !== null) {
      row.superseded.push({ ...before, ...NO_PIN, disposition: Disposition.Declined, approvedMinor: null });
    }
    const renewed = this.#timesOf(attempt);
    const needsReview = before.needsReview || renewed.transaction.needsReview;
    Object.assign(row, renewed, { transaction: { ...renewed.transaction, needsReview } });
    this.addEntries(transaction, attempt.auditEntries);
    this.#open(transaction, attempt.overdueSeconds);
    this.enqueue(attempt.enqueue);
    this.remove(remove.map(({ id }) => id));
    return true;
  }

  /** All of them or none. They stay taken if the attempt is refused for another reason. */
  #takeValues({ transaction: { id, attempt }, uses = [] }: PinAttempt): boolean {
    const user = `${id} ${attempt}`;
    if (uses.some(({ hash }) => (this.#used.get(hash) ?? user) !== user)) return false;
    for (const { hash } of uses) this.#used.set(hash, user);
    return true;
  }

  expirePin({ transaction, disposition, pin, auditEntries, nowMs, enqueue }: PinExpiry): boolean {
    const row = this.rows.get(transaction.id);
    if (row?.transaction.attempt !== transaction.attempt || !isAwaitingPin(row.transaction)) return false;
    if ((row.transaction.pinExpiresAtMs ?? 0) > this.#time.nowMs) return false;
    row.transaction = { ...row.transaction, disposition, ...pin, updatedAtMs: nowMs };
    this.addEntries(transaction, auditEntries);
    this.enqueue(enqueue);
    return true;
  }

  recordResponse({ status, fromStatus, auditEntries, ...key }: PhoneResponseRecord): void {
    const row = this.rowAt(key, fromStatus);
    if (!row) return;
    row.transaction = { ...row.transaction, status };
    this.addEntries(key, auditEntries);
    this.remove([key.id]);
  }

  stepReversal(step: ReversalStep): boolean {
    const { transaction, to, voidRow, record, attempts } = step;
    const { row, request: before } = this.#unmoved(transaction);
    if (!row || !before) return false;
    const sent = row.reversals.filter(({ attempt }) => attempt === transaction.attempt);
    const isCurrent = attempts === undefined || attempts === sent.length;
    const isSameVoid = before.voidState === transaction.voidState;
    if (!(isCurrent && isSameVoid) && this.sabotage !== 'no reversal guard') return false;
    this.#change(row, transaction.attempt, to);
    const storedVoid = voidRow && this.rows.get(voidRow.id);
    if (voidRow && storedVoid) this.#change(storedVoid, storedVoid.transaction.attempt, voidRow);
    this.#record(row, before, record);
    this.#adjustReservation(before);
    this.addEntries(transaction, entriesAt(step));
    this.enqueue(step.enqueue);
    this.remove(step.remove);
    return true;
  }

  #record(row: Row, { attempt }: Transaction, record: ReversalRecord | undefined): void {
    if (!record) return;
    const at = row.reversals.findIndex((each) => each.attempt === attempt && each.sentAtMs === record.sentAtMs);
    if (record.kind === 'sent') {
      const { kind: _, deadlineSeconds, processorId: __, ...sent } = record;
      const deadlineAtMs = this.#time.nowMs + deadlineSeconds * 1_000;
      row.reversals.push({ ...sent, attempt, deadlineAtMs, counts: true, response: null });
    } else if (at >= 0 && record.kind === 'unsent') row.reversals.splice(at, 1);
    else if (at >= 0 && record.kind === 'responded')
      row.reversals[at] = { ...row.reversals[at]!, response: record.response, respondedAtMs: this.#time.nowMs };
  }

  recordLate({ transaction, late, rearm, isContradiction = false, nowMs }: LateRecord): LateRecordOutcome {
    const { row, request } = this.#unmoved(transaction);
    const { attempt, disposition, pinState } = transaction;
    if (!row || !request || request.disposition !== disposition || request.pinState !== pinState) return 'moved';
    const known = row.late.filter((each) => each.attempt === attempt && each.facts.kind === late.kind);
    if (known.some(({ facts }) => isDeepStrictEqual(facts, late)) || known.length >= MAX_RESPONSES) return 'known';
    row.late.push({ attempt, facts: late });
    const at = new Date(nowMs).toISOString();
    const entry = { late: late.kind, responseCode: late.responseCode, at };
    this.addEntries(transaction, [entry, ...(rearm?.auditEntries ?? []).map((each) => ({ ...each, at }))]);
    if (isContradiction) this.#change(row, attempt, { needsReview: true });
    if (!rearm) {
      this.#adjustReservation(request);
      return 'recorded';
    }
    const owed = { reversalState: ReversalState.owed, reversalArmedAtMs: this.#time.nowMs };
    this.#change(row, attempt, { ...owed, ...rearm.to });
    for (const [index, each] of row.reversals.entries()) {
      if (each.attempt === attempt) row.reversals[index] = { ...each, counts: false };
    }
    this.#adjustReservation(request);
    this.enqueue(rearm.enqueue);
    this.remove(rearm.remove.map(({ id }) => id));
    return 'recorded';
  }

  /** Changes the request of an attempt; needs review belongs to the transaction, and remains set. */
  #change(row: Row, attempt: number, changes: Partial<Transaction>): void {
    const { transaction } = row;
    const needsReview = transaction.needsReview || (changes.needsReview ?? false);
    if (transaction.attempt === attempt) {
      row.transaction = { ...transaction, ...changes, needsReview };
      return;
    }
    row.transaction = { ...transaction, needsReview };
    const at = row.superseded.findIndex((each) => each.attempt === attempt);
    const { reversalState, reversalAttempt, reversalArmedAtMs } = { ...row.superseded[at]!, ...changes };
    row.superseded[at] = { ...row.superseded[at]!, reversalState, reversalAttempt, reversalArmedAtMs };
  }

  find({ id }: TransactionKey): Transaction | undefined {
    return this.rows.get(id)?.transaction;
  }

  /** @param of its merchant; by default any */
  findByReference(
    reference: string,
    of?: Pick<Transaction, 'acquirerId' | 'merchantId'> | undefined,
  ): Transaction | undefined {
    for (const { transaction } of this.rows.values()) {
      const { merchantReference, acquirerId, merchantId } = transaction;
      const isOfMerchant = of === undefined || (acquirerId === of.acquirerId && merchantId === of.merchantId);
      if (merchantReference === reference && isOfMerchant) return transaction;
    }
    return undefined;
  }

  findRequest({ id, attempt }: RequestKey): Transaction | undefined {
    const row = this.rows.get(id);
    if (!row) return undefined;
    const superseded = row.superseded.find((each) => each.attempt === attempt);
    const { needsReview } = row.transaction;
    return row.transaction.attempt === attempt ? row.transaction : superseded && { ...superseded, needsReview };
  }

  findOriginalFacts(request: Transaction): OriginalFacts {
    return factsOf(this.rows.get(request.id)!, request, this.#time.nowMs);
  }

  findRequestsOfResponses(responses: readonly ResponseIdentity[]): (Transaction | undefined)[] {
    return findRequestsOfResponses(this.rows, responses);
  }

  findApproved(responses: readonly ResponseIdentity[]): (Transaction | undefined)[] {
    return findApproved(this.rows, responses);
  }

  findReversals(responses: readonly ResponseIdentity[]): (ReversalKey | undefined)[] {
    return findReversals(this.rows, responses);
  }

  /** The decision of an overdue attempt has ended: its transaction rests, or it is overdue again later. */
  endOverdue({ id, request }: Job, result: 'rests' | { readonly againAfterSeconds: number }): void {
    const job = this.jobs.get(id);
    if (!job || !isDeepStrictEqual(job.request, request)) return;
    if (result === 'rests') this.jobs.delete(id);
    else this.jobs.set(id, { ...job, startAtMs: this.#time.nowMs + result.againAfterSeconds * 1_000, heldUntilMs: 0 });
    this.onJob();
  }

  /** Ends a job, and enqueues its successor. */
  endJob(id: string, again?: JobRequest): void {
    if (!this.jobs.delete(id)) return;
    if (again) this.enqueue([again]);
  }

  /** Transactions at rest where that is not allowed; always empty. */
  restless(): string[] {
    const live = [...this.jobs.values()].map(({ request }) => request);
    const has = (queues: readonly string[], { id, attempt }: Transaction) =>
      live.some(
        ({ queue, data }) =>
          queues.includes(queue) && 'id' in data && 'attempt' in data && data.id === id && data.attempt === attempt,
      );
    const { owed, sent, confirming } = ReversalState;
    const isOwedBy = ({ reversalState }: Transaction) =>
      [owed, sent, confirming].some((state) => state === reversalState);
    return [...this.rows.values()].flatMap(({ transaction, superseded }) => {
      const isForgotten = superseded.some((each) => isOwedBy(each) && !has(['reverse'], each));
      const rests = MUST_NOT_REST.includes(transaction.status) && !has(['overdue'], transaction);
      const isOwed = isOwedBy(transaction);
      const awaits = isAwaitingPin(transaction) && !has(['expire-pin'], transaction);
      return isForgotten || rests || awaits || (isOwed && !has(['reverse'], transaction)) ? [transaction.id] : [];
    });
  }

  /** After a change of a refund: its sale reserves what its refunds keep. */
  #adjustReservation({ type, originalId }: Transaction): void {
    if (type !== TransactionType.Refund) return;
    const sale = this.rows.get(originalId!)!;
    const { approvedMinor, amountMinor, disposition, voidState, refundedMinor: before } = sale.transaction;
    const keeping = [...this.rows.values()].filter(
      ({ transaction: each }) =>
        each.type === TransactionType.Refund && each.originalId === originalId && keepsAmount(each),
    );
    const refundedMinor = keeping.reduce((sum, { transaction: each }) => sum + each.amountMinor!, 0);
    if (refundedMinor < before && this.sabotage === 'keeps reservations') return;
    const isGone = disposition !== Disposition.Approved || voidState !== null;
    const isTooMuch = refundedMinor > before && (isGone || refundedMinor > (approvedMinor ?? amountMinor ?? 0));
    const needsReview = sale.transaction.needsReview || isTooMuch;
    sale.transaction = { ...sale.transaction, refundedMinor, needsReview };
  }

  #pinExpiry(seconds: number | null): number | null {
    return seconds === null ? null : this.#time.nowMs + seconds * 1_000;
  }

  #timesOf({ transaction: planned, respondBySeconds, pinSeconds }: NewAttempt) {
    const transaction = { ...planned, pinExpiresAtMs: this.#pinExpiry(pinSeconds) };
    const { deadlineSeconds } = transaction;
    const { nowMs } = this.#time;
    const deadlineAtMs = deadlineSeconds === null ? null : nowMs + deadlineSeconds * 1_000;
    return { transaction, deadlineAtMs, respondByMs: nowMs + respondBySeconds * 1_000 };
  }

  rowAt({ id, attempt }: Pick<Transaction, 'id' | 'attempt'>, status: StatusId): Row | undefined {
    const row = this.rows.get(id);
    return row?.transaction.attempt === attempt && row.transaction.status === status ? row : undefined;
  }

  /** The request of the decision, unless its reversal has taken a step meanwhile. */
  #unmoved(decided: Transaction): { readonly row?: Row; readonly request?: Transaction } {
    const row = this.rows.get(decided.id);
    const request = this.findRequest(decided);
    if (!row || !request) return {};
    if (this.sabotage === 'no reversal guard') return { row, request };
    const isSame =
      request.reversalState === decided.reversalState && request.reversalAttempt === decided.reversalAttempt;
    return isSame ? { row, request } : {};
  }

  addEntries({ id, attempt }: Pick<Transaction, 'id' | 'attempt'>, entries: readonly AuditEntry[]): void {
    if (entries.length > 0) this.rows.get(id)!.trail.push({ attempt, auditEntries: [...entries] });
  }

  enqueue(requests: readonly JobRequest[]): void {
    for (const request of requests) {
      const id = request.id ?? this.#newId();
      const startAtMs = this.#time.nowMs + (request.startAfterSeconds ?? 0) * 1_000;
      this.jobs.set(id, { id, request, startAtMs, heldUntilMs: 0 });
    }
    if (requests.length > 0) this.onJob();
  }

  remove(ids: readonly string[]): void {
    for (const id of ids) this.jobs.delete(id);
  }
}

function entriesAt({ auditEntries, nowMs }: Pick<ReversalStep, 'auditEntries' | 'nowMs'>): AuditEntry[] {
  const at = new Date(nowMs).toISOString();
  return auditEntries.map((each) => ({ ...each, at }));
}
