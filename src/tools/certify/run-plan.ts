import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, ProblemError } from '#schemas/client';
import { Disposition, type DispositionId, dispositionName } from '../../payments/model/disposition.ts';
import { authorizationOf, type Phone } from '../phone/phone.ts';
import { type CertificationCase, type Expectation, type Expectations, originalOf } from './plan.ts';
import type { MaskedField, MaskedMessage, RecordedExchange, RecordingProxy } from './recording-proxy.ts';

/** What a plan is run with. */
export interface CertificationParts {
  /** A phone of a gateway whose only switch is behind the proxy. */
  readonly phone: Phone;
  /** May read, refund and void the sales of the phone. */
  readonly client: Client;
  readonly proxy: RecordingProxy;
  readonly deadlineMs: number;
  readonly idleEchoMs: number;
  /** What the simulated switch does automatically in a dry run; a person has the host do it otherwise. */
  readonly hostActions?: { changeKeys(): Promise<unknown>; cutOver(): Promise<unknown> } | undefined;
  /** Resolves when the person has acted; false if the time is over. */
  askPerson(step: string, limitSeconds: number, signal: AbortSignal): Promise<boolean>;
}

/** The result of one case: evidence, without card data. */
export interface CaseResult {
  readonly number: number;
  readonly title: string;
  readonly passed: boolean;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly tookMs: number;
  readonly checks: readonly FieldResult[];
  /** The exchange whose fields the case checks; undefined if none was recorded. */
  readonly exchange?: RecordedExchange | undefined;
  /** Reversals and completions that name it, in order. */
  readonly followUps: readonly RecordedExchange[];
  readonly stan?: string | undefined;
  readonly rrn?: string | undefined;
  readonly authorizationCode?: string | undefined;
  /** What the merchant's receipt shows. */
  readonly receipt?: Readonly<Record<string, string>> | undefined;
  /** The transaction in the gateway that ran the case. */
  readonly transactionId?: string | undefined;
}

/** A sale cannot be refunded until the gateway knows that its phone has the outcome. */
const AT_REST_WITHIN_MS = 10_000;
const ASK_AGAIN_MS = 100;
/** A connection that was cut is opened again with growing pauses. */
const RECONNECT_WITHIN_MS = 15_000;
/** A person announces a key or a cut-over on the host. */
const HOST_ACTS_WITHIN_MS = 60_000;

/**
 * Runs the cases in order and yields each result. Stops between cases, and during the waits of a case, if the signal
 * aborts; the interrupted case has no result then.
 *
 * @param known results of earlier cases, to which `sameAs` can refer
 */
export async function* runCases(
  cases: readonly CertificationCase[],
  parts: CertificationParts,
  known: Map<number, CaseResult>,
  signal: AbortSignal,
): AsyncGenerator<CaseResult, void, undefined> {
  for (const each of cases) {
    if (signal.aborted) return;
    const result = await runCase(each, parts, known, signal);
    if (signal.aborted) return;
    known.set(each.number, result);
    yield result;
  }
}

interface Stimulated {
  readonly outcome?: string | undefined;
  readonly exchange?: RecordedExchange | undefined;
  readonly transactionId?: string | undefined;
  readonly receipt?: Readonly<Record<string, string>>;
}

