import { isDeepStrictEqual } from 'node:util';
import { Disposition } from '../../src/transactions/disposition.ts';
import type { JobRequest } from '../../src/transactions/jobs.ts';
import { hasAnswer, isAwaitingPin } from '../../src/transactions/pin/pin-step.ts';
import type { PinAttempt, PinExpiry } from '../../src/transactions/ports/pin-ports.ts';
import type {
  AnswerRecord,
  AuditEntry,
  GuardedSettlement,
  LateFacts,
  LateRecord,
  LateRecordOutcome,
  NewAttempt,
  NewSubmission,
  OriginalFacts,
  ResponseIdentity,
  ReversalStep,
} from '../../src/transactions/ports.ts';
import { MUST_NOT_REST, type StatusId } from '../../src/transactions/status.ts';
import { OUTCOME_GRACE_SECONDS } from '../../src/transactions/time-limits.ts';
import {
  ReversalState,
  type Transaction,
  type TransactionKey,
  TransactionType,
} from '../../src/transactions/transaction.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A row with what the database adds to it. */
export interface Row {
  transaction: Transaction;
  answerByMs: number;
  deadlineAtMs: number | null;
  readonly trail: { attempt: number; moves: AuditEntry[] }[];
  /** Of the attempt that it stands at, newest last. */
  readonly late: { readonly attempt: number; readonly facts: LateFacts }[];
}

export interface Job {
  readonly id: string;
  readonly request: JobRequest;
  startAtMs: number;
  /** Taken, and not given to anyone else until then. */
  heldUntilMs: number;
}

/** A fault of the store on purpose, to prove that histories find it. */
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

/** As src/store/transactions/late-responses.ts keeps them. */
const MAX_ANSWERS = 8;

/**
 * What the database commits, each in one moment: the same guards as in src/store, on a Map. Reading and writing take no
 * time here; who calls it adds delays, failures and crashes around it.
 */
export class MemoryStore {
  readonly rows = new Map<string, Row>();
  readonly jobs = new Map<string, Job>();
  onJob: () => void = () => {};
  readonly sabotage: Sabotage | undefined;
  readonly #time: VirtualTime;
  readonly #newId: () => string;
  #stans = 0;

  constructor(time: VirtualTime, newId: () => string, sabotage?: Sabotage) {
    this.#time = time;
    this.#newId = newId;
    this.sabotage = sabotage;
  }

  /** The first STAN of a block that is nobody else's. */
  takeStans(count: number): number {
    const first = this.#stans + 1;
    if (this.sabotage !== 'gives STANs out twice' || first > count) this.#stans += count;
    return first;
  }

