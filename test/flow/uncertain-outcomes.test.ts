import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { DEADLINE_MS, type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { jobsOf, letDoubtPass, storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const INDETERMINATE = { type: 'Indeterminate', errorCode: 203, isoResponseCode: '', authorizationCode: '' };
const SUBMITTED = ['RequestReceived', 'ReadyToSubmitToPaymentProcessor', 'SubmittedToPaymentProcessor'];

/** The entry of one transaction in the switch's ledger. */
async function bookedFor(id: string) {
  const { rrn } = await storedTransaction(installation.database, id); // one terminal has them all
  return installation.ledger.find((entry) => entry.rrn === rrn);
}

function untilVoided(id: string) {
  return eventually(async () => {
    const stored = await storedTransaction(installation.database, id);
    expect(stored).toMatchObject({ disposition: Disposition.Voided, reversalState: ReversalState.acknowledged });
    return stored;
  });
}

describe.concurrent('an approval that the gateway cannot accept is reversed once, and Voided when the switch acknowledges', () => {
  test.each([
    ['the switch stays silent', '10.69', 'NoResponseFromPaymentProcessor'],
    ['the response is garbage', '10.97', 'NoResponseFromPaymentProcessor'],
    ['the response has another STAN', '10.87', 'NoResponseFromPaymentProcessor'],
    ['the response has another amount', '10.88', 'BadResponseFromPaymentProcessor'],
    ['the response has a MAC that is wrong', '10.86', 'BadResponseFromPaymentProcessor'],
    ['a part is approved and that was not allowed', '10.85', 'BadResponseFromPaymentProcessor'],
  ])('%s', async (_what, amount, status) => {
    const { database } = installation;
    const response = outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));
    expect(response).toMatchObject(INDETERMINATE);
    const { id } = await untilVoided(response.serviceReference);
    await untilResponded(database, id);
    expect(await bookedFor(id)).toMatchObject({ state: 'reversed', reversals: 1 });
    const trail = await trailOf(database, id);
    expect(trail.filter((move) => !move.startsWith('reversal'))).toEqual([...SUBMITTED, status, 'RespondedToPhone']);
    expect(trail.filter((move) => move.startsWith('reversal'))).toEqual(['reversal sent 1', 'reversal acknowledged 1']);
    await eventually(async () => expect(await jobsOf(database, id)).toEqual([]));
    await expectJourney(id);
  });
});

/** A person finds the entries of an uncertain tap in the log with each of its identifiers. */
async function expectJourney(id: string): Promise<void> {
  const { stan, rrn } = await storedTransaction(installation.database, id);
  const correlationId = expect.stringMatching(/^[0-9a-f]{8}-/);
  const lines = installation.logLines.filter((line) => line.id === id);
  expect(lines.map(({ msg, reversal }) => [msg, reversal])).toEqual([
    ['outcome is uncertain, a reversal is required', undefined],
    ['reversal advanced', 'sent'],
    ['reversal advanced', 'acknowledged'],
  ]);
  for (const line of lines) expect(line).toMatchObject({ acquirerId: 1, correlationId, stan, rrn, tid: 'TW101001' });
}

test('the API says of an attempt that is stored before it is sent: sending', async () => {
  const { serviceReference: id } = outcomeOf(await installation.phone().tap({ amount: '10.97', currency: 'ZAR' }));
  await untilVoided(id);
  const headers = { 'x-api-key': await installation.apiKey() };
  const { body } = await request(installation.url, `/transactions/${id}/events`, { headers });
  const steps = (body as { reversal?: string }[]).flatMap(({ reversal }) => reversal ?? []);
  expect(steps).toEqual(['sending', 'acknowledged']);
});

test('an approval after the deadline is reported, and reversed again if a reversal was sent before it', async () => {
  const { database } = installation;
  const response = outcomeOf(await installation.phone().tap({ amount: '10.68', currency: 'ZAR' }));
  expect(response).toMatchObject(INDETERMINATE);
  const id = response.serviceReference;
  await eventually(async () => expect(await trailOf(database, id)).toContain('late approved'));
  await untilVoided(id);
  const trail = await trailOf(database, id);
  const hadLeft = trail.slice(0, trail.indexOf('late approved')).includes('reversal sent 1');
  expect(await bookedFor(id)).toMatchObject({ state: 'reversed', reversals: hadLeft ? 2 : 1 });
});

describe.concurrent('a code of unknown meaning is Indeterminate and reversed', () => {
  test.each([
    ['09, request in progress', '10.09', '09'],
    ['32, completed partially', '10.32', '32'],
    ['10 without a smaller amount', '5.10', '10'],
    ['one that is in no table', '10.77', '77'],
    ['70, which only Visa has, for a Mastercard', '10.70', '70', 'mastercard'],
  ] as const)('%s', async (_what, amount, responseCode, card: 'mastercard' | undefined = undefined) => {
    const { database } = installation;
    const response = outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR', card }));
    expect(response).toMatchObject(INDETERMINATE);
    const id = response.serviceReference;
    // The switch had approved nothing: it cannot locate the original, and responds so. The gateway asks once more to be
    // certain.
    await letDoubtPass(database, id);
    await untilVoided(id);
    expect(await bookedFor(id)).toBeUndefined();
    expect(await storedTransaction(database, id)).toMatchObject({ responseCode, reversalAttempt: 2 });
    expect(await trailOf(database, id)).toContain('BadResponseFromPaymentProcessor');
  });
});

test('the phone gets Indeterminate, and not before the deadline', async () => {
  const { ms, ...response } = await installation.phone().tap({ amount: '10.69', currency: 'ZAR' });
  expect(ms).toBeGreaterThanOrEqual(DEADLINE_MS - 1);
  expect(outcomeOf({ ms, ...response }).type).toBe('Indeterminate');
});

test('a response that arrives twice counts once', async () => {
  const response = outcomeOf(await installation.phone().tap({ amount: '10.99', currency: 'ZAR' }));
  expect(response).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
  const { id } = await untilResponded(installation.database, response.serviceReference);
  expect(await trailOf(installation.database, id)).toEqual([
    ...SUBMITTED,
    'ResponseReceivedFromPaymentProcessor',
    'RespondedToPhone',
  ]);
  expect(await bookedFor(id)).toMatchObject({ state: 'approved', reversals: 0 });
});
