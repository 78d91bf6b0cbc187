import { isDeepStrictEqual } from 'node:util';
import type { JobRequest } from '../../src/transactions/jobs.ts';
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
import { ReversalState, type Transaction, type TransactionKey } from '../../src/transactions/transaction.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A row with what the database adds to it. */
export interface Row {
  transaction: Transaction;
  answerByMs: number;
  deadlineAtMs: number | null;
  readonly trail: { attempt: number; moves: AuditEntry[] }[];
  readonly late: LateFacts[];
}

export interface Job {
  readonly id: string;
  readonly request: JobRequest;
  startAtMs: number;
  /** Taken, and not given to anyone else until then. */
  heldUntilMs: number;
}

/** A fault of the store on purpose, to prove that histories find it. */
export type Sabotage = 'no outcome guard' | 'no reversal guard' | 'forgets reverse jobs' | 'takes a reference twice';

/**
 * What the database commits, each in one moment: the same guards as in src/store, on a Map. Reading and writing take no
 * time here; who calls it adds delays, failures and crashes around it.
 */
export class MemoryStore {
  readonly rows = new Map<string, Row>();
  readonly jobs = new Map<string, Job>();
  onJob: () => void = () => {};
  readonly #time: VirtualTime;
  readonly #newId: () => string;
  readonly #sabotage: Sabotage | undefined;

  constructor(time: VirtualTime, newId: () => string, sabotage?: Sabotage) {
    this.#time = time;
    this.#newId = newId;
    this.#sabotage = sabotage;
  }

