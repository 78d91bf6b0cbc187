import { randomUUID } from 'node:crypto';
import { Webhook as Library } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectInvariants } from '../../support/invariants.ts';
import { postTap } from '../../support/requests.ts';
import { outcomeOf } from '../../support/responses.ts';
import { MERCHANTS } from '../../support/tenants.ts';
import { Backend, genuine, untilReported } from '../backend.ts';
import { type Receiver, startReceiver } from '../receiver.ts';

let installation: Installation;
let backend: Backend;
let receiver: Receiver;
let secret: string;
beforeAll(async () => {
  installation = await startInstallation();
  receiver = await startReceiver();
  backend = await Backend.open(installation);
  secret = await backend.listenAt(receiver.url);
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  await receiver.close();
});

const tap = async (amount: string) => outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));

test('an approval is reported once, signed, with everything of 2.6', async () => {
  const phone = installation.phone();
  const { serviceReference, authorizationCode, paymentProviderReference, merchantReference } = outcomeOf(
    await phone.tap({ amount: '10.00', currency: 'ZAR' }),
  );
  const [event] = await untilReported(receiver, secret, serviceReference);
  expect(event).toEqual({
    type: 'transaction.completed',
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    sequence: 1,
    id: serviceReference,
    merchantId: MERCHANTS.coffee.id,
    merchantReference,
    disposition: 'Approved',
    authorisationCode: authorizationCode,
    paymentProviderReference,
    amount: 10,
    amountMinor: 1_000,
    currency: 'ZAR',
    serviceReference,
    deviceInstallationId: phone.deviceInstallationId,
    paymentProviderId: { tid: 'TW101001', mid: 'TEST00000001001' },
    paymentProviderFields: {
      stan: expect.stringMatching(/^\d{6}$/),
      rrn: paymentProviderReference,
      responseCode: '00',
      settlementDate: expect.any(String),
      panEntry: 'contactless',
      cardType: expect.any(String),
    },
  });
});

test('the correlation id of the tap is included', async () => {
  const phone = installation.phone();
  const correlationId = randomUUID();
  const headers = { 'x-correlation-id': correlationId };
  const sealed = await phone.seal({ amount: '12.00', currency: 'ZAR' });
  const { serviceReference } = outcomeOf(await postTap(installation.url, phone, sealed, { headers }));
  await untilReported(receiver, secret, serviceReference);
  const sent = receiver.received.find(({ body }) => body.includes(serviceReference))!;
  expect(sent.headers['x-correlation-id']).toBe(correlationId);
});

test('webhooks are accepted by the library of Standard Webhooks unchanged', async () => {
  const { serviceReference } = await tap('11.00');
  await untilReported(receiver, secret, serviceReference);
  const { headers, body } = receiver.received.find(({ body }) => body.includes(serviceReference))!;
  expect(headers['content-type']).toBe('application/json');
  expect(new Library(secret).verify(body.toString(), headers)).toMatchObject({ serviceReference });
});

test('a decline carries its errorCode and the requested amount', async () => {
  const { serviceReference } = await tap('10.51');
  expect(await untilReported(receiver, secret, serviceReference)).toMatchObject([
    {
      type: 'transaction.completed',
      disposition: 'Declined',
      errorCode: 209,
      authorisationCode: '',
      amount: 10.51,
      paymentProviderFields: { responseCode: '51' },
    },
  ]);
});

test('a tap that the card itself declined is Declined with errorCode 2', async () => {
  const { serviceReference } = outcomeOf(
    await installation.phone().tap({
      amount: '10.00',
      currency: 'ZAR',
      tamper: (values) => values.set(0x9f27, Uint8Array.of(0x00)),
    }),
  );
  const [event] = await untilReported(receiver, secret, serviceReference);
  expect(event).toMatchObject({ disposition: 'Declined', errorCode: 2, amount: 10, authorisationCode: '' });
  expect(event).not.toHaveProperty('paymentProviderReference');
});

test('silence of the switch is reported as Indeterminate and then, after its reversal, as Voided', async () => {
  const { serviceReference } = await tap('10.69');
  const reported = await untilReported(receiver, secret, serviceReference, 2);
  expect(reported.sort((one, other) => one.sequence - other.sequence)).toMatchObject([
    { type: 'transaction.completed', disposition: 'Indeterminate', sequence: 1, errorCode: 203, amount: 10.69 },
    { type: 'transaction.voided', disposition: 'Voided', sequence: 2, amount: 10.69 },
  ]);
  const events = await eventually(async () => {
    const found = await backend.eventsOf(serviceReference);
    expect(found.map(({ state }) => state)).toEqual(['delivered', 'delivered']);
    return found;
  });
  expect(new Set(events.map(({ id }) => id)).size).toBe(2);
  const ids = receiver.received
    .filter(({ body }) => body.includes(serviceReference))
    .map(({ headers }) => headers['webhook-id']);
  expect(ids.sort()).toEqual(events.map(({ id }) => id).sort());
});

test('no other integrator is notified, and one without a registration gets nothing', async () => {
  const other = await Backend.open(installation, 'flowers');
  const { serviceReference } = outcomeOf(await installation.phone('flowers').tap({ amount: '10.00', currency: 'ZAR' }));
  const { serviceReference: own } = await tap('12.00');
  await untilReported(receiver, secret, own);
  expect(await other.events()).toEqual([]);
  expect(genuine(receiver, secret, serviceReference)).toEqual([]);
  await eventually(async () => {
    const { rows } = await installation.database.query("select data from pgboss.job where name = 'webhook'");
    expect(rows).toEqual([]);
  });
});