  insert(attempt: NewAttempt): 'inserted' | 'exists' {
    const { merchantReference } = attempt.transaction;
    const isTaken = [...this.rows.values()].some((row) => row.transaction.merchantReference === merchantReference);
    if (isTaken && this.sabotage !== 'takes a reference twice') return 'exists';
    this.rows.set(attempt.transaction.id, { ...this.#timesOf(attempt), trail: [], late: [] });
    this.told(attempt.transaction, attempt.moves);
    this.enqueue(attempt.enqueue);
    return 'inserted';
  }

  retry(attempt: NewAttempt): boolean {
    const row = this.rows.get(attempt.transaction.id);
    if (row?.transaction.attempt !== attempt.transaction.attempt - 1) return false;
    const { status, disposition, pinFingerprint } = row.transaction;
    if (pinFingerprint !== null) return false;
    const reachedNone = status === 0 || status === 2 || disposition === 2 || disposition === 3;
    if (!reachedNone || ![0, 2, 8, 9].includes(status)) return false;
    Object.assign(row, this.#timesOf(attempt));
    this.told(attempt.transaction, attempt.moves);
    this.enqueue(attempt.enqueue);
    return true;
  }

  submit({ transaction, fromStatus, moves, enqueue, remove }: NewSubmission): boolean {
    const row = this.rowAt(transaction, fromStatus);
    const deadlineAtMs = this.#time.nowMs + (transaction.deadlineSeconds ?? 0) * 1_000;
    if (!row || hasAnswer(row.transaction) || row.answerByMs < deadlineAtMs) return false;
    Object.assign(row, { transaction, deadlineAtMs });
    this.told(transaction, moves);
    this.enqueue(enqueue);
    this.remove(remove);
    return true;
  }

  settle({ transaction, settlement, isOverdue, nowMs }: GuardedSettlement): boolean {
    const row =
      this.sabotage === 'no outcome guard'
        ? this.rows.get(transaction.id)
        : this.rowAt(transaction, transaction.status);
    if (!row) return false;
    if (hasAnswer(row.transaction) && this.sabotage !== 'no outcome guard') return false;
    const isPast =
      row.deadlineAtMs === null ? isOverdue : this.#time.nowMs >= row.deadlineAtMs + OUTCOME_GRACE_SECONDS * 1_000;
    if (isPast !== isOverdue && this.sabotage !== 'no outcome guard') return false;
    const { result, pin, status } = settlement;
    const pinExpiresAtMs = this.#pinExpiry(settlement.pinSeconds);
    row.transaction = { ...row.transaction, ...result, ...pin, status, pinExpiresAtMs, updatedAtMs: nowMs };
    this.told(transaction, settlement.moves);
    this.enqueue(settlement.enqueue.filter(({ queue }) => this.sabotage !== `forgets ${queue} jobs`));
    const { disposition } = result;
    if (disposition === Disposition.Declined || disposition === Disposition.UnableToGoOnline)
      this.#release(transaction);
    return true;
  }

  submitPin(attempt: PinAttempt): boolean {
    const { transaction, fromStatus, remove } = attempt;
    const row = this.rows.get(transaction.id);
    const isAwaited = row && isAwaitingPin(row.transaction) && (row.transaction.pinExpiresAtMs ?? 0) > this.#time.nowMs;
    const isGuarded = row?.transaction.attempt === transaction.attempt - 1 && row.transaction.status === fromStatus;
    if (!row || !((isAwaited && isGuarded) || this.sabotage === 'takes two PINs')) return false;
    Object.assign(row, this.#timesOf(attempt));
    this.told(transaction, attempt.moves);
    this.enqueue(attempt.enqueue);
    this.remove(remove.map(({ id }) => id));
    return true;
  }

  expirePin({ transaction, disposition, pin, told, nowMs, enqueue }: PinExpiry): boolean {
    const row = this.rows.get(transaction.id);
    if (row?.transaction.attempt !== transaction.attempt || !isAwaitingPin(row.transaction)) return false;
    if ((row.transaction.pinExpiresAtMs ?? 0) > this.#time.nowMs) return false;
    row.transaction = { ...row.transaction, disposition, ...pin, updatedAtMs: nowMs };
    this.told(transaction, told);
    this.enqueue(enqueue);
    return true;
  }

  recordAnswer({ status, fromStatus, moves, overdueJob, ...key }: AnswerRecord): void {
    const row = this.rowAt(key, fromStatus);
    if (row) {
      row.transaction = { ...row.transaction, status };
      this.told(key, moves);
    }
    if (overdueJob) this.remove([overdueJob]);
  }

  stepReversal(step: ReversalStep): boolean {
    const row = this.#unmoved(step);
    if (!row) return false;
    const wasVoided = step.transaction.disposition === Disposition.Voided;
    if (step.to.disposition === Disposition.Voided && !wasVoided) this.#release(step.transaction);
    row.transaction = { ...row.transaction, ...step.to };
    this.told(step.transaction, toldAt(step));
    this.enqueue(step.enqueue);
    this.remove(step.remove);
    return true;
  }

  recordLate({ transaction, late, rearm, nowMs }: LateRecord): LateRecordOutcome {
    const row = this.#unmoved({ transaction });
    if (!row) return 'moved';
    const known = row.late.filter(({ attempt }) => attempt === transaction.attempt);
    if (known.some(({ facts }) => isDeepStrictEqual(facts, late)) || known.length >= MAX_ANSWERS) return 'known';
    row.late.push({ attempt: transaction.attempt, facts: late });
    const at = new Date(nowMs).toISOString();
    const entry = { late: late.kind, responseCode: late.responseCode, at };
    this.told(transaction, [entry, ...(rearm ? toldAt(rearm) : [])]);
    if (rearm) {
      row.transaction = { ...row.transaction, reversalState: ReversalState.owed };
      this.enqueue(rearm.enqueue);
    }
    return 'recorded';
  }

  find({ id }: TransactionKey): Transaction | undefined {
    return this.rows.get(id)?.transaction;
  }

  findByReference(reference: string): Transaction | undefined {
    return [...this.rows.values()].find((row) => row.transaction.merchantReference === reference)?.transaction;
  }

  findOriginalFacts({ id }: Transaction): OriginalFacts {
    const { transaction, deadlineAtMs, ...row } = this.rows.get(id)!;
    const late = row.late.filter(({ attempt }) => attempt === transaction.attempt).map(({ facts }) => facts);
    const approved = late.find(({ kind }) => kind === 'approved');
    return {
      sinceDeadlineSeconds: (this.#time.nowMs - (deadlineAtMs ?? 0)) / 1_000,
      wasAnswered: transaction.responseCode !== null || late.length > 0,
      wasApprovedLate: approved !== undefined,
      lateAuthorizationCode: approved?.authorizationCode || null,
      completingSeconds: 0,
    };
  }

  findUncertain(responses: readonly ResponseIdentity[]): (Transaction | undefined)[] {
    const all = [...this.rows.values()].map(({ transaction }) => transaction);
    return responses.map(({ stan, rrn }) =>
      all.find((each) => each.reversalState !== ReversalState.none && each.stan === stan && each.rrn === rrn),
    );
  }

  /** A job that is done, and the one that takes its place. */
  endJob(id: string, again?: JobRequest): void {
    if (!this.jobs.delete(id)) return;
    if (again) this.enqueue([again]);
  }

  /** What rests where it must not: at every moment there is nothing. */
  restless(): string[] {
    const live = [...this.jobs.values()].map(({ request }) => request);
    const has = (queues: readonly string[], { id, attempt }: Transaction) =>
      live.some(
        ({ queue, data }) =>
          queues.includes(queue) && 'id' in data && 'attempt' in data && data.id === id && data.attempt === attempt,
      );
    const { owed, sent, confirming } = ReversalState;
    return [...this.rows.values()].flatMap(({ transaction }) => {
      const rests = MUST_NOT_REST.includes(transaction.status) && !has(['overdue'], transaction);
      const isOwed = [owed, sent, confirming].some((state) => state === transaction.reversalState);
      const awaits = isAwaitingPin(transaction) && !has(['expire-pin'], transaction);
      return rests || awaits || (isOwed && !has(['reverse'], transaction)) ? [transaction.id] : [];
    });
  }

  /** Of a refund: no money goes back, or ever will. */
  #release({ id }: Pick<Transaction, 'id'>): void {
    const { type, originalId, amountMinor } = this.rows.get(id)!.transaction;
    if (type !== TransactionType.Refund || this.sabotage === 'keeps reservations') return;
    const sale = this.rows.get(originalId!)!;
    sale.transaction = { ...sale.transaction, refundedMinor: sale.transaction.refundedMinor - amountMinor! };
  }

  #pinExpiry(seconds: number | null): number | null {
    return seconds === null ? null : this.#time.nowMs + seconds * 1_000;
  }

  #timesOf({ transaction: planned, answerBySeconds, pinSeconds }: NewAttempt) {
    const transaction = { ...planned, pinExpiresAtMs: this.#pinExpiry(pinSeconds) };
    const { deadlineSeconds } = transaction;
    const { nowMs } = this.#time;
    const deadlineAtMs = deadlineSeconds === null ? null : nowMs + deadlineSeconds * 1_000;
    return { transaction, deadlineAtMs, answerByMs: nowMs + answerBySeconds * 1_000 };
  }

  rowAt({ id, attempt }: Pick<Transaction, 'id' | 'attempt'>, status: StatusId): Row | undefined {
    const row = this.rows.get(id);
    return row?.transaction.attempt === attempt && row.transaction.status === status ? row : undefined;
  }

  #unmoved({ transaction }: Pick<ReversalStep, 'transaction'>): Row | undefined {
    const row = this.rows.get(transaction.id);
    if (row?.transaction.attempt !== transaction.attempt) return undefined;
    if (this.sabotage === 'no reversal guard') return row;
    const { reversalState, reversalAttempt } = row.transaction;
    const isSame = reversalState === transaction.reversalState && reversalAttempt === transaction.reversalAttempt;
    return isSame ? row : undefined;
  }

  told({ id, attempt }: Pick<Transaction, 'id' | 'attempt'>, entries: readonly AuditEntry[]): void {
    if (entries.length > 0) this.rows.get(id)!.trail.push({ attempt, moves: [...entries] });
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

function toldAt({ told, nowMs }: Pick<ReversalStep, 'told' | 'nowMs'>): AuditEntry[] {
  const at = new Date(nowMs).toISOString();
  return told.map((each) => ({ ...each, at }));
}