  insert(attempt: NewAttempt): 'inserted' | 'exists' {
    const { merchantReference } = attempt.transaction;
    const isTaken = [...this.rows.values()].some((row) => row.transaction.merchantReference === merchantReference);
    if (isTaken && this.#sabotage !== 'takes a reference twice') return 'exists';
    this.rows.set(attempt.transaction.id, { ...this.#timesOf(attempt), trail: [], late: [] });
    this.#told(attempt.transaction, attempt.moves);
    this.#enqueue(attempt.enqueue);
    return 'inserted';
  }

  retry(attempt: NewAttempt): boolean {
    const row = this.rows.get(attempt.transaction.id);
    if (row?.transaction.attempt !== attempt.transaction.attempt - 1) return false;
    const { status, disposition } = row.transaction;
    const reachedNone = status === 0 || status === 2 || disposition === 2 || disposition === 3;
    if (!reachedNone || ![0, 2, 8, 9].includes(status)) return false;
    Object.assign(row, this.#timesOf(attempt));
    this.#told(attempt.transaction, attempt.moves);
    this.#enqueue(attempt.enqueue);
    return true;
  }

  submit({ transaction, fromStatus, moves, enqueue, remove }: NewSubmission): boolean {
    const row = this.#rowAt(transaction, fromStatus);
    const deadlineAtMs = this.#time.nowMs + (transaction.deadlineSeconds ?? 0) * 1_000;
    if (!row || row.transaction.disposition !== null || row.answerByMs < deadlineAtMs) return false;
    Object.assign(row, { transaction, deadlineAtMs });
    this.#told(transaction, moves);
    this.#enqueue(enqueue);
    this.#remove(remove);
    return true;
  }

  settle({ transaction, settlement, isOverdue, nowMs }: GuardedSettlement): boolean {
    const row =
      this.#sabotage === 'no outcome guard'
        ? this.rows.get(transaction.id)
        : this.#rowAt(transaction, transaction.status);
    if (!row) return false;
    if (row.transaction.disposition !== null && this.#sabotage !== 'no outcome guard') return false;
    const isPast =
      row.deadlineAtMs === null ? isOverdue : this.#time.nowMs >= row.deadlineAtMs + OUTCOME_GRACE_SECONDS * 1_000;
    if (isPast !== isOverdue && this.#sabotage !== 'no outcome guard') return false;
    row.transaction = { ...row.transaction, ...settlement.result, status: settlement.status, updatedAtMs: nowMs };
    this.#told(transaction, settlement.moves);
    const isKept = ({ queue }: JobRequest) => queue !== 'reverse' || this.#sabotage !== 'forgets reverse jobs';
    this.#enqueue(settlement.enqueue.filter(isKept));
    return true;
  }

  recordAnswer({ status, fromStatus, moves, overdueJob, ...key }: AnswerRecord): void {
    const row = this.#rowAt(key, fromStatus);
    if (row) {
      row.transaction = { ...row.transaction, status };
      this.#told(key, moves);
    }
    if (overdueJob) this.#remove([overdueJob]);
  }

  stepReversal(step: ReversalStep): boolean {
    const row = this.#unmoved(step);
    if (!row) return false;
    row.transaction = { ...row.transaction, ...step.to };
    this.#told(step.transaction, toldAt(step));
    this.#enqueue(step.enqueue);
    this.#remove(step.remove);
    return true;
  }

  recordLate({ transaction, late, rearm, nowMs }: LateRecord): LateRecordOutcome {
    const row = this.#unmoved({ transaction });
    if (!row) return 'moved';
    if (row.late.some((known) => isDeepStrictEqual(known, late))) return 'known';
    row.late.push(late);
    const at = new Date(nowMs).toISOString();
    const entry = { late: late.kind, responseCode: late.responseCode, at };
    this.#told(transaction, [entry, ...(rearm ? toldAt(rearm) : [])]);
    if (rearm) {
      row.transaction = { ...row.transaction, reversalState: ReversalState.owed };
      this.#enqueue(rearm.enqueue);
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
    const { transaction, deadlineAtMs, late } = this.rows.get(id)!;
    const approved = late.find(({ kind }) => kind === 'approved');
    return {
      sinceDeadlineSeconds: (this.#time.nowMs - (deadlineAtMs ?? 0)) / 1_000,
      wasAnswered: transaction.responseCode !== null || late.length > 0,
      wasApprovedLate: approved !== undefined,
      lateAuthorizationCode: approved?.authorizationCode || null,
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
    if (again) this.#enqueue([again]);
  }

  /** What rests where it must not: at every moment there is nothing. */
  restless(): string[] {
    const live = [...this.jobs.values()].map(({ request }) => request);
    const has = (queues: readonly string[], { id, attempt }: Transaction) =>
      live.some(
        ({ queue, data }) => queues.includes(queue) && 'id' in data && data.id === id && data.attempt === attempt,
      );
    const { owed, sent, confirming } = ReversalState;
    return [...this.rows.values()].flatMap(({ transaction }) => {
      const rests = MUST_NOT_REST.includes(transaction.status) && !has(['overdue'], transaction);
      const isOwed = [owed, sent, confirming].some((state) => state === transaction.reversalState);
      return rests || (isOwed && !has(['reverse'], transaction)) ? [transaction.id] : [];
    });
  }

  #timesOf({ transaction, answerBySeconds }: NewAttempt) {
    const { deadlineSeconds } = transaction;
    const { nowMs } = this.#time;
    const deadlineAtMs = deadlineSeconds === null ? null : nowMs + deadlineSeconds * 1_000;
    return { transaction, deadlineAtMs, answerByMs: nowMs + answerBySeconds * 1_000 };
  }

  #rowAt({ id, attempt }: Pick<Transaction, 'id' | 'attempt'>, status: StatusId): Row | undefined {
    const row = this.rows.get(id);
    return row?.transaction.attempt === attempt && row.transaction.status === status ? row : undefined;
  }

  #unmoved({ transaction }: Pick<ReversalStep, 'transaction'>): Row | undefined {
    const row = this.rows.get(transaction.id);
    if (row?.transaction.attempt !== transaction.attempt) return undefined;
    if (this.#sabotage === 'no reversal guard') return row;
    const { reversalState, reversalAttempt } = row.transaction;
    const isSame = reversalState === transaction.reversalState && reversalAttempt === transaction.reversalAttempt;
    return isSame ? row : undefined;
  }

  #told({ id, attempt }: Pick<Transaction, 'id' | 'attempt'>, entries: readonly AuditEntry[]): void {
    if (entries.length > 0) this.rows.get(id)!.trail.push({ attempt, moves: [...entries] });
  }

  #enqueue(requests: readonly JobRequest[]): void {
    for (const request of requests) {
      const id = request.id ?? this.#newId();
      const startAtMs = this.#time.nowMs + (request.startAfterSeconds ?? 0) * 1_000;
      this.jobs.set(id, { id, request, startAtMs, heldUntilMs: 0 });
    }
    if (requests.length > 0) this.onJob();
  }

  #remove(ids: readonly string[]): void {
    for (const id of ids) this.jobs.delete(id);
  }
}

function toldAt({ told, nowMs }: Pick<ReversalStep, 'told' | 'nowMs'>): AuditEntry[] {
  const at = new Date(nowMs).toISOString();
  return told.map((each) => ({ ...each, at }));
}
