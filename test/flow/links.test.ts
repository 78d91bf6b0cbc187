import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TAP_REFUSALS } from '../../src/basics/errors.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import {
  AppPhone,
  acknowledgeTap,
  ask,
  createLink,
  creationOf,
  type HandedLink,
  letExpire,
  minutesToExpiry,
  offeredReference,
  statusOf,
  untilReported,
} from '../support/links.ts';
import { RIGHT_PIN } from '../support/pins.ts';
import { refundSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { letDoubtPass, untilResponded } from '../support/transactions.ts';
import { Backend } from '../webhooks/backend.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let installation: Installation;
let links: Receiver;
let taps: Receiver;
beforeAll(async () => {
  installation = await startInstallation();
  [links, taps] = await Promise.all([startReceiver(), startReceiver()]);
  const backend = await Backend.open(installation);
  await backend.listenAt(links.url);
  // The operator's endpoint for links exists beside the integrator's endpoint for taps.
  await installation.database.query(`update webhook_endpoints set serves = 'links'`);
  await backend.listenAt(taps.url);
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  await Promise.all([links.close(), taps.close()]);
});

const declineOffline = (values: Map<number, Uint8Array>) => void values.set(0x9f27, Uint8Array.of(0));
const create = (changes?: Record<string, unknown>, path?: string) => createLink(installation, changes, path);
const app = (link: HandedLink, device?: string) => new AppPhone(installation, link, device);
const status = (link: HandedLink, path?: string) => statusOf(installation, link.id, path);
const creation = (paymentReference: string) => creationOf(installation, paymentReference);
const offered = (link: HandedLink) => offeredReference(installation, link);
const details = (link: HandedLink) => ask(installation, link, `/consumer/qrCodeDetails/${link.id}`);
const acknowledge = (link: HandedLink, state: string | number, transactionId?: string) =>
  ask(installation, link, '/consumer/acknowledge', { qrCodeId: link.id, status: state, transactionId });

describe('a link', () => {
  test('runs from its creation to the response on the phone, and reports each step to its creator', async () => {
    const link = await create();
    const born = await status(link);
    expect(born).toEqual({
      qrCodeState: 'QRCodeGenerated',
      transactionId: null,
      merchantTransactionReference: link.paymentReference,
      userId: '',
      status: null,
      disposition: null,
      amount: '10.00',
      amountMinor: 1_000,
      currency: 'ZAR',
      type: 'Tap',
      responseCode: null,
      authorisationCode: null,
      createdAt: expect.stringMatching(TIME),
      updatedAt: expect.stringMatching(TIME),
      paymentReference: link.paymentReference,
      expired: false,
      expiresAt: expect.stringMatching(TIME),
    });
    expect(await details(link)).toMatchObject({
      status: 200,
      body: {
        merchantName: 'Corner Coffee',
        amount: '10.00',
        currency: 'ZAR',
        merchantReference: link.paymentReference,
        type: 'Tap',
        isConsumerApp: true,
        expiresAt: born.expiresAt,
      },
    });
    expect(await status(link)).toMatchObject({ qrCodeState: 'QRCodeScanned' });
    expect(await acknowledge(link, 'TransactionStarted')).toMatchObject({
      status: 200,
      body: { qrCodeId: link.id, qrCodeState: 'TransactionStarted' },
    });

    const phone = app(link);
    const { serviceReference, type, authorizationCode } = outcomeOf(await phone.pay());
    expect(type).toBe('Approved');
    await untilResponded(installation.database, serviceReference);
    expect(await status(link)).toMatchObject({
      qrCodeState: 'TransactionCreated',
      transactionId: expect.stringMatching(UUID),
      merchantTransactionReference: link.paymentReference,
      status: 'RespondedToPhone',
      disposition: 'Approved',
      amount: '10.00',
      responseCode: '0',
      authorisationCode: authorizationCode,
      expired: false,
    });
    for (const late of ['QRCodeScanned', 1, 'TransactionStarted', 'TransactionCreated']) {
      expect((await acknowledge(link, late)).body).toMatchObject({ qrCodeState: 'TransactionCreated' });
    }
    const received = await acknowledge(link, 4, serviceReference);
    expect(received).toMatchObject({ status: 200, body: { qrCodeState: 'ResponseReceivedByPhone' } });
    expect(await status(link)).toMatchObject({
      qrCodeState: 'ResponseReceivedByPhone',
      transactionId: serviceReference,
    });

    const [event] = await untilReported(links, link);
    expect(event).toMatchObject({
      type: 'transaction.completed',
      merchantReference: link.paymentReference,
      disposition: 'Approved',
      amount: 10,
      serviceReference,
      deviceInstallationId: phone.deviceInstallationId,
      paymentProviderId: { tid: 'TW101001' },
    });
    expect(taps.received).toEqual([]);
  });

  test('cannot be reported as received before there is a response, nor for another tap', async () => {
    const link = await create();
    expect(problemOf(await acknowledge(link, 'ResponseReceivedByPhone'))).toMatchObject({
      status: 409,
      errorCode: 134,
    });
    expect(problemOf(await acknowledge(link, 'TransactionCreated'))).toMatchObject({ status: 409, errorCode: 134 });
    outcomeOf(await app(link).pay());
    const other = await acknowledge(link, 'ResponseReceivedByPhone', randomUUID());
    expect(problemOf(other)).toMatchObject({ status: 404, errorCode: 122 });
    expect(await status(link)).toMatchObject({ qrCodeState: 'TransactionCreated' });
  });

  test.each([
    ['its paymentReference', ({ paymentReference }: HandedLink) => paymentReference],
    ['its own reference', ({ id }: HandedLink) => id],
  ])("is paid with a tap that a merchant's backend authenticates, under %s", async (_what, referenceOf) => {
    const link = await create();
    const tap = { amount: '10.00', currency: 'ZAR', merchantReference: referenceOf(link) };
    const { serviceReference } = outcomeOf(await installation.phone().tap(tap));
    expect(await status(link)).toMatchObject({
      transactionId: serviceReference,
      disposition: 'Approved',
      merchantTransactionReference: referenceOf(link),
    });
    expect(await untilReported(links, link)).toMatchObject([{ merchantReference: link.paymentReference }]);
  });

  test('is not paid again if a tap of the SDK used its reference at the same moment, and neither saw the other', async () => {
    const link = await create();
    const tap = { amount: '10.00', currency: 'ZAR' };
    const merchantReference = randomUUID();
    const taken = await installation.phone().tap({ ...tap, merchantReference });
    expect(outcomeOf(taken).type).toBe('Approved');
    const overtake = 'update links set payment_reference = $2 where acquirer_id = 1 and id = $1';
    await installation.database.query(overtake, [link.id, merchantReference]);
    const authorizations = installation.asked.authorizations;
    const again = await app(link).pay({ merchantReference: await offered(link) });
    expect(problemOf(again)).toMatchObject({ status: 409, errorCode: 124 });
    expect(installation.asked.authorizations).toBe(authorizations);
  });

  test("is not paid with another merchant's tap under the same reference", async () => {
    const link = await create();
    const tap = { amount: '10.00', currency: 'ZAR', merchantReference: link.paymentReference };
    expect(outcomeOf(await installation.phone('bakery').tap(tap)).type).toBe('Approved');
    expect(await status(link)).toMatchObject({ qrCodeState: 'QRCodeGenerated', transactionId: null });
  });

  test.each([
    ['another amount', { amount: '10.01' }],
    ['another currency', { currency: 'EUR' }],
  ])('refuses a tap of %s, and accepts the right one under the same reference', async (_what, wrong) => {
    for (const by of ['app', 'backend']) {
      const link = await create();
      const phone = by === 'app' ? app(link) : installation.phone();
      const tap = { amount: '10.00', currency: 'ZAR', merchantReference: link.paymentReference };
      const problem = problemOf(await phone.tap({ ...tap, ...wrong }));
      const errors = [{ pointer: '/generalCardData', detail: TAP_REFUSALS.AMOUNT_NOT_OF_LINK }];
      const detail = 'The amount or currency of the tap differs from the link.';
      expect(problem).toMatchObject({ status: 400, errorCode: 104, detail, errors });
      // Customers hold the token of a link: their spoiled taps leave no row.
      const left = by === 'app' ? null : 'BadRequestReceived';
      expect(await status(link)).toMatchObject({ qrCodeState: 'QRCodeGenerated', status: left });
      expect(outcomeOf(await phone.tap(tap)).type).toBe('Approved');
      expect(await status(link)).toMatchObject({ qrCodeState: 'TransactionCreated', disposition: 'Approved' });
    }
  });

  test('accepts one of many simultaneous taps, and refuses the others as too late', async () => {
    const link = await create();
    const before = installation.ledger.length;
    const phones = Array.from({ length: 8 }, () => app(link));
    const responses = await Promise.all(phones.map((phone) => phone.pay()));
    const refused = responses.filter((response) => response.status !== 200).map(problemOf);
    expect(refused).toHaveLength(7);
    for (const problem of refused) expect(problem).toMatchObject({ status: 409, errorCode: 124 });
    const late = await app(link).pay({ merchantReference: await offered(link) });
    expect(problemOf(late)).toMatchObject({ status: 409, errorCode: 124 });
    expect(installation.ledger).toHaveLength(before + 1);
    const rows = await installation.database.query('select from transactions where consumer_id = $1', [link.id]);
    expect(rows.rowCount).toBe(1);
  });

  test('returns the stored response to a repeated tap, also after it has expired', async () => {
    const link = await create();
    const phone = app(link);
    const tap = await phone.seal({ amount: '10.00', currency: 'ZAR', merchantReference: link.paymentReference });
    const { serviceReference } = outcomeOf(await phone.submit(tap));
    expect(outcomeOf(await phone.submit(tap)).serviceReference).toBe(serviceReference);
    await letExpire(installation.database, link.id);
    expect(outcomeOf(await phone.submit(tap)).serviceReference).toBe(serviceReference);
    expect(await status(link)).toMatchObject({ expired: false, disposition: 'Approved' });
  });

  test('is paid with a PIN, which its token submits, too', async () => {
    const link = await create({ amount: '50.05' });
    const response = outcomeOf(await app(link).pay({ amount: '50.05', card: 'amex', pin: RIGHT_PIN }));
    expect(response).toMatchObject({ type: 'Approved', isSingleTapAndPin: false });
    expect(await status(link)).toMatchObject({ disposition: 'Approved', transactionId: response.serviceReference });
    expect(await untilReported(links, link)).toHaveLength(1);
  });

  test("'s refund is reported to the link's endpoint, under the refund's own id and reference", async () => {
    const link = await create();
    const { serviceReference: sale } = outcomeOf(await app(link).pay());
    await untilResponded(installation.database, sale);
    const asked = { amount: '4.00', refundReference: randomUUID() };
    const { serviceReference: id } = (await refundSale(installation, sale, asked)).body as { serviceReference: string };
    const own = { id, serviceReference: id, originalTransactionId: sale, merchantReference: asked.refundReference };
    expect(await untilReported(links, { ...link, id })).toMatchObject([{ type: 'refund.completed', ...own }]);
    expect(await untilReported(links, link)).toMatchObject([{ type: 'transaction.completed', serviceReference: sale }]);
  });
});

describe('a tapped link is free again', () => {
  test.each([
    ['a decline', { amount: '10.51' }, {}, 'Declined', '51'],
    ['a decline of the card itself', { amount: '10.00' }, { tamper: declineOffline }, 'Declined', null],
  ])('a tapped link is free again after %s, and another tap may pay it', async (_what, {
    amount,
  }, tap, disposition, responseCode) => {
    const link = await create({ amount });
    const first = outcomeOf(await app(link).pay({ amount, ...tap }));
    expect(await status(link)).toMatchObject({ transactionId: first.serviceReference, disposition, responseCode });
    const { merchantReference } = (await details(link)).body as { merchantReference: string };
    expect(merchantReference).not.toBe(link.paymentReference);
    const second = outcomeOf(await app(link).pay({ amount, merchantReference }));
    expect(second.serviceReference).not.toBe(first.serviceReference);
    expect(await status(link)).toMatchObject({
      transactionId: second.serviceReference,
      merchantTransactionReference: merchantReference,
      paymentReference: link.paymentReference,
    });
    const events = await untilReported(links, link, 2);
    for (const event of events) expect(event.merchantReference).toBe(link.paymentReference);
  });

  test('a tapped link is free again if no switch could be reached: for the next attempt of the same tap, or another tap', async () => {
    const lone = await installation.startGateway({ TAPWIRE_ROLE: 'api' });
    try {
      for (const who of ['the same phone', 'another phone']) {
        const link = await create();
        const phone = app(link);
        const tap = await phone.seal({ amount: '10.00', currency: 'ZAR', merchantReference: link.paymentReference });
        const { generalCardData, paymentCardData, merchantReference } = tap;
        const response = await request(lone.url, '/transactions/mobile', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${link.token}`,
            'content-type': 'application/json',
            'x-device-installation-id': phone.deviceInstallationId,
          },
          body: JSON.stringify({ generalCardData, paymentCardData, merchantReference }),
        });
        const { type, serviceReference } = outcomeOf(response);
        expect(type).toBe('UnableToGoOnline');
        await untilResponded(installation.database, serviceReference);
        expect(await status(link)).toMatchObject({ disposition: 'UnableToGoOnline' });
        const again =
          who === 'the same phone'
            ? await phone.pay()
            : await app(link).pay({ merchantReference: await offered(link) });
        expect(outcomeOf(again).type).toBe('Approved');
        expect(outcomeOf(again).serviceReference === serviceReference).toBe(who === 'the same phone');
        expect(await status(link)).toMatchObject({ disposition: 'Approved' });
      }
    } finally {
      await lone.stop();
    }
  });

  test('a tapped link is not free while its outcome is uncertain, even after it has expired, but after that is Voided', async () => {
    const { database } = installation;
    // The switch cannot locate the original of the reversal: the outcome stays uncertain until the next request.
    const link = await create({ amount: '10.77' });
    const { serviceReference, type } = outcomeOf(await app(link).pay({ amount: '10.77' }));
    expect(type).toBe('Indeterminate');
    const second = await app(link).pay({ amount: '10.77', merchantReference: await offered(link) });
    expect(problemOf(second)).toMatchObject({ status: 409, errorCode: 124 });
    await letExpire(database, link.id);
    expect(await status(link)).toMatchObject({ disposition: 'Indeterminate', expired: false });
    expect(await creation(link.paymentReference)).toBe(409);

    await letDoubtPass(database, serviceReference);
    await eventually(async () => expect(await status(link)).toMatchObject({ disposition: 'Voided', expired: true }));
    expect(await creation(link.paymentReference)).toBe(200);
    const events = await untilReported(links, link, 2);
    expect(events.map(({ disposition }) => disposition).sort()).toEqual(['Indeterminate', 'Voided']);
  });

  test('a tapped link is not free while a tap on it is in progress', async () => {
    const link = await create({ amount: '10.10' }); // the switch is slow
    const first = app(link).pay({ amount: '10.10' });
    await eventually(async () => expect(await status(link)).toMatchObject({ qrCodeState: 'TransactionCreated' }));
    const second = await app(link).pay({ amount: '10.10', merchantReference: await offered(link) });
    expect(problemOf(second)).toMatchObject({ status: 409, errorCode: 124 });
    expect(outcomeOf(await first).type).toBe('Approved');
  });
});

describe('an expired link', () => {
  test('is not available to the phone, and its reference is free for any tap', async () => {
    const { database } = installation;
    const link = await create();
    await details(link);
    await letExpire(database, link.id);
    const gone = { status: 410, errorCode: 118, title: 'Gone' };
    expect(problemOf(await details(link))).toMatchObject(gone);
    expect(problemOf(await acknowledge(link, 'TransactionStarted'))).toMatchObject(gone);
    expect((await acknowledge(link, 'QRCodeScanned')).status).toBe(200);
    expect(problemOf(await app(link).pay())).toMatchObject(gone);
    expect(await status(link)).toMatchObject({ expired: true, qrCodeState: 'QRCodeScanned', transactionId: null });

    const tap = { amount: '99.00', currency: 'ZAR', merchantReference: link.paymentReference };
    const { serviceReference } = outcomeOf(await installation.phone().tap(tap));
    expect(await status(link)).toMatchObject({ transactionId: null });
    const { rows } = await database.query('select consumer_id from transactions where id = $1', [serviceReference]);
    expect(rows).toEqual([{ consumer_id: null }]);
  });

  test('is expired by the job that was committed with it and then ends', async () => {
    const { database } = installation;
    const link = await create();
    expect([14, 15]).toContain((await minutesToExpiry(database, link.id))[0]);
    await letExpire(database, link.id);
    await eventually(async () => {
      const { rows } = await database.query('select is_expired from links where id = $1', [link.id]);
      expect(rows).toEqual([{ is_expired: true }]);
      expect(await minutesToExpiry(database, link.id)).toEqual([]);
    });
    expect(await status(link)).toMatchObject({ expired: true, qrCodeState: 'QRCodeGenerated' });
  });
});

describe('the token of a link', () => {
  test('opens its own link and nothing else', async () => {
    const [link, other] = [await create(), await create()];
    const { serviceReference } = outcomeOf(await app(other).pay());
    const strange = { ...link, id: other.id };
    expect(problemOf(await details(strange))).toMatchObject({ status: 404, errorCode: 122 });
    expect(problemOf(await acknowledge(strange, 1))).toMatchObject({ status: 404, errorCode: 122 });
    const refused = problemOf(await acknowledgeTap(installation, link, serviceReference, 'device'));
    expect(refused).toMatchObject({ status: 404, errorCode: 122 });
    const paid = outcomeOf(await app(link).pay());
    expect(await status(link)).toMatchObject({ transactionId: paid.serviceReference });
    expect(await status(other)).toMatchObject({ transactionId: serviceReference });
  });

  test('returns to a payment app the reader configuration of the terminal at which the link is paid', async () => {
    const link = await create();
    const config = { xTid: 'TERM-coffee', merchantName: 'Corner Coffee' };
    expect(await ask(installation, link, '/terminal/config')).toMatchObject({ status: 200, body: config });
  });

  test('acknowledges the tap on it', async () => {
    const link = await create();
    const phone = app(link);
    const { serviceReference: id } = outcomeOf(await phone.pay());
    const response = await acknowledgeTap(installation, link, id, phone.deviceInstallationId);
    const acknowledged = { status: 'AcknowledgedByPhone' };
    expect(response).toMatchObject({ status: 200, body: acknowledged });
    expect(await status(link)).toMatchObject(acknowledged);
  });
});
