import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type StartedGateway, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { askedFor, enterPin, RIGHT_PIN, sealPin, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { jobsOf, storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';

const PIN_BLOCK = 0xdf8a11;
const KSN = 0xdf8a12;

let installation: Installation;
let worker: StartedGateway;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  worker = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
  // An api process looks for workers every two seconds.
  await eventually(async () => {
    const response = await installation.phone('bakery').tap({ amount: '10.00', currency: 'ZAR' });
    expect(outcomeOf(response).type).toBe('Approved');
  });
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

test('a PIN passes from the api process to the worker, sealed like the tap, and is approved', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  expect(asked.response).toMatchObject({ type: 'Declined', errorCode: 65, isoResponseCode: '70' });
  expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
  await untilResponded(database, asked.id);
  expect(await trailOf(database, asked.id)).toEqual([
    'RequestReceived',
    'ReadyToSubmitToPaymentProcessor',
    'SubmittedToPaymentProcessor',
    'ResponseReceivedFromPaymentProcessor',
    'PIN awaiting',
    'RespondedToPhone',
    'RequestReceived',
    'ReadyToSubmitToPaymentProcessor',
    'PIN submitted',
    'SubmittedToPaymentProcessor',
    'ResponseReceivedFromPaymentProcessor',
    'PIN done',
    'RespondedToPhone',
  ]);
  await eventually(async () => expect(await jobsOf(database, asked.id)).toEqual([]));
  const { rows } = await database.query('select from transactions where handover is not null');
  expect(rows).toEqual([]);
});

test('a PIN block beside the blobs passes from the api process to the worker as well, and is approved', async () => {
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  const { values } = phone.enterPin(asked.reading, RIGHT_PIN);
  const withoutPin = await phone.sealReading(asked.reading);
  const [pinBlock, ksn] = [toHex(values.get(PIN_BLOCK)!), toHex(values.get(KSN)!)];
  const pin = { ...withoutPin, transactionId: asked.id, pinToken: asked.pinToken, pinBlock, ksn };
  const approved = outcomeOf(await phone.submitPin(pin));
  expect(approved.type).toBe('Approved');
  expect(outcomeOf(await phone.submitPin(pin))).toEqual(approved);
});

test('a wrong PIN leads to another request for one, and a block that the worker cannot open counts as an attempt, too', async () => {
  const phone = installation.phone();
  const asked = await tapForPin(phone, { card: 'mastercard' });
  const wrong = askedFor(asked.reading, await enterPin(phone, asked, WRONG_PIN));
  expect(wrong.response).toMatchObject({ errorCode: 211, isoResponseCode: '55' });
  const withoutPin = await phone.sealReading(asked.reading);
  const [pinBlock, ksn] = ['0123456789ABCDEF', 'FFFF5441500000000001'];
  const unusable = { ...withoutPin, transactionId: asked.id, pinToken: wrong.pinToken, pinBlock, ksn };
  const again = askedFor(asked.reading, await phone.submitPin(unusable));
  expect(again.response).toMatchObject({ errorCode: 211, isoResponseCode: '' });
  expect(outcomeOf(await enterPin(phone, again)).type).toBe('Approved');
});

test('fifty simultaneous PIN requests make one authorization', async () => {
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  const pins = await Promise.all(Array.from({ length: 50 }, () => sealPin(phone, asked)));
  const { authorizations } = installation.asked;
  const responses = await Promise.all(pins.map((pin) => phone.submitPin(pin)));
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
  for (const response of responses.filter(({ status }) => status !== 200)) expect(problemOf(response).status).toBe(409);
  expect(installation.asked.authorizations).toBe(authorizations + 1);
});

test('the step ends if no switch can be reached for the PIN: UnableToGoOnline, and the reference remains used', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  await installation.startOutage(worker.url);
  const response = outcomeOf(await enterPin(phone, asked));
  expect(response).toMatchObject({ type: 'UnableToGoOnline', errorCode: 210, isSingleTapAndPin: false });
  await untilResponded(database, asked.id);
  expect(await storedTransaction(database, asked.id)).toMatchObject({ disposition: Disposition.UnableToGoOnline });
  const { merchantReference } = asked.reading;
  const responseToAnotherTap = await phone.tap({ amount: '10.00', currency: 'ZAR', merchantReference });
  expect(problemOf(responseToAnotherTap)).toMatchObject({ status: 409, errorCode: 124 });
});
