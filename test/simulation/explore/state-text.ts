import { hash } from 'node:crypto';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { hasResponse } from '../../../src/payments/model/pin.ts';
import { ReversalState, type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Job, Row, SentRow } from '../memory-rows.ts';
import { mayArrive } from '../switch/sent-request.ts';
import type { Execution } from './execution.ts';
import type { ExploredProcess } from './explored-process.ts';
import { EXPLORED_PROFILE } from './explored-profile.ts';
import { Labels } from './labels.ts';
import { seenStatements } from './statements-seen.ts';
import { transactionText } from './transaction-text.ts';
import type { UnmatchedInTransit } from './unmatched.ts';
import { wholeText } from './whole-text.ts';

/** That a fault has happened: then there may be no more of them. */
const A_FAULT = 'a fault';

/** A state with its name: two with the same name continue alike after any event, and are judged alike but for excuses. */
export interface NamedState {
  readonly name: Buffer;
  /** What excuses violations of rules: with fewer excuses, a state violates every rule that it violates with more. */
  readonly excuses: readonly string[];
}

/** The reduction does not know the rules of an honest switch: then only equal states are alike. */
export function nameState(execution: Execution): NamedState {
  if (execution.honest) return nameExactly(execution);
  return named(describeState(execution));
}

/** Names an execution such that only one that is equal in every respect has the same name. */
export function nameExactly(execution: Execution): NamedState {
  return named({ text: wholeText(execution), excuses: [] });
}

/** Names a state from which nothing but time and responses to what waits will happen. */
export function nameCalmState(execution: Execution): NamedState {
  if (execution.honest) return nameExactly(execution);
  return named(describeState(execution, true));
}

function named({ text, excuses }: DescribedState): NamedState {
  return { name: hash('md5', text, 'buffer'), excuses };
}

interface DescribedState {
  readonly text: string;
  readonly excuses: readonly string[];
}

function describeState(execution: Execution, isCalm = false): DescribedState {
  const { store, ledger, reported, events, alarms, tasks, parked, processes } = execution;
  const labels = new Labels(execution, isCalm && execution.isStill && execution.nextMs() === undefined);
  const rows = [...store.rows.values()].map((row) => rowText(row, labels));
  const requests = requestTexts(execution, labels, isCalm);
  const seen = seenStatements(execution, labels);
  const parts = [
    ...rows,
    ...[...store.jobs.values()].map((job) => jobText(job, labels)).sort(),
    ...[...ledger.bookings.values()].map(({ key, state }) => `${labels.ofKey(key)} ${state}`).sort(),
    ...requests,
    ...seen.texts,
    ...[...tasks].map((task) => `${task.process.name} ${task.text(labels)}`).sort(),
    ...parked.map(({ task, what, sinceMs }) => `${task.name} ${what} ${labels.age(sinceMs)}`),
    `a PIN is wanted: ${reported.some(({ disposition }) => disposition === null)}`,
    ...events.map((event) => `${event.transactionId} ${event.type} ${event.disposition} ${event.sequence}`).sort(),
    ...(isCalm ? [] : [...execution.clientsDone].sort()),
    ...execution.unmatchedResponses.map((unmatched) => unmatchedText(unmatched, labels)).sort(),
    ...(labels.isAtRest ? [] : processes.flatMap(originalsOf)),
    String(execution.isKeyLost),
  ];
  // A fault excuses an alarm that is missing, because the process that raises it may be the one that failed.
  const alarmed = execution.hadFaults ? [...store.rows.keys(), A_FAULT] : [...alarms];
  return { text: parts.join('\n'), excuses: [...seen.excuses, ...alarmed, ...unreported(execution)] };
}

function originalsOf({ name, connectionId, originals }: ExploredProcess): string[] {
  return [...originals.all].map(([id, carrier]) => `${name} ${id} ${carrier === connectionId}`);
}

/** A response that a client did not get cannot be wrong. */
function unreported({ store, reported }: Execution): string[] {
  return [...store.rows.values()].flatMap(({ transaction: { id, attempt, type } }) => {
    if (type === TransactionType.Void) return [];
    const responses = reported.filter((response) => response.transactionId === id && response.attempt === attempt);
    const isApproved = responses.some(({ disposition }) => disposition === 'Approved');
    const isOther = responses.some(({ disposition }) => disposition !== 'Approved' && disposition !== null);
    return [
      ...(isApproved ? [] : [`${id} ${attempt} is not said to be approved`]),
      ...(isOther ? [] : [`${id} ${attempt} is not said to be otherwise`]),
    ];
  });
}

