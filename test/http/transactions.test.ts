import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TransactionView } from '../../schemas/transaction.ts';
import type { Tenant } from '../../src/payments/ports/store-ports.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { problemOf } from '../support/responses.ts';
import { ROUTE_ID, USER } from '../support/tenants.ts';

let installation: Installation;
/** The API keys, by owner. */
const keys = new Map<string, string>();

const OWNERS: Readonly<Record<string, Tenant>> = {
  acquirer: { acquirerId: 1 },
  integrator: { acquirerId: 1, integratorId: 10 },
  merchant: { acquirerId: 1, integratorId: 10, merchantId: '1001' },
  'other integrator': { acquirerId: 1, integratorId: 11 },
  'other acquirer': { acquirerId: 2 },
};

/** The taps of a day, oldest first. The last one is refused. */
const TAPS = [
  { merchant: 'coffee', merchantReference: 'c1', amount: '10.00', currency: 'ZAR' },
  { merchant: 'coffee', merchantReference: 'c2', amount: '10.51', currency: 'ZAR', card: 'mastercard' },
  { merchant: 'coffee', merchantReference: 'c3', amount: '25.00', currency: 'ZAR', card: 'amex' },
  { merchant: 'bakery', merchantReference: 'b1', amount: '11.00', currency: 'ZAR' },
  { merchant: 'flowers', merchantReference: 'f1', amount: '12.00', currency: 'ZAR' },
  { merchant: 'tailor', merchantReference: 't1', amount: '13.00', currency: 'ZAR' },
  { merchant: 'coffee', merchantReference: 'yen', amount: '1000', currency: 'JPY' },
  { merchant: 'coffee', merchantReference: 'dinar', amount: '1.500', currency: 'BHD' },
  { merchant: 'coffee', merchantReference: 'review', amount: '10.94', currency: 'ZAR' },
  {
    merchant: 'coffee',
    merchantReference: 'offline',
    amount: '30.00',
    currency: 'ZAR',
    tamper: (values: Map<number, Uint8Array>) => void values.set(0x9f27, Uint8Array.of(0)),
  },
  {
    merchant: 'coffee',
    merchantReference: 'refused',
    amount: '10.00',
    currency: 'ZAR',
    tamper: (values: Map<number, Uint8Array>) => void values.delete(0x57),
  },
] as const;

beforeAll(async () => {
  installation = await startInstallation();
  for (const { merchant, ...tap } of TAPS) await installation.phone(merchant, 'device-1').tap(tap);
  for (const [name, owner] of Object.entries(OWNERS)) keys.set(name, await installation.apiKey(owner));
  await eventually(async () => {
    const { rows } = await installation.database.query('select from transactions where status not in (0, 8)');
    expect(rows).toEqual([]);
  });
});
afterAll(async () => {
  await expectInvariants(installation);
  await installation.stop();
});

function send(path: string, as = 'integrator'): Promise<RawResponse> {
  return request(installation.url, path, { headers: { 'x-api-key': keys.get(as) } });
}

async function list(query = '', as = 'integrator'): Promise<TransactionView[]> {
  const { status, body } = await send(`/transactions${query}`, as);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body as TransactionView[];
}

/** The merchant references of a list, in its order. */
async function references(query = '', as = 'integrator'): Promise<string[]> {
  return (await list(query, as)).map(({ merchantTransactionReference }) => merchantTransactionReference);
}

async function idOf(merchantReference: string): Promise<string> {
  const { rows } = await installation.database.query('select id from transactions where merchant_reference = $1', [
    merchantReference,
  ]);
  return rows[0].id;
}

