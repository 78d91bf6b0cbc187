import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { TransactionView } from '../../schemas/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { Relay } from '../support/relay.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { jobsOf, storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';

/** Nothing here waits for it. */
const LONG_DEADLINE_MS = 60_000;

let installation: Installation;
let switchPort: number;
let port: number;
let relay: Relay | undefined;
beforeAll(async () => {
  const connectTo = async (given: number) => {
    switchPort = given;
    port = await freePort();
    return port;
  };
  installation = await startInstallation({ role: 'none', connectTo, profile: { deadlineMs: LONG_DEADLINE_MS } });
  await installation.startGateway({}, { isSwitchDown: true });
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  await relay?.close();
});

const phone = () => installation.phone('coffee', 'the same device');
const merchantReference = randomUUID();

test('a tap is UnableToGoOnline immediately, recorded, and requires no reversal if the switch is down since the start', async () => {
  const { database } = installation;
  const { ms, ...response } = await phone().tap({ amount: '10.00', currency: 'ZAR', merchantReference });
  expect(outcomeOf({ ms, ...response })).toMatchObject({
    type: 'UnableToGoOnline',
    errorCode: 210,
    isoResponseCode: '',
  });
  expect(ms).toBeLessThan(LONG_DEADLINE_MS);
  const { id } = await untilResponded(database, outcomeOf({ ms, ...response }).serviceReference);
  expect(await trailOf(database, id)).toEqual([
    'RequestReceived',
    'ReadyToSubmitToPaymentProcessor',
    'RespondedToPhone',
  ]);
  expect(await storedTransaction(database, id)).toMatchObject({ stan: null, rrn: null, reversalState: 0, attempt: 1 });
  expect(await jobsOf(database, id)).toEqual([]);
});

test('the gateway is still ready: taps receive a response', async () => {
  const { status, body } = await request(installation.url, '/readyz');
  expect(status).toBe(200);
  expect(Object.values((body as { switches: Record<string, string> }).switches)).not.toContain('ready');
});

test('the reference may be used again, as the second attempt of the same transaction', async () => {
  const response = outcomeOf(await phone().tap({ amount: '10.00', currency: 'ZAR', merchantReference }));
  expect(response.type).toBe('UnableToGoOnline');
  const { id } = await untilResponded(installation.database, response.serviceReference);
  expect(await storedTransaction(installation.database, id)).toMatchObject({ attempt: 2 });
});

test('the third attempt is approved when the switch is back, and the transaction shows all three', async () => {
  relay = await Relay.open(switchPort, port);
  const { database } = installation;
  const other = installation.phone();
  await eventually(async () => {
    expect(outcomeOf(await other.tap({ amount: '10.00', currency: 'ZAR' })).type).toBe('Approved');
  });
  const response = outcomeOf(
    await phone().tap({ amount: '12.00', currency: 'ZAR', card: 'mastercard', merchantReference }),
  );
  expect(response).toMatchObject({ type: 'Approved', amount: 1_200, cardScheme: 'Mastercard' });
  const { id } = await untilResponded(database, response.serviceReference);
  expect(await trailOf(database, id)).toEqual([
    ...['RequestReceived', 'ReadyToSubmitToPaymentProcessor', 'RespondedToPhone'],
    ...['RequestReceived', 'ReadyToSubmitToPaymentProcessor', 'RespondedToPhone'],
    ...['RequestReceived', 'ReadyToSubmitToPaymentProcessor', 'SubmittedToPaymentProcessor'],
    ...['ResponseReceivedFromPaymentProcessor', 'RespondedToPhone'],
  ]);
  const authorization = `Bearer ${await phone().token()}`;
  const { body } = await request(installation.url, `/transactions/${id}`, { headers: { authorization } });
  const { details, amount } = body as TransactionView;
  expect(amount).toBe('12.00');
  expect(details.map(({ maskedPAN }) => maskedPAN)).toEqual([
    '411111******1111',
    '411111******1111',
    '541333******0640',
  ]);
});

test('the reference is used up after the approval', async () => {
  const response = await phone().tap({ amount: '12.00', currency: 'ZAR', merchantReference });
  expect(problemOf(response)).toMatchObject({ status: 409, errorCode: 124 });
});
