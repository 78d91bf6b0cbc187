import {
  CardDataError,
  DuplicateReference,
  Forbidden,
  NoConfiguration,
  SealError,
  StoreUnavailable,
  TapRefused,
} from '../errors.ts';
import { authorize } from './authorize.ts';
import { awaitOutcome } from './await-outcome.ts';
import { Disposition } from './disposition.ts';
import { type Draft, draftTap, nextAttempt } from './draft.ts';
import type { Handover, NewAttempt, OpenedTap, Principal, TapRequest } from './ports.ts';
import { type ReadTap, readTap } from './read-tap.ts';
import { ERROR_CODES } from './settle-outcome.ts';
import { moves, Status, type StatusId } from './status.ts';
import { type ReadySubmission, takeRoute } from './take-route.ts';
import {
  ANSWER_SLACK_SECONDS,
  LOCAL_ANSWER_SECONDS,
  LONGEST_DEADLINE_SECONDS,
  OVERDUE_AFTER_SECONDS,
} from './time-limits.ts';
import type { Transaction } from './transaction.ts';
import { webhookJobs } from './webhook-job.ts';
import type { World } from './world.ts';

/** What to commit for a tap, and how it goes on from there. */
interface Plan {
  readonly attempt: NewAttempt;
  /** After the commit: gives the transaction with its outcome, or throws the refusal that was recorded. */
  readonly proceed: () => Promise<Transaction>;
  /** Instead of the commit: gives back what was taken. */
  readonly abandon: () => void;
}

/**
 * Takes one tap from the phone's request to its outcome.
 *
 * @returns the transaction as committed, its disposition known
 * @throws Forbidden, TapRefused, NoConfiguration, DuplicateReference, Overloaded, StoreUnavailable
 */
export async function submitTap(world: World, principal: Principal, request: TapRequest): Promise<Transaction> {
  const draft = draftTap(world, principal, request);
  const plan = await planAttempt(world, draft, request);
  if ((await commit(world, plan, () => world.store.insert(plan.attempt))) === 'inserted') return plan.proceed();
  plan.abandon();
  return answerRepeat(world, draft, request);
}

/** Runs the commit that stands before everything else; what was taken for it is given back when it fails. */
async function commit<T>(world: World, plan: Plan, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    plan.abandon();
    if (!(error instanceof StoreUnavailable && error.mayBeStored)) throw error;
    // COMMIT was sent and its fate is unknown. If it stands, its `overdue` job decides: nothing was written to a switch.
    const stored = await world.store.find(plan.attempt.transaction).catch(() => null);
    throw stored === undefined ? new StoreUnavailable(false, { cause: error }) : error;
  }
}

/** The same merchant has used this reference before: the stored answer, a new attempt, or a refusal. */
async function answerRepeat(world: World, draft: Draft, request: TapRequest): Promise<Transaction> {
  const { acquirerId, merchantId, merchantReference, deviceInstallationId, userClaim } = draft.transaction;
  const before = await world.store.findByReference(acquirerId, merchantId, merchantReference);
  if (!before) throw new StoreUnavailable(false);
  if (before.deviceInstallationId !== deviceInstallationId || before.userClaim !== userClaim)
    throw new Forbidden('FORBIDDEN');
  const isSameTap = before.fingerprint !== null && world.cardData.isFingerprintOf(before.fingerprint, request);
  if (isSameTap && before.status !== Status.BadRequestReceived && before.status !== Status.ErrorFindingConfig) {
    return awaitOutcome(world, before);
  }
  if (!reachedNoSwitch(before)) throw new DuplicateReference();
  const plan = await planAttempt(world, nextAttempt(draft, before), request);
  if (await commit(world, plan, () => world.store.retry(plan.attempt))) return plan.proceed();
  plan.abandon();
  throw new DuplicateReference(); // another attempt of this reference was faster
}

function reachedNoSwitch({ status, disposition }: Transaction): boolean {
  if (status === Status.BadRequestReceived || status === Status.ErrorFindingConfig) return true;
  const rests = status === Status.RespondedToPhone || status === Status.FailedToRespondToPhone;
  return rests && (disposition === Disposition.UnableToGoOnline || disposition === Disposition.DeclinedOffline);
}

async function planAttempt(world: World, draft: Draft, request: TapRequest): Promise<Plan> {
  let opened: OpenedTap;
  let tap: ReadTap;
  try {
    opened = openTap(world, request);
    tap = readTap(opened);
  } catch (error) {
    return refused(world, draft, error);
  }
  const read: Draft = {
    ...draft,
    transaction: { ...draft.transaction, ...tap.facts, panHash: world.vault.hashPan(tap.card.pan) },
  };
  if (tap.decision === 'declinedOffline') return declinedOffline(world, read);
  if (world.path.kind === 'handover') return handOver(world, world.path.handover, read, opened);
  const ready = await takeRoute(world, world.path.switches, read, tap);
  if (ready instanceof NoConfiguration) return misconfigured(world, read, ready);
  if (ready instanceof TapRefused) return refused(world, draft, ready);
  return ready ? submitted(world, read, ready) : unableToGoOnline(world, read);
}