async function runCase(
  each: CertificationCase,
  parts: CertificationParts,
  known: ReadonlyMap<number, CaseResult>,
  signal: AbortSignal,
): Promise<CaseResult> {
  const { number, title, person, fault } = each;
  const { proxy } = parts;
  const startedAtMs = Date.now();
  const checks: FieldResult[] = [];
  const result = (made: Stimulated, followUps: readonly RecordedExchange[]): CaseResult => {
    const { exchange, transactionId, receipt } = made;
    const value = (path: string) =>
      (exchange?.response && fieldOf(exchange.response, path)?.value) ??
      (exchange && fieldOf(exchange.request, path)?.value);
    return {
      ...{ number, title, passed: checks.every(({ passed }) => passed) },
      ...{ startedAt: new Date(startedAtMs).toISOString(), tookMs: Date.now() - startedAtMs },
      ...{ checks, exchange, followUps, stan: value('11'), rrn: value('37'), authorizationCode: value('38') },
      ...{ receipt, transactionId },
    };
  };
  if (person !== undefined && !(await parts.askPerson(person.step, person.limitSeconds, signal))) {
    checks.push(failure('person', `${person.step}, within ${person.limitSeconds} s`, 'the time is over'));
    return result({}, []);
  }
  proxy.exchanges.length = 0;
  proxy.arm(fault);
  let made: Stimulated;
  try {
    made = await stimulate(each, parts, known, signal);
  } catch (error) {
    // A refusal of the gateway is a result of the case: its message contains no card data.
    if (!(error instanceof ProblemError || error instanceof TypeError || error instanceof CaseFailure)) throw error;
    const why = error instanceof ProblemError ? `the gateway refused: ${error.problem.message}` : error.message;
    checks.push(failure('stimulus', 'carried out', why));
    return result({}, []);
  } finally {
    proxy.arm(undefined);
  }
  const { outcome, exchange } = made;
  if (exchange === undefined) checks.push(failure('request', 'sent to the host', 'no request was sent'));
  const messageOf = (of: number, which: 'request' | 'response'): MaskedMessage | undefined =>
    (of === number ? exchange : known.get(of)?.exchange)?.[which];
  checks.push(...checkMessage('request', exchange?.request, each.request, messageOf));
  checks.push(...checkMessage('response', exchange?.response, each.response, messageOf));
  if (each.outcome !== undefined)
    checks.push({
      field: 'outcome',
      expected: each.outcome,
      actual: outcome ?? 'none',
      passed: outcome === each.outcome,
    });
  const followUps: RecordedExchange[] = [];
  for (const { kind, withinSeconds, request, response } of each.followUps) {
    const found = await proxy.until(
      (other) => isFollowUp(other, kind, exchange) && !followUps.includes(other),
      withinSeconds * 1_000,
      signal,
    );
    const expected = `sent within ${withinSeconds} s, for this request`;
    checks.push({ field: kind, expected, actual: found ? 'sent' : 'not sent', passed: found !== undefined });
    if (found === undefined) continue;
    if (Object.keys(response).length > 0)
      await proxy.until((other) => other === found && other.response !== undefined, parts.deadlineMs, signal);
    followUps.push(found);
    checks.push(...checkMessage(`${kind} request`, found.request, request, messageOf));
    checks.push(...checkMessage(`${kind} response`, found.response, response, messageOf));
  }
  const unexpected = proxy.exchanges.filter(
    (other) => isFollowUp(other, 'reversal', exchange) && !followUps.includes(other),
  );
  return result(made, [...followUps, ...unexpected]);
}

function isFollowUp({ from, kind, originalKey }: RecordedExchange, wanted: string, to: RecordedExchange | undefined) {
  return from === 'gateway' && kind === wanted && to !== undefined && originalKey === to.key;
}

function failure(field: string, expected: string, actual: string): FieldResult {
  return { field, expected, actual, passed: false };
}

/** Why a case cannot be carried out. */
class CaseFailure extends Error {}

async function stimulate(
  each: CertificationCase,
  parts: CertificationParts,
  known: ReadonlyMap<number, CaseResult>,
  signal: AbortSignal,
): Promise<Stimulated> {
  const { do: stimulus } = each;
  if ('tap' in stimulus) return tap(stimulus.tap, parts);
  if ('network' in stimulus) return network(stimulus.network, parts, signal);
  const sale = known.get(originalOf(each)!);
  const id = sale?.transactionId;
  if (id === undefined) throw new CaseFailure(`case ${originalOf(each)} made no sale`);
  const { client, proxy, deadlineMs } = parts;
  if ('refund' in stimulus) {
    const body = { amount: stimulus.refund.amount, refundReference: randomUUID() };
    const refund = await atRest(() => client.refundSale({ params: { id }, body }), signal);
    const exchange = proxy.exchanges.findLast(({ from, kind }) => from === 'gateway' && kind === 'refund');
    return { outcome: refund.type, exchange, transactionId: refund.serviceReference, receipt: receiptOf(refund) };
  }
  await atRest(() => client.voidSale({ params: { id } }), signal);
  const exchange = await proxy.until(
    (other) => isFollowUp(other, 'reversal', sale?.exchange) && other.response !== undefined,
    deadlineMs,
    signal,
  );
  // The reversal decides; the gateway stores its result a moment later.
  const endsAtMs = Date.now() + AT_REST_WITHIN_MS;
  for (;;) {
    const { transactionDispositionId: disposition } = await client.getTransaction({ params: { id } });
    if (disposition === Disposition.Voided || Date.now() > endsAtMs || signal.aborted) {
      const outcome = disposition === null ? undefined : dispositionName(disposition as DispositionId);
      return { outcome, exchange, transactionId: id };
    }
    await delay(ASK_AGAIN_MS);
  }
}

async function tap(
  wanted: Extract<CertificationCase['do'], { tap: unknown }>['tap'],
  { phone, proxy }: CertificationParts,
): Promise<Stimulated> {
  const response = await phone.tap(wanted);
  const exchange = proxy.exchanges.findLast(({ from, kind }) => from === 'gateway' && kind === 'authorization');
  const authorization = authorizationOf(response);
  if (authorization === undefined) throw new CaseFailure(`the gateway refused the tap with status ${response.status}`);
  const { type, isSingleTapAndPin, pinToken, serviceReference } = authorization;
  const outcome = isSingleTapAndPin && pinToken !== undefined ? 'PinRequired' : type;
  return { outcome, exchange, transactionId: serviceReference, receipt: receiptOf(authorization) };
}