const { overtakingGuardSeconds } = EXPLORED_PROFILE.reversal;
const CONFIRMED_AFTER_MS = 60_000;

function rowText(row: Row, labels: Labels): string {
  const { transaction, superseded, respondByMs, deadlineAtMs, late, reversals, usesReview } = row;
  const requests = [transaction, ...superseded];
  if (labels.isAtRest) return [...requests.map((each) => transactionText(each, labels)), usesReview].join(' ');
  const isOpen = !hasResponse(transaction);
  const isGuarded = isOpen || requests.some(({ responseCode }) => responseCode === null);
  return [
    ...requests.map((each) => transactionText(each, labels)),
    usesReview ? 'uses a review' : '',
    isOpen ? labels.left(respondByMs) : '',
    isGuarded && deadlineAtMs !== null ? labels.until(deadlineAtMs, overtakingGuardSeconds * 1_000) : '',
    ...requests.flatMap((each) => lateTexts(each, late)),
    ...requests.flatMap((each) => attemptTexts(each, reversals, labels)),
  ].join(' ');
}

/** Late declines matter only as a response, if there was no other. */
function lateTexts({ attempt, responseCode }: Transaction, late: Row['late']): string[] {
  const texts = late.flatMap(({ attempt: of, facts: { kind, responseCode: code, authorizationCode } }) => {
    if (of !== attempt) return [];
    if (kind !== 'declined') return [`${attempt} ${kind} ${code} ${authorizationCode}`];
    return responseCode === null ? [`${attempt} declined`] : [];
  });
  return [...new Set(texts)].sort();
}

/** Attempts of a reversal, as far as reversal-responses.ts may still look at them. */
function attemptTexts(request: Transaction, reversals: Row['reversals'], labels: Labels): string[] {
  const { attempt, reversalState, voidState, disposition } = request;
  const attempts = reversals.filter((each) => each.attempt === attempt);
  const isOfVoid = voidState !== null || disposition === Disposition.Approved;
  const leftOf = ({ response, deadlineAtMs }: SentRow) => (response === null ? labels.left(deadlineAtMs) : '');
  const texts = attempts.map((each) => {
    const { number, response, counts, confirms, couldOvertake } = each;
    const left = leftOf(each);
    if (isOfVoid) return [attempt, number, response, counts, confirms, couldOvertake, left].join();
    // Only a void weighs refusals, and looks at attempts from before a late approval.
    if (!counts || reversalState === ReversalState.acknowledged) return `${attempt} ${left === '0' ? '' : left}`;
    const weighs = response === 'refused' || left === '0' ? 'nothing' : response;
    return [attempt, number, weighs, confirms, couldOvertake, left === '0' ? '' : left].join();
  });
  if (reversalState !== ReversalState.confirming) return texts;
  const doubted = attempts.filter(({ counts, confirms }) => counts && !confirms);
  return [...texts, labels.age(Math.max(...doubted.map(({ respondedAtMs = 0 }) => respondedAtMs)), CONFIRMED_AFTER_MS)];
}

function jobText({ request: { queue, data }, startAtMs, heldUntilMs }: Job, labels: Labels): string {
  return `${queue} ${JSON.stringify(data)} ${labels.left(Math.max(startAtMs, heldUntilMs))}`;
}

function requestTexts(execution: Execution, labels: Labels, isCalm: boolean): string[] {
  const { requests, waiting, time } = execution;
  const underWay: string[] = [];
  const others: string[] = [];
  for (const request of requests) {
    const waits = waiting.get(request.number);
    if (isCalm && !waits) continue;
    const text = [labels.request(request), waits ? labels.left(waits.deadlineAtMs) : ''];
    if (waits && request.kind === 'reversal') text.push(String(request.isTaken));
    if (waits) text.push(labels.connection(request));
    if (!isCalm && mayArrive(request, requests, time.nowMs))
      underWay.push(`${labels.connection(request)} ${text.join(' ')} ${labels.age(request.writtenAtMs)}`);
    else others.push(text.join(' '));
  }
  return [...underWay, '', ...others.sort()];
}

function unmatchedText({ process, name, atMs, lookUps }: UnmatchedInTransit, labels: Labels): string {
  return [process, labels.response(name), labels.left(atMs), lookUps].join(' ');
}