function openTap(world: World, request: TapRequest): OpenedTap {
  try {
    return world.cardData.open(request);
  } catch (error) {
    if (error instanceof CardDataError) throw new TapRefused('/paymentCardData', error.code, 202);
    throw error;
  }
}

/** 0 BadRequestReceived: one row tells that it was tried; nothing else happens. */
function refused(world: World, draft: Draft, error: unknown): Plan {
  if (!(error instanceof TapRefused)) throw error;
  return ending(world, draft, Status.BadRequestReceived, [Status.BadRequestReceived], error);
}

function misconfigured(world: World, draft: Draft, error: NoConfiguration): Plan {
  return ending(world, draft, Status.ErrorFindingConfig, [Status.RequestReceived, Status.ErrorFindingConfig], error);
}

function ending(world: World, { transaction }: Draft, status: StatusId, path: StatusId[], error: Error): Plan {
  const attempt: NewAttempt = {
    transaction: { ...transaction, status },
    moves: moves(null, path, world.clock.nowMs()),
    enqueue: [],
    answerBySeconds: 0,
    handover: null,
  };
  return { attempt, proceed: () => Promise.reject(error), abandon: () => {} };
}

/** The card declined (AAC): it is never sent online. */
function declinedOffline(world: World, { transaction }: Draft): Plan {
  const result = { disposition: Disposition.DeclinedOffline, errorCode: ERROR_CODES.declinedOffline };
  return answeredHere(world, { ...transaction, ...result }, [Status.RequestReceived]);
}

/** No connection took the tap, so nothing of it can have left. */
function unableToGoOnline(world: World, { transaction }: Draft): Plan {
  const result = { disposition: Disposition.UnableToGoOnline, errorCode: ERROR_CODES.unableToGoOnline };
  return answeredHere(world, { ...transaction, ...result }, [
    Status.RequestReceived,
    Status.ReadyToSubmitToPaymentProcessor,
  ]);
}

function answeredHere(world: World, decided: Transaction, path: readonly StatusId[]): Plan {
  const overdueJob = world.newId();
  const transaction: Transaction = { ...decided, overdueJob, status: path.at(-1)! };
  const planned = newAttempt(world, transaction, path, LOCAL_ANSWER_SECONDS);
  const enqueue = [...planned.enqueue, ...webhookJobs(world, transaction, transaction, world.clock.nowMs())];
  return { attempt: { ...planned, enqueue }, proceed: () => Promise.resolve(transaction), abandon: () => {} };
}

/** Role `api`: a worker goes on from the sealed tap. Without one nothing can be sent, and the phone learns it at once. */
async function handOver(world: World, handover: Handover, read: Draft, opened: OpenedTap): Promise<Plan> {
  try {
    return handedOver(world, read, await handover.seal(read.transaction, opened.bytes));
  } catch (error) {
    if (error instanceof SealError && error.code === 'NO_WORKER') return unableToGoOnline(world, read);
    throw error;
  }
}

function handedOver(world: World, { transaction: read }: Draft, handover: Uint8Array): Plan {
  const transaction: Transaction = {
    ...read,
    overdueJob: world.newId(),
    status: Status.ReadyToSubmitToPaymentProcessor,
  };
  const path = [Status.RequestReceived, Status.ReadyToSubmitToPaymentProcessor];
  const planned = newAttempt(world, transaction, path, LONGEST_DEADLINE_SECONDS);
  const { acquirerId, id, attempt: number } = transaction;
  const authorizeJob = { queue: 'authorize', data: { acquirerId, id, attempt: number } } as const;
  const attempt: NewAttempt = { ...planned, handover, enqueue: [...planned.enqueue, authorizeJob] };
  const proceed = () => {
    world.wakeups.announceWork();
    return awaitOutcome(world, transaction);
  };
  return { attempt, proceed, abandon: () => {} };
}

/** Role `all`: born, chosen and submitted in one commit, and then to the switch. */
function submitted(world: World, { transaction: read }: Draft, ready: ReadySubmission): Plan {
  const overdueJob = world.newId();
  const transaction: Transaction = {
    ...read,
    ...ready.submission,
    overdueJob,
    status: Status.SubmittedToPaymentProcessor,
  };
  const path = [Status.RequestReceived, Status.ReadyToSubmitToPaymentProcessor, Status.SubmittedToPaymentProcessor];
  const attempt = newAttempt(world, transaction, path, ready.submission.deadlineSeconds ?? 0);
  return { attempt, proceed: () => authorize(world, transaction, ready), abandon: () => ready.slot.release() };
}

export function newAttempt(
  world: World,
  transaction: Transaction,
  path: readonly StatusId[],
  deadlineSeconds: number,
): NewAttempt {
  const { acquirerId, id, attempt, overdueJob } = transaction;
  const startAfterSeconds =
    deadlineSeconds + (transaction.deadlineSeconds === null ? ANSWER_SLACK_SECONDS : 0) + OVERDUE_AFTER_SECONDS;
  return {
    transaction,
    moves: moves(null, path, world.clock.nowMs()),
    enqueue: [{ queue: 'overdue', id: overdueJob!, data: { acquirerId, id, attempt }, startAfterSeconds }],
    answerBySeconds: deadlineSeconds + ANSWER_SLACK_SECONDS,
    handover: null,
  };
}
