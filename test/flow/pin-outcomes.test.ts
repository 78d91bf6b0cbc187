import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { askedFor, enterPin, RIGHT_PIN, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { refundSale, voidSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { jobsOf, storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';

const SUBMITTED = ['RequestReceived', 'ReadyToSubmitToPaymentProcessor', 'SubmittedToPaymentProcessor'];
const RESPONDED = ['ResponseReceivedFromPaymentProcessor'];
const WRONG = { type: 'Declined', errorCode: 211, isoResponseCode: '55' };

/** How each scheme requests a PIN: the simulated issuer counts wrong PINs per card, so every test has its own card. */
describe.each(['type-1', 'type-2'] as const)('at a switch of %s', (type) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ type });
  });
  afterEach(() => expectInvariants(installation));
  afterAll(() => installation.stop());

  test('a tap whose issuer requires a PIN is Declined with a pinToken, waits with a job, and its outcome is open', async () => {
    const { database } = installation;
    const { id, response } = await tapForPin(installation.phone());
    expect(response).toMatchObject({
      type: 'Declined',
      errorCode: 65,
      isoResponseCode: '70',
      isSingleTapAndPin: true,
      authorizationCode: '',
    });
    expect(await untilResponded(database, id)).toMatchObject({ disposition: null, attempt: 1 });
    const [job, ...others] = await jobsOf(database, id);
    expect(job?.queue).toBe('expire-pin');
    expect(others).toEqual([]);
    expect(await trailOf(database, id)).toEqual([...SUBMITTED, ...RESPONDED, 'PIN awaiting', 'RespondedToPhone']);
    expect(installation.ledger).toEqual([]);
  });

  test.each([
    ['visa', '70'],
    ['mastercard', '65'],
    ['maestro', '65'],
    ['amex', '1A'],
  ] as const)('the right PIN of a %s card is approved, in a new message of the same transaction', async (card, code) => {
    const { database } = installation;
    const phone = installation.phone();
    const asked = await tapForPin(phone, { card, amount: '12.65' });
    expect(asked.response).toMatchObject({ errorCode: 65, isoResponseCode: code });
    const first = await storedTransaction(database, asked.id);

    const approved = outcomeOf(await enterPin(phone, asked));
    expect(approved).toMatchObject({
      serviceReference: asked.id,
      type: 'Approved',
      isoResponseCode: '00',
      isSingleTapAndPin: false,
      amount: 1_265,
    });
    expect(approved).not.toHaveProperty('pinToken');
    expect(approved).not.toHaveProperty('errorCode');
    const second = await untilResponded(database, asked.id);
    expect(second).toMatchObject({ attempt: 2, disposition: Disposition.Approved });
    expect(second.stan).not.toBe(first.stan);
    expect(installation.ledger.filter(({ rrn }) => rrn === second.rrn)).toMatchObject([
      { state: 'approved', approvedMinor: 1_265 },
    ]);
    expect((await trailOf(database, asked.id)).slice(6)).toEqual([
      ...SUBMITTED.slice(0, 0),
      'RequestReceived',
      'ReadyToSubmitToPaymentProcessor',
      'SubmittedToPaymentProcessor',
      'PIN submitted',
      ...RESPONDED,
      'PIN done',
      'RespondedToPhone',
    ]);
    await eventually(async () => expect(await jobsOf(database, asked.id)).toEqual([]));
  });

  test('a transaction with a PIN shows both attempts in its details', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    await enterPin(phone, asked);
    const { body } = await request(installation.url, `/transactions/${asked.id}`, {
      headers: { 'x-api-key': await installation.apiKey() },
    });
    expect(body).toMatchObject({ transactionDispositionId: Disposition.Approved, responseCode: 0 });
    expect((body as { details: object[] }).details).toHaveLength(2);
  });

  test('a sale approved with a PIN can be refunded in part', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
    const refunded = await refundSale(installation, asked.id, { amount: '10.00', refundReference: randomUUID() });
    expect(refunded).toMatchObject({ status: 200, body: { type: 'Approved' } });
  });

  test('a sale approved with a PIN can be voided', async () => {
    const { database } = installation;
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
    expect((await voidSale(installation, asked.id)).status).toBe(202);
    await eventually(async () => {
      expect(await storedTransaction(database, asked.id)).toMatchObject({ disposition: Disposition.Voided });
    });
  });

  test('a wrong PIN leads to another request with another token, and then the right one is approved', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const again = askedFor(asked.reading, await enterPin(phone, asked, WRONG_PIN));
    expect(again.response).toMatchObject({ ...WRONG, isSingleTapAndPin: true, serviceReference: asked.id });
    expect(again.pinToken).not.toBe(asked.pinToken);
    expect(outcomeOf(await enterPin(phone, again, RIGHT_PIN)).type).toBe('Approved');
    expect(await storedTransaction(installation.database, asked.id)).toMatchObject({ attempt: 3 });
  });

  test('an issuer that accepts no further PINs (75) ends it', async () => {
    const { database } = installation;
    const phone = installation.phone();
    let asked = await tapForPin(phone, { card: 'mastercard' });
    for (const _try of [1, 2]) asked = askedFor(asked.reading, await enterPin(phone, asked, WRONG_PIN));
    const last = outcomeOf(await enterPin(phone, asked, WRONG_PIN));
    expect(last).toMatchObject({ type: 'Declined', errorCode: 209, isoResponseCode: '75', isSingleTapAndPin: false });
    expect(last).not.toHaveProperty('pinToken');
    expect(await untilResponded(database, asked.id)).toMatchObject({ attempt: 4, disposition: Disposition.Declined });
    expect((await trailOf(database, asked.id)).slice(-2)).toEqual(['PIN exhausted', 'RespondedToPhone']);
    await eventually(async () => expect(await jobsOf(database, asked.id)).toEqual([]));
  });

  test('a PIN that is not awaited, because the tap had no response, is 409', async () => {
    const phone = installation.phone();
    const reading = phone.read({ amount: '10.69', currency: 'ZAR' });
    const { serviceReference: id } = outcomeOf(await phone.submit(await phone.sealReading(reading)));
    const { pinToken } = await tapForPin(phone);
    expect(problemOf(await enterPin(phone, { id, pinToken, reading }))).toMatchObject({ status: 409, errorCode: 104 });
  });

  test('the third wrong PIN ends it, regardless of the issuer', async () => {
    const phone = installation.phone();
    // 55 for every PIN.
    let asked = await tapForPin(phone, { card: 'maestro', amount: '10.55' });
    expect(asked.response).toMatchObject({ errorCode: 65, isoResponseCode: '55' });
    for (const _try of [1, 2]) {
      asked = askedFor(asked.reading, await enterPin(phone, asked));
      expect(asked.response).toMatchObject(WRONG);
    }
    const last = outcomeOf(await enterPin(phone, asked));
    expect(last).toMatchObject({ ...WRONG, isSingleTapAndPin: false });
    expect(last).not.toHaveProperty('pinToken');
    const { disposition } = await untilResponded(installation.database, asked.id);
    expect(disposition).toBe(Disposition.Declined);
  });
});