async function network(
  kind: 'signOn' | 'echo' | 'keyChange' | 'cutOver',
  { proxy, hostActions, deadlineMs, idleEchoMs }: CertificationParts,
  signal: AbortSignal,
): Promise<Stimulated> {
  if (kind === 'signOn') proxy.cut();
  if (kind === 'keyChange') void hostActions?.changeKeys();
  if (kind === 'cutOver') void hostActions?.cutOver();
  const waits = {
    signOn: RECONNECT_WITHIN_MS,
    echo: idleEchoMs,
    keyChange: HOST_ACTS_WITHIN_MS,
    cutOver: HOST_ACTS_WITHIN_MS,
  };
  const isResponded = (exchange: RecordedExchange) => exchange.kind === kind && exchange.response !== undefined;
  return { exchange: await proxy.until(isResponded, waits[kind] + deadlineMs, signal) };
}

/** Asks again while the sale is not yet at rest. */
async function atRest<Value>(ask: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  const endsAtMs = Date.now() + AT_REST_WITHIN_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isEarly = error instanceof ProblemError && error.status === 409 && Date.now() < endsAtMs;
      if (!isEarly || signal.aborted) throw error;
      await delay(ASK_AGAIN_MS);
    }
  }
}

const ON_RECEIPT = ['type', 'amount', 'currency', 'maskedPAN', 'cardScheme', 'authorizationCode', 'isoResponseCode'];

function receiptOf(response: object): Record<string, string> {
  const values = Object.entries(response).filter(([name]) => ON_RECEIPT.includes(name));
  return Object.fromEntries(values.map(([name, value]) => [name, String(value)]));
}

/** An expectation with what arrived. */
interface FieldResult {
  /** `request 4`, `reversal response 39`, `outcome`. */
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
  readonly passed: boolean;
}

const NOTHING = 'absent';

/**
 * Compares a message with what a plan expects of it. A value that may not be shown can only be present or absent.
 *
 * @param of the message that `sameAs` names; undefined if its case has none
 */
function checkMessage(
  label: string,
  message: MaskedMessage | undefined,
  expected: Expectations,
  of: (number: number, message: 'request' | 'response') => MaskedMessage | undefined,
): FieldResult[] {
  return Object.entries(expected).map(([path, expectation]) => {
    const field = `${label} ${path}`;
    if (message === undefined)
      return { field, expected: textOf(expectation), actual: 'no message arrived', passed: false };
    const found = fieldOf(message, path);
    if (typeof expectation === 'object' && 'sameAs' in expectation) {
      const { case: number, message: which, field: otherPath } = expectation.sameAs;
      const original = of(number, which);
      const wanted = original && fieldOf(original, otherPath);
      const expected = `${textOf(expectation)}: ${wanted?.value ?? NOTHING}`;
      const isComparable = !(wanted?.withheld || found?.withheld);
      const passed = isComparable && wanted !== undefined && found?.value === wanted.value;
      return { field, expected, actual: shown(found, isComparable), passed };
    }
    return { field, expected: textOf(expectation), ...verdict(found, expectation) };
  });
}

function verdict(
  found: MaskedField | undefined,
  expectation: Exclude<Expectation, { sameAs: unknown }>,
): Pick<FieldResult, 'actual' | 'passed'> {
  if (typeof expectation === 'object' && 'present' in expectation)
    return { actual: shown(found), passed: found !== undefined };
  if (typeof expectation === 'object' && 'absent' in expectation)
    return { actual: shown(found), passed: found === undefined };
  if (found?.withheld) return { actual: shown(found, false), passed: false };
  const value = found?.value;
  const isRight =
    typeof expectation === 'string' ? value === expectation : new RegExp(expectation.pattern, 'v').test(value ?? '');
  return { actual: shown(found), passed: value !== undefined && isRight };
}

/** The field with this path or name. */
function fieldOf({ fields }: MaskedMessage, path: string): MaskedField | undefined {
  return fields.find((each) => each.path === path) ?? fields.find(({ name }) => name === path);
}

function shown(found: MaskedField | undefined, isComparable = true): string {
  if (found === undefined) return NOTHING;
  return isComparable ? found.value : `${found.value}: expect only that it is present or absent`;
}

function textOf(expectation: Expectation): string {
  if (typeof expectation === 'string') return expectation;
  if ('pattern' in expectation) return `/${expectation.pattern}/`;
  if ('present' in expectation) return 'present';
  if ('absent' in expectation) return NOTHING;
  const { case: number, message, field } = expectation.sameAs;
  return `as ${message} ${field} of case ${number}`;
}
