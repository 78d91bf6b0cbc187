import { decideOutcome, type SwitchEvent } from '../../../src/payments/decisions/decide-outcome.ts';
import { expirePinStep, pinEntries, submitPinStep } from '../../../src/payments/decisions/pin-step.ts';
import { stepOfResponse } from '../../../src/payments/decisions/reversal-responses.ts';
import { sentStep, stampAfter, unsentStep } from '../../../src/payments/decisions/reversal-steps.ts';
import type { LateFacts } from '../../../src/payments/model/decision.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { NO_PIN, PinState } from '../../../src/payments/model/pin.ts';
import { Status, type StatusId } from '../../../src/payments/model/status.ts';
import {
  NO_RESULT,
  ReversalState,
  type Transaction,
  TransactionType,
  VoidState,
} from '../../../src/payments/model/transaction.ts';
import type {
  NewAttempt,
  OriginalFacts,
  RefundStore,
  ReversalStep,
  TransactionStore,
} from '../../../src/payments/ports/store-ports.ts';
import { lateStep } from '../../../src/payments/reversals/late-responses.ts';
import type { Random } from '../../../src/tools/simulator/faults.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';
import { PROFILE } from '../simulated-tenant.ts';

/**
 * Times of a thousand seconds: on a machine of any speed, they are on the same side of each limit as the virtual clock.
 */
export const STEP_SECONDS = 1_000;
const DEADLINE_SECONDS = 2.5 * STEP_SECONDS;
/** Minus a deadline, it is not a whole number of steps either. */
const RESPONSE_SECONDS = 6.25 * STEP_SECONDS;
const PIN_SECONDS = 1.5 * STEP_SECONDS;

/** The writes that both stores execute. */
export type Writes = Pick<
  TransactionStore,
  'insert' | 'retry' | 'submit' | 'recordDecision' | 'submitPin' | 'expirePin' | 'stepReversal' | 'recordLate'
> & { recordResponse: TransactionStore['recordOverdueResponse'] } & Pick<
    RefundStore,
    'reserve' | 'startVoid' | 'acknowledge'
  >;

/** One write, decided from a version of a row: the current one, or an older one. */
export interface RandomWrite {
  readonly name: keyof Writes;
  readonly on: (store: Writes) => unknown;
}

/** What a writer reads besides the row. */
export interface Look {
  readonly factsOf: (seen: Transaction) => Pick<OriginalFacts, 'attempts'>;
  readonly voidOf: (sale: Transaction) => Transaction | undefined;
}

const NOBODY_TO_TELL = {
  directory: { webhookEndpoint: () => undefined, lostWindow: () => undefined },
  newId: () => '',
} as unknown as Parameters<typeof lateStep>[0];

const UNSENT: SwitchEvent = { kind: 'unsent' };

/** Generates writes of every kind, from versions of rows. Ids come from `newId`, so a seed is one sequence. */
export class RandomWrites {
  readonly #random: Random;
  readonly #newId: () => string;
  readonly #nowMs: () => number;
  readonly #look: Look;
  #numbers = 0;
  #ksns = 0;

  constructor(random: Random, newId: () => string, nowMs: () => number, look: Look) {
    this.#look = look;
    this.#random = random;
    this.#newId = newId;
    this.#nowMs = nowMs;
  }

