import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { purge } from '../../src/store/transactions/purge.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import {
  AppPhone,
  createLink,
  creationOf,
  type HandedLink,
  letExpire,
  linkBody,
  offeredReference,
  post,
  statusOf,
} from '../support/links.ts';
import { RIGHT_PIN } from '../support/pins.ts';
import { refundSale, voidSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const create = (changes?: Record<string, unknown>) => createLink(installation, changes);
const offered = (link: HandedLink) => offeredReference(installation, link);

const LINK_HELD =
  'Another tap for this payment is in progress or was approved. Continue on the phone that made it, or see its result ' +
  'on the pay page. If it is declined, you can tap again.';

/** Pays as a phone does that has just fetched the details of the link. */
async function pay(link: HandedLink, amount = '10.00') {
  return new AppPhone(installation, link).pay({ amount, merchantReference: await offered(link) });
}

async function payState(link: HandedLink) {
  const headers = { authorization: `Bearer ${link.token}` };
  return (await request(installation.url, `/pay/${link.id}/state`, { headers })).body as Record<string, unknown>;
}

describe('a link whose sale the merchant voids', () => {
  async function createVoidedLink(): Promise<HandedLink> {
    const link = await create();
    const { serviceReference } = outcomeOf(await pay(link));
    await untilResponded(installation.database, serviceReference);
    expect((await voidSale(installation, serviceReference)).status).toBe(202);
    await eventually(async () => {
      expect(await statusOf(installation, link.id)).toMatchObject({ disposition: 'Voided' });
    });
    return link;
  }

  test('remains closed: no phone and no till pays it again, and its reference remains used', async () => {
    const link = await createVoidedLink();
    const authorizations = installation.asked.authorizations;
    expect(problemOf(await pay(link))).toMatchObject({ status: 409, errorCode: 124 });
    const till = { amount: '10.00', currency: 'ZAR', merchantReference: link.id };
    expect(problemOf(await installation.phone().tap(till))).toMatchObject({ status: 409, errorCode: 124 });
    expect(await creationOf(installation, link.paymentReference)).toBe(409);
    await letExpire(installation.database, link.id);
    expect(problemOf(await installation.phone().tap(till))).toMatchObject({ status: 409, errorCode: 124 });
    expect(await creationOf(installation, link.paymentReference)).toBe(409);
    expect(installation.asked.authorizations).toBe(authorizations);
  });

  test('reports to its pay page that it cannot be paid again', async () => {
    const link = await create({ amount: '10.51' });
    expect(outcomeOf(await pay(link, '10.51')).type).toBe('Declined');
    expect(await payState(link)).toMatchObject({ disposition: 'Declined', cancelled: false });
    expect(await payState(await createVoidedLink())).toMatchObject({ disposition: 'Voided', cancelled: true });
  });
});

test('a till that taps a link with the reference of its customer is too late, like the next customer', async () => {
  const link = await create();
  expect(outcomeOf(await new AppPhone(installation, link).pay()).type).toBe('Approved');
  for (const phone of [installation.phone(), new AppPhone(installation, link)]) {
    const tap = { amount: '10.00', currency: 'ZAR', merchantReference: link.paymentReference };
    expect(problemOf(await phone.tap(tap))).toMatchObject({ status: 409, errorCode: 124, detail: LINK_HELD });
  }
});

test('a tap with a PIN is refused, with what to do, while another tap on the link awaits its PIN', async () => {
  const link = await create({ amount: '50.05' });
  const [first, second] = [new AppPhone(installation, link), new AppPhone(installation, link)];
  expect(outcomeOf(await first.pay({ amount: '50.05' }))).toMatchObject({ pinToken: expect.any(String) });
  const refused = problemOf(await second.pay({ amount: '50.05', card: 'amex', pin: RIGHT_PIN }));
  expect(refused).toMatchObject({ status: 409, errorCode: 124, detail: LINK_HELD });
});

test('a tap that repeats the reference of a declined tap on the link needs a new reference', async () => {
  const link = await create({ amount: '10.51' });
  expect(outcomeOf(await pay(link, '10.51')).type).toBe('Declined');
  const detail = 'The merchantReference belongs to another transaction. Use a new one.';
  const again = await new AppPhone(installation, link).pay({ amount: '10.51' });
  expect(problemOf(again)).toMatchObject({ status: 409, errorCode: 124, detail });
});

test.each([
  ['an override of the text direction', 'order\u202e1174'],
  ['a directional isolate', '\u2067order\u2069'],
  ['a control character', 'order\u0007'],
  ['a control character of Latin-1', 'order\u0085'],
])('a link is refused if its paymentReference has %s, so that no order looks like another one', async (_what, paymentReference) => {
  const response = await post(installation, '/consumer/applink', linkBody('coffee', { paymentReference }));
  expect(problemOf(response)).toMatchObject({
    status: 400,
    errorCode: 104,
    errors: [{ pointer: '/paymentReference' }],
  });
  expect(JSON.stringify(response.body)).not.toContain('order');
});

test.each([
  'הזמנה 12',
  'طلب-12',
  '注文12',
  'order 12 ✓',
])('a link with the paymentReference %s is created', async (reference) => {
  const paymentReference = `${reference} ${randomUUID()}`;
  expect((await create({ paymentReference })).paymentReference).toBe(paymentReference);
});

describe('the list of transactions', () => {
  async function listOf(query: string, headers?: Record<string, string>): Promise<string[]> {
    const credential = headers ?? { 'x-api-key': await installation.apiKey() };
    const { body } = await request(installation.url, `/transactions?${query}`, { headers: credential });
    return (body as { id: string }[]).map(({ id }) => id);
  }

  test('finds every attempt on a link with the paymentReference, newest first, and each with its own reference', async () => {
    const [link, other] = [await create({ amount: '10.51' }), await create()];
    const ids: string[] = [];
    const references: string[] = [];
    for (let attempt = 0; attempt < 3; attempt++) {
      references.push(await offered(link));
      ids.push(outcomeOf(await pay(link, '10.51')).serviceReference);
    }
    outcomeOf(await pay(other));
    expect(references[0]).toBe(link.paymentReference);
    expect(await listOf(`merchantReference=${link.paymentReference}`)).toEqual(ids.toReversed());
    expect(await listOf(`merchantReference=${link.paymentReference}&limit=1`)).toEqual(ids.slice(2));
    expect(await listOf(`merchantReference=${link.paymentReference}&offset=1`)).toEqual([ids[1], ids[0]]);
    expect(await listOf(`merchantReference=${link.paymentReference}&after=${ids[2]}`)).toEqual([ids[1], ids[0]]);
    expect(await listOf(`merchantReference=${link.paymentReference}&transactionDisposition=Approved`)).toEqual([]);
    expect(await listOf(`merchantReference=${references[2]}`)).toEqual([ids[2]]);
  });

  test('shows them only to the merchant of the link, and separates them from refunds', async () => {
    const link = await create();
    const { serviceReference } = outcomeOf(await pay(link));
    await untilResponded(installation.database, serviceReference);
    const refundReference = randomUUID();
    const { body } = await refundSale(installation, serviceReference, { amount: '1.00', refundReference });
    const query = `merchantReference=${link.paymentReference}`;
    expect(await listOf(query)).toEqual([serviceReference]);
    const refund = (body as { serviceReference: string }).serviceReference;
    expect(await listOf(`merchantReference=${refundReference}`)).toEqual([refund]);
    const keyOf = async (merchantId: string, integratorId: number) => ({
      'x-api-key': await installation.apiKey({ acquirerId: 1, integratorId, merchantId }),
    });
    expect(await listOf(query, await keyOf('1001', 10))).toEqual([serviceReference]);
    expect(await listOf(query, await keyOf('1002', 10))).toEqual([]);
    expect(await listOf(query, await keyOf('1101', 11))).toEqual([]);
  });
});

test('a link that was paid under its offered reference stays used after the purge of old links', async () => {
  const link = await create({ amount: '10.51' });
  expect(outcomeOf(await pay(link, '10.51')).type).toBe('Declined');
  // The amount decides the outcome at the simulated switch; the link asks for one that is approved now.
  await installation.database.query('update links set amount_minor = 1000 where id = $1', [link.id]);
  const paid = outcomeOf(await pay(link));
  expect(paid.type).toBe('Approved');
  expect(paid.merchantReference).not.toBe(link.paymentReference);
  await untilResponded(installation.database, paid.serviceReference);
  await installation.database.query(
    `update links set created_at = created_at - interval '200 days', expires_at = created_at where id = $1`,
    [link.id],
  );
  const retention = { cardDays: 180, auditDays: 2_557, webhookDays: 30, linkDays: 180, messageDays: 30 };
  await purge(installation.database, retention);
  expect(await creationOf(installation, link.paymentReference)).toBe(409);
  const till = { amount: '10.00', currency: 'ZAR', merchantReference: link.paymentReference };
  expect(problemOf(await installation.phone().tap(till))).toMatchObject({ status: 409, errorCode: 124 });
});