async function show(merchantReference: string): Promise<TransactionView> {
  const { status, body } = await send(`/transactions/${await idOf(merchantReference)}`);
  expect(status).toBe(200);
  return body as TransactionView;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const COFFEE_DECLINED_OR_NOT = ['offline', 'review', 'dinar', 'yen', 'c3', 'c2', 'c1'];

describe('an approved tap', () => {
  test('has every field of 2.1, each of its type', async () => {
    const shown = await show('c1');
    expect(shown).toEqual({
      id: expect.stringMatching(UUID),
      passthroughUserId: null,
      merchantId: '1001',
      merchantTransactionReference: 'c1',
      details: [{ tags: expect.any(Array), maskedPAN: '411111******1111', paymentProviderId: ROUTE_ID }],
      latitude: '',
      longitude: '',
      deviceinstallationId: 'device-1',
      transactionstatusId: 8,
      status: 'RespondedToPhone',
      transactionDispositionId: 0,
      disposition: 'Approved',
      amount: '10.00',
      amountMinor: 1_000,
      currency: 'ZAR',
      responseCode: 0,
      transactionTypeId: 1,
      type: 'Tap',
      originalTransactionId: null,
      acquirerId: 1,
      userId: USER.id,
      transactionFeesConfigId: null,
      transactionFee: null,
      authorisationCode: expect.stringMatching(/^\d{6}$/),
      createdAt: expect.stringMatching(TIMESTAMP),
      updatedAt: expect.stringMatching(TIMESTAMP),
      receiptData: expect.any(Object),
    });
  });

  test('has every field of 2.2 on its receipt', async () => {
    const { receiptData, id, authorisationCode, createdAt } = await show('c1');
    const tags = new Map((await show('c1')).details[0]!.tags.map(({ tag, value }) => [tag, value]));
    expect(receiptData).toEqual({
      effectiveDate: '',
      expiryDate: '12/31',
      authorizationCode: authorisationCode,
      tid: 'TW101001',
      transactionReference: id,
      merchantName: 'Corner Coffee',
      formattedMerchantAddress: '1 Long Street, Cape Town, ZA',
      transactionType: 'Tap',
      approvalText: 'Approved',
      aid: 'A0000000031010',
      amount: 'ZAR 10.00',
      currency: 'ZAR',
      applicationLabel: 'Visa Credit',
      applicationPreferredName: null,
      association: 'Visa Credit',
      isoResponseCode: '00',
      cryptogram: tags.get('9F26'),
      cryptogramType: 'ARQC',
      tvr: '0000000000',
      date: createdAt.slice(0, 10).replaceAll('-', '/'), // the reader's own, which is UTC here
      time: expect.stringMatching(/^([01]\d|2[0-3]):[0-5]\d$/),
      maskedPan: '411111******1111',
    });
  });

  test('shows its tags in hex, and none that PCI DSS forbids to store', async () => {
    const [{ tags } = { tags: [] }] = (await show('c1')).details;
    for (const { tag, value } of tags) {
      expect(tag).toMatch(/^[0-9A-F]{2,6}$/);
      expect(value).toMatch(/^([0-9A-F]{2})*$/);
    }
    const names = tags.map(({ tag }) => tag);
    expect(names).toEqual(expect.arrayContaining(['82', '84', '95', '9A', '9F02', '9F26', '9F27', '9F36', '50']));
    for (const forbidden of ['56', '57', '5A', '5F20', '5F24', '99', '9F0B', '9F1F', '9F20', '9F6B']) {
      expect(names).not.toContain(forbidden);
    }
  });

  test('is the same in the list', async () => {
    const found = (await list()).find(({ merchantTransactionReference }) => merchantTransactionReference === 'c1');
    expect(found).toEqual(await show('c1'));
  });
});

describe('other outcomes', () => {
  test('a decline has the code as a number, and no approval on its receipt', async () => {
    const shown = await show('c2');
    expect(shown).toMatchObject({ transactionDispositionId: 1, responseCode: 51, authorisationCode: '' });
    expect(shown.receiptData).toMatchObject({ approvalText: 'Declined', isoResponseCode: '51', authorizationCode: '' });
  });

  test('a decline by the card was sent to no processor', async () => {
    const shown = await show('offline');
    expect(shown).toMatchObject({
      transactionDispositionId: 2,
      responseCode: null,
      authorisationCode: '',
      amount: '30.00',
    });
    expect(shown.details).toMatchObject([{ paymentProviderId: null }]);
    expect(shown.receiptData).toMatchObject({
      approvalText: 'Declined',
      cryptogramType: 'AAC',
      isoResponseCode: '',
      tid: '',
    });
  });

  test('a refused request has no outcome and no receipt', async () => {
    expect(await show('refused')).toMatchObject({
      transactionstatusId: 0,
      transactionDispositionId: null,
      responseCode: null,
      authorisationCode: null,
      disposition: null,
      amount: '10.00', // was read; the card was not
      amountMinor: 1_000,
      currency: 'ZAR',
      details: [{ tags: [], maskedPAN: '', paymentProviderId: null }],
      receiptData: {},
    });
  });

  test.each([
    ['yen', '1000', 'JPY'],
    ['dinar', '1.500', 'BHD'],
  ])('%s has the decimals of its currency', async (reference, amount, currency) => {
    const shown = await show(reference);
    expect(shown).toMatchObject({ amount, currency });
    expect(shown.receiptData).toMatchObject({ amount: `${currency} ${amount}`, currency });
  });

  test('an unknown user id is passed through', async () => {
    const [shown] = await list('?merchantReference=b1');
    expect(shown).toMatchObject({ passthroughUserId: 'till@bakery.example', userId: '' });
  });
});

describe('a list', () => {
  test('is newest first, of everything that the credential owns', async () => {
    expect(await references('')).toEqual(['refused', 'offline', 'review', 'dinar', 'yen', 'b1', 'c3', 'c2', 'c1']);
    expect(await references('', 'merchant')).toEqual(['refused', ...COFFEE_DECLINED_OR_NOT]);
    expect(await references('', 'acquirer')).toHaveLength(10);
    expect(await references('', 'other integrator')).toEqual(['f1']);
    expect(await references('', 'other acquirer')).toEqual(['t1']);
  });

  test("a list for a merchant's token is the merchant's", async () => {
    const authorization = `Bearer ${await installation.phone('bakery').token()}`;
    const { body } = await request(installation.url, '/transactions', { headers: { authorization } });
    expect(body).toMatchObject([{ merchantTransactionReference: 'b1' }]);
  });

  test.each([
    ['integrator=10', ['refused', 'offline', 'review', 'dinar', 'yen', 'b1', 'c3', 'c2', 'c1']],
    ['merchant=1002', ['b1']],
    ['integrator=10&merchant=1002', ['b1']],
    ['merchantReference=c2', ['c2']],
    ['merchantReference=nothing', []],
    ['user=till%40bakery.example', ['b1']],
    [`user=${USER.id}`, ['refused', ...COFFEE_DECLINED_OR_NOT]],
    ['transactionDisposition=Declined', ['review', 'c2']],
    ['transactionDisposition=1', ['review', 'c2']],
    ['transactionDisposition=DeclinedOffline', ['offline']],
    ['transactionDisposition=0', ['dinar', 'yen', 'b1', 'c3', 'c1']],
    ['transactionDisposition=Voided', []],
    ['needsReview=true', ['review']],
    ['needsReview=true&transactionDisposition=Approved', []],
    ['minAmount=25', ['offline', 'yen', 'c3']],
    ['maxAmount=10', ['refused', 'dinar', 'c1']],
    ['minAmount=10.51&maxAmount=11', ['review', 'b1', 'c2']],
    ['minAmount=1.5&maxAmount=1.5', ['dinar']],
    ['minAmount=1000&maxAmount=1000.000', ['yen']],
    ['minAmount=12&maxAmount=11', []],
    ['limit=2', ['refused', 'offline']],
    ['limit=2&offset=3', ['dinar', 'yen']],
    ['offset=8', ['c1']],
    ['offset=9', []],
  ])('is filtered by %s', async (query, expected) => {
    expect(await references(`?${query}`)).toEqual(expected);
  });

  test('is filtered by UTC days, both ends included', async () => {
    const { database } = installation;
    const move = (reference: string, at: string) =>
      database.query('update transactions set created_at = $2 where merchant_reference = $1', [reference, at]);
    await move('f1', '2026-03-02T00:00:00.000Z');
    const days = async (query: string) => references(`?${query}`, 'other integrator');
    expect(await days('startDate=2026-03-02&endDate=2026-03-02')).toEqual(['f1']);
    await move('f1', '2026-03-02T23:59:59.999Z');
    expect(await days('startDate=2026-03-02&endDate=2026-03-02')).toEqual(['f1']);
    expect(await days('endDate=2026-03-02')).toEqual(['f1']);
    expect(await days('startDate=2026-03-03')).toEqual([]);
    expect(await days('endDate=2026-03-01')).toEqual([]);
  });

  test('leads through all its pages with Link, each transaction once', async () => {
    const seen: string[] = [];
    let path: string | undefined = '/transactions?limit=4&integrator=10';
    for (let pages = 0; path !== undefined && pages < 10; pages++) {
      const response: RawResponse = await send(path);
      seen.push(
        ...(response.body as TransactionView[]).map(({ merchantTransactionReference }) => merchantTransactionReference),
      );
      path = /^<([^>]+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
    }
    expect(seen).toEqual(await references(''));
  });

  test('keeps its filters on the next page, and drops the offset', async () => {
    const { headers } = await send('/transactions?limit=1&transactionDisposition=Declined&offset=0');
    const next = new URL(/^<([^>]+)>/.exec(headers.get('link')!)![1]!, installation.url);
    expect(Object.fromEntries(next.searchParams)).toEqual({
      limit: '1',
      transactionDisposition: 'Declined',
      after: await idOf('review'),
    });
    expect(await references(`${next.search}`)).toEqual(['c2']);
  });

  test('has no Link on its last page', async () => {
    expect((await send('/transactions?limit=100')).headers.has('link')).toBe(false);
  });

  test.each([
    ...['limit=0', 'limit=501', 'limit=x', 'limit=1.5', 'limit=-1', 'limit=', 'offset=-1', 'offset=1e2'],
    ...['minAmount=-1', 'minAmount=1e3', 'minAmount=', 'maxAmount=NaN', 'maxAmount=0x10', 'maxAmount=1%2C5'],
    ...['startDate=2026-02-30', 'startDate=01-03-2026', 'endDate=2026-1-1', 'startDate=2026-03-02&endDate=2026-03-01'],
    ...['transactionDisposition=approved', 'transactionDisposition=6', 'needsReview=yes', 'after=1', 'unknown=1'],
    ...['merchantReference=', `merchantReference=${'x'.repeat(256)}`, 'merchantReference=a%00b', 'limit=1&limit=2'],
  ])('refuses %s with 400 and a pointer', async (query) => {
    const problem = problemOf(await send(`/transactions?${query}`));
    expect(problem).toMatchObject({ status: 400, errorCode: 104 });
    expect(problem.errors?.every(({ pointer }) => pointer.startsWith('/querystring'))).toBe(true);
  });
});

describe("another owner's", () => {
  test.each([
    ['integrator=11', 'integrator'],
    ['integrator=999', 'integrator'],
    ['integrator=x', 'integrator'],
    ['merchant=1101', 'integrator'],
    ['merchant=9999', 'integrator'],
    ['merchant=1002', 'merchant'],
    ['integrator=11', 'merchant'],
    ['merchant=9999', 'acquirer'],
    ['integrator=20', 'acquirer'],
  ])('%s, requested as %s, is 403, known or not', async (query, as) => {
    expect(problemOf(await send(`/transactions?${query}`, as))).toMatchObject({ status: 403, errorCode: 101 });
  });

  test.each([
    ['f1', 'integrator'],
    ['t1', 'integrator'],
    ['t1', 'acquirer'],
    ['b1', 'merchant'],
    ['c1', 'other integrator'],
    ['c1', 'other acquirer'],
  ])('transaction %s, requested as %s, is 404 exactly like an unknown one', async (reference, as) => {
    for (const suffix of ['', '/events']) {
      const id = await idOf(reference);
      const unknown = randomUUID();
      const [others, nobodys] = [
        await send(`/transactions/${id}${suffix}`, as),
        await send(`/transactions/${unknown}${suffix}`, as),
      ];
      const reported = ({ status, body }: RawResponse, asked: string) => {
        const { requestId: _, ...problem } = problemOf({ status, body, ms: 0 });
        return JSON.stringify(problem).replaceAll(asked, 'id');
      };
      expect(others.status).toBe(404);
      expect(reported(others, id)).toBe(reported(nobodys, unknown));
      expect(others.headers.get('content-type')).toBe(nobodys.headers.get('content-type'));
    }
  });

  test('is not reached with a page that begins after it', async () => {
    const after = await idOf('t1');
    expect(await references(`?after=${after}`)).toEqual(await references(`?after=${randomUUID()}`));
  });
});

describe('one transaction', () => {
  test.each(['x', '1', 'undefined', randomUUID().slice(1), `${randomUUID()}0`])('%s is not an id: 400', async (id) => {
    const problem = problemOf(await send(`/transactions/${id}`));
    expect(problem).toMatchObject({ status: 400, errorCode: 104, errors: [{ pointer: '/params/id' }] });
  });

  test('contains its audit trail, oldest first', async () => {
    const { body } = await send(`/transactions/${await idOf('c1')}/events`);
    const events = body as { attempt: number; from: string | null; to: string; at: string }[];
    expect(events.map(({ from, to, attempt }) => [attempt, from, to])).toEqual([
      [1, null, 'RequestReceived'],
      [1, 'RequestReceived', 'ReadyToSubmitToPaymentProcessor'],
      [1, 'ReadyToSubmitToPaymentProcessor', 'SubmittedToPaymentProcessor'],
      [1, 'SubmittedToPaymentProcessor', 'ResponseReceivedFromPaymentProcessor'],
      [1, 'ResponseReceivedFromPaymentProcessor', 'RespondedToPhone'],
    ]);
    for (const { at } of events) expect(at).toMatch(TIMESTAMP);
  });
});