  /** @param seen a version of a row */
  next(seen: Transaction): RandomWrite {
    const any = [
      ...[this.#settle, this.#submit, this.#retry, this.#submitPin, this.#expirePin, this.#response, this.#acknowledge],
      ...[this.#reverse, this.#late, this.#refund, this.#void, this.#repeatReference],
    ];
    // Half of them match the version, so that rows make progress.
    const fitting = this.#random.next() < 0.5 ? this.#fitting(seen) : any;
    return this.#pick(fitting).call(this, seen);
  }

  /** @param earlier an attempt that was superseded by one with a PIN */
  ofSuperseded(earlier: Transaction): RandomWrite {
    const isReversed = earlier.reversalState !== ReversalState.none && this.#random.next() < 0.7;
    return isReversed ? this.#reverse(earlier) : this.#late(earlier);
  }

  #fitting({ disposition, reversalState, pinState, status }: Transaction) {
    if (reversalState !== ReversalState.none) return [this.#reverse, this.#reverse, this.#reverse, this.#late];
    if (pinState === PinState.awaiting) return [this.#submitPin, this.#submitPin, this.#expirePin, this.#late];
    if (disposition === Disposition.Declined) return [this.#late];
    if (disposition === Disposition.Approved) return [this.#refund, this.#void, this.#acknowledge];
    const reachedNone = disposition === Disposition.UnableToGoOnline;
    if (reachedNone) return status === Status.ReadyToSubmitToPaymentProcessor ? [this.#response] : [this.#retry];
    return [this.#settle, this.#submit];
  }

  newAttempt(reference: string): NewAttempt {
    const isReady = this.#random.next() < 0.3;
    const status = isReady ? Status.ReadyToSubmitToPaymentProcessor : Status.SubmittedToPaymentProcessor;
    const named = { id: this.#newId(), merchantReference: reference, ...this.#newNumbers() };
    const transaction = sampleTransaction({ ...named, status });
    return this.#attempt({ ...transaction, deadlineSeconds: isReady ? null : DEADLINE_SECONDS });
  }

  /** Numbers of a new message. */
  #newNumbers() {
    const stan = String(++this.#numbers).padStart(6, '0');
    return { stan, rrn: `606010${stan}`, sentAtMs: this.#nowMs() };
  }

  #attempt(transaction: Transaction, pinSeconds: number | null = null): NewAttempt {
    return {
      transaction,
      auditEntries: [],
      enqueue: [],
      respondBySeconds: RESPONSE_SECONDS,
      overdueSeconds: 1,
      pinSeconds,
      handover: null,
    };
  }

  #settle(seen: Transaction): RandomWrite {
    const pinWait = { job: this.#newId(), seconds: PIN_SECONDS };
    const outcome = { cardTags: [], responseCode: '00', approvedMinor: 1_000, authorizationCode: '123456' };
    const responded = { kind: 'responded', providerFields: {}, pinWait } as const;
    const wrongPin: SwitchEvent = { ...responded, outcome: { ...outcome, kind: 'pinRequired', responseCode: '55' } };
    const event = this.#pick<SwitchEvent>([
      { ...responded, outcome: { ...outcome, kind: 'approved' } },
      { ...responded, outcome: { ...outcome, kind: 'approved' } },
      { ...responded, outcome: { ...outcome, kind: 'declined', responseCode: '51' } },
      { ...responded, outcome: { ...outcome, kind: 'pinRequired', responseCode: '65' } },
      wrongPin,
      { kind: 'noResponse' },
      UNSENT,
      // PINs are wrong again, and attempts with a PIN fail before anything is sent, often enough to reach the states
      // after that.
      ...(seen.pinState === PinState.submitted ? ([wrongPin, wrongPin, UNSENT, UNSENT, UNSENT] as const) : []),
    ]);
    const isWaiting = seen.pinState !== PinState.awaiting;
    // For a tap that waits for a switch, the job of its deadline decides that nothing was sent, even if another process
    // has decided it before.
    const isReady = seen.status === Status.ReadyToSubmitToPaymentProcessor && isWaiting && this.#random.next() < 0.5;
    const mayDecide = isReady || (seen.status === Status.SubmittedToPaymentProcessor && isWaiting);
    const from: Transaction = mayDecide ? seen : { ...seen, status: Status.SubmittedToPaymentProcessor, ...NO_PIN };
    const decided = decideOutcome(from, isReady ? UNSENT : event, this.#nowMs());
    const decision = this.#named(decided);
    const isOverdue = this.#random.next() < 0.4;
    const write = { transaction: { ...from, attempt: seen.attempt }, decision, isOverdue, nowMs: this.#nowMs() };
    return { name: 'recordDecision', on: (store) => store.recordDecision(write) };
  }

  #submit(seen: Transaction): RandomWrite {
    const write = {
      transaction: { ...seen, status: Status.SubmittedToPaymentProcessor, deadlineSeconds: DEADLINE_SECONDS },
      fromStatus: this.#pick<StatusId>([seen.status, Status.ReadyToSubmitToPaymentProcessor]),
      auditEntries: [],
      overdueSeconds: 1,
    };
    return { name: 'submit', on: (store) => store.submit(write) };
  }

  #retry(seen: Transaction): RandomWrite {
    const status = Status.SubmittedToPaymentProcessor;
    const again = { ...seen, ...NO_RESULT, ...NO_PIN, status, attempt: seen.attempt + 1, reversalAttempt: 0 };
    const write = this.#attempt({ ...again, ...this.#newNumbers(), deadlineSeconds: DEADLINE_SECONDS });
    return { name: 'retry', on: (store) => store.retry(write) };
  }

  #submitPin(seen: Transaction): RandomWrite {
    const awaiting = { ...seen, pinState: PinState.awaiting };
    const step = { ...submitPinStep(awaiting), pinFingerprint: this.#newId() };
    const status = Status.SubmittedToPaymentProcessor;
    const next = {
      ...seen,
      ...NO_RESULT,
      ...step,
      ...this.#newNumbers(),
      status,
      attempt: seen.attempt + 1,
      deadlineSeconds: DEADLINE_SECONDS,
    };
    const remove = seen.pinJob === null ? [] : [{ queue: 'expire-pin', id: seen.pinJob } as const];
    // The KSN of a PIN block, in some cases that of an earlier one.
    const ksn = this.#random.next() < 0.7 ? ++this.#ksns : Math.ceil(this.#random.next() * this.#ksns);
    const uses = ksn === 0 ? [] : [{ hash: String(ksn).padStart(32, '0') }];
    const write = { ...this.#attempt({ ...next, pinExpiresAtMs: null }), uses, fromStatus: seen.status, remove };
    return { name: 'submitPin', on: (store) => store.submitPin(write) };
  }

  #expirePin(seen: Transaction): RandomWrite {
    const awaiting = { ...seen, pinState: PinState.awaiting };
    const pin = expirePinStep(awaiting);
    const auditEntries = pinEntries(awaiting, pin, this.#nowMs());
    const write = { transaction: seen, disposition: 1, pin, auditEntries, nowMs: this.#nowMs(), enqueue: [] } as const;
    return { name: 'expirePin', on: (store) => store.expirePin(write) };
  }

  #response(seen: Transaction): RandomWrite {
    const status = this.#pick<StatusId>([Status.RespondedToPhone, Status.FailedToRespondToPhone]);
    return { name: 'recordResponse', on: (store) => store.recordResponse(this.#responseOf(seen, status)) };
  }

  #acknowledge(seen: Transaction): RandomWrite {
    const record = this.#responseOf(seen, Status.AcknowledgedByPhone);
    return { name: 'acknowledge', on: (store) => store.acknowledge(record) };
  }

  #responseOf({ acquirerId, id, attempt, status: fromStatus }: Transaction, status: StatusId) {
    return { acquirerId, id, attempt, fromStatus, status, auditEntries: [] };
  }

  /** An attempt that was sent, undone, or has its response, decided from a version of the reversal. */
  #reverse(seen: Transaction): RandomWrite {
    if (seen.reversalState === ReversalState.none) return this.#settle(seen);
    const { attempts } = this.#look.factsOf(seen);
    const sentAtMs = stampAfter(seen, attempts, this.#nowMs());
    const number = seen.reversalAttempt + 1;
    const stan = this.#random.next() < 0.5 ? seen.stan! : this.#newNumbers().stan;
    const couldOvertake = this.#random.next() < 0.3;
    const attempt = {
      number,
      sentAtMs,
      stan,
      couldOvertake,
      processorId: 1,
      nextJob: this.#newId(),
      nowMs: this.#nowMs(),
    };
    const known = attempts.length - (this.#random.next() < 0.1 ? 1 : 0);
    const last = attempts.at(-1);
    const before = { ...seen, reversalAttempt: Math.max(seen.reversalAttempt - 1, 0) };
    const steps: ReversalStep[] = [sentStep(seen, attempt, known, PROFILE)];
    if (last) steps.push(unsentStep(before, seen, { ...last, nowMs: this.#nowMs() }, 5, PROFILE.reversal));
    for (const response of ['acknowledged', 'acknowledged', 'refused', 'unableToLocate', 'undecided'] as const) {
      const responded = this.#pick(attempts.length > 0 ? attempts : [undefined]);
      if (!responded) continue;
      const facts = { attempts, wasApprovedLate: false };
      const step = stepOfResponse({
        transaction: seen,
        facts,
        sentAtMs: responded.sentAtMs,
        response,
        nowMs: this.#nowMs(),
      });
      if (step) steps.push(step);
    }
    const named = this.#named(this.#withVoidRow(this.#pick(steps)));
    return { name: 'stepReversal', on: (store) => store.stepReversal(named) };
  }

  #withVoidRow(step: ReversalStep): ReversalStep {
    const { voidState } = step.to;
    const row = this.#look.voidOf(step.transaction);
    if (!row || voidState === step.transaction.voidState) return step;
    const { Approved, Declined } = Disposition;
    const disposition = voidState === VoidState.done ? Approved : voidState === null ? Declined : row.disposition;
    return { ...step, voidRow: { id: row.id, disposition, needsReview: voidState !== VoidState.done } };
  }

  #late(seen: Transaction): RandomWrite {
    const late = this.#pick<LateFacts>([
      { kind: 'approved', responseCode: '00', authorizationCode: '123456' },
      { kind: 'approved', responseCode: '00', authorizationCode: '654321' },
      { kind: 'declined', responseCode: '51', authorizationCode: '' },
    ]);
    const rearm = lateStep(NOBODY_TO_TELL, seen, late, this.#nowMs());
    const write = { transaction: seen, late, rearm: rearm && this.#named(rearm), nowMs: this.#nowMs() };
    return { name: 'recordLate', on: (store) => store.recordLate(write) };
  }

  #refund(seen: Transaction): RandomWrite {
    const reference = this.#random.next() < 0.1 ? seen.merchantReference : this.#newId();
    const { transaction } = this.newAttempt(reference);
    const amountMinor = 100 + Math.floor(this.#random.next() * 10) * 100;
    const refund = { ...transaction, type: TransactionType.Refund, originalId: seen.id, amountMinor };
    const write = this.#attempt({
      ...refund,
      status: Status.SubmittedToPaymentProcessor,
      deadlineSeconds: DEADLINE_SECONDS,
    });
    return { name: 'reserve', on: (store) => store.reserve(write) };
  }

  #void(seen: Transaction): RandomWrite {
    const id = this.#newId();
    const row = {
      ...seen,
      ...NO_RESULT,
      ...NO_PIN,
      refundedMinor: 0,
      voidState: null,
      stan: null,
      rrn: null,
      id,
      merchantReference: id,
      type: TransactionType.Void,
    };
    const attempt = {
      ...this.#attempt({ ...row, originalId: seen.id, attempt: 1, status: Status.RespondedToPhone }),
      overdueSeconds: null,
    };
    const data = { acquirerId: 1, id: seen.id, attempt: seen.attempt, reversalAttempt: 1 };
    const reverseJob = { queue: 'reverse', id: this.#newId(), data } as const;
    const write = { original: seen, attempt, reverseJob, nowMs: this.#nowMs() };
    return { name: 'startVoid', on: (store) => store.startVoid(write) };
  }

  #repeatReference({ merchantReference }: Transaction): RandomWrite {
    const write = this.newAttempt(merchantReference);
    return { name: 'insert', on: (store) => store.insert(write) };
  }

  /** Jobs without an id would get a different one in each store. */
  #named<Step extends { readonly enqueue: readonly { readonly id?: string }[] }>(step: Step): Step {
    return { ...step, enqueue: step.enqueue.map((job) => ({ ...job, id: job.id ?? this.#newId() })) };
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#random.next() * choices.length)]!;
  }
}
