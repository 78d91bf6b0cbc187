import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SAMPLE_CARDS } from '../../src/card/sample-tap.ts';
import { localDateTime } from '../../src/kits/processor-kit/field-values.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type StartedGateway, startInstallation } from '../support/installation.ts';
import { AppPhone, ask, createLink, type HandedLink, letExpire, MANDATE, statusOf } from '../support/links.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';

let installation: Installation;
let qa: StartedGateway;
beforeAll(async () => {
  installation = await startInstallation();
  qa = await installation.startGateway({
    TAPWIRE_ENV: 'qa',
    TRUSTED_PROXIES: '127.0.0.1',
    BASE_URL: 'https://api.example',
    APP_URL: 'https://pay.example',
    INTENT_ACTION: 'com.example.pay.TAP',
  });
});
afterAll(() => installation.stop());

/** As the proxy in front reports it. */
const HTTPS = { 'x-forwarded-proto': 'https' };

const get = (path: string, headers: Record<string, string> = {}, url = installation.url) =>
  request(url, path, { headers });
const state = (link: HandedLink) => ask(installation, link, `/pay/${link.id}/state`);

describe('the page', () => {
  test('is the same for every link, with a strict policy', async () => {
    const page = await get(`/pay/${randomUUID()}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const policy = page.headers.get('content-security-policy')!;
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'none'", "script-src 'self'"]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(String(page.body)).not.toMatch(/<script>|<style|style=|\son\w+=|https?:\/\//);
    expect((await get(`/pay/${randomUUID()}`)).body).toBe(page.body);
  });

  test('has all of its parts here, and sends each once', async () => {
    const { body } = await get(`/pay/${randomUUID()}`);
    const parts = [...String(body).matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => `/pay/${path}`);
    expect(parts.length).toBeGreaterThanOrEqual(5);
    for (const part of parts) {
      const { status, headers } = await get(part);
      expect(status, part).toBe(200);
      if (/\.(?:js|ts)$/.test(part)) expect(headers.get('content-type'), part).toMatch(/^text\/javascript/);
      const again = await get(part, { 'if-none-match': headers.get('etag')! });
      expect([again.status, again.body || undefined], part).toEqual([304, undefined]);
    }
  });

  test('opens with anything that a messenger has added to its address', async () => {
    expect((await get(`/pay/${randomUUID()}?utm_source=chat&fbclid=a%20b`)).status).toBe(200);
  });

  test.each([
    '1234',
    'assets',
    `${randomUUID()}x`,
    '%3Cscript%3E',
  ])('has the status 404 at /pay/%s', async (reference) => {
    const page = await get(`/pay/${reference}`);
    expect(page.status).toBe(404);
    expect(page.body).toBe((await get(`/pay/${randomUUID()}`)).body);
  });

  test('has a virtual phone only in dev, and the link to the app if there is one', async () => {
    const dev = String((await get(`/pay/${randomUUID()}`)).body);
    expect(dev).toContain('assets/virtual-phone.js');
    expect(dev).not.toContain('intent-action');
    const strict = String((await get(`/pay/${randomUUID()}`, HTTPS, qa.url)).body);
    expect(strict).not.toMatch(/virtual|test card/i);
    expect(strict).toContain('<meta name="intent-action" content="com.example.pay.TAP" />');
    const link = await createLink(installation);
    for (const path of ['/dev/virtual-reader/tap', '/dev/virtual-reader/pin']) {
      const response = await request(qa.url, path, {
        method: 'POST',
        headers: { ...HTTPS, authorization: `Bearer ${link.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ card: 'visa', pin: '1234' }),
      });
      expect(problemOf(response)).toMatchObject({ status: 404, errorCode: 122 });
    }
    for (const name of ['virtual-phone.js', 'tap-session.js', 'seal-card-data.ts', 'card-data.ts']) {
      expect((await get(`/pay/assets/${name}`, HTTPS, qa.url)).status, name).toBe(404);
    }
    const operations = async (url: string) => String((await get('/pay/assets/operations.ts', HTTPS, url)).body);
    expect(await operations(installation.url)).toContain('virtual-reader');
    expect(await operations(qa.url)).not.toMatch(/virtual|transactions/);
  });
});

describe('the requests of the page', () => {
  test('return what a customer may know of the link, and do not count as a scan', async () => {
    const link = await createLink(installation, { amount: '99.90', paymentReference: 'order-1' });
    const { body, headers } = await state(link);
    expect(body).toEqual({
      merchantName: 'Corner Coffee',
      paymentReference: 'order-1',
      type: 'Tap',
      amount: '99.90',
      currency: 'ZAR',
      isConsumerApp: true,
      qrCodeState: 'QRCodeGenerated',
      disposition: null,
      expired: false,
      cancelled: false,
      secondsLeft: expect.any(Number),
      awaitsPin: false,
      waitedSeconds: 0,
    });
    const { secondsLeft } = body as { secondsLeft: number };
    expect(secondsLeft).toBeGreaterThan(14 * 60);
    expect(secondsLeft).toBeLessThanOrEqual(15 * 60);
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await state(link)).body).toMatchObject({ qrCodeState: 'QRCodeGenerated' });
    await letExpire(installation.database, link.id);
    expect((await state(link)).body).toMatchObject({ expired: true, secondsLeft: 0 });
  });

  test.each([
    ['both', { instalmentAmount: '250.00', maxCollectionAmount: '375.50' }],
    ['instalmentOnly', { instalmentAmount: '250.00' }],
    ['maximumOnly', { maxCollectionAmount: '375.50' }],
  ])('return the amounts of a debit order that are to be shown: %s', async (instalmentVisibility, amounts) => {
    const link = await createLink(installation, { ...MANDATE, instalmentVisibility }, '/consumer/tt3Applink');
    const { body } = await state(link);
    const { creditorABSN, collectionDay, contractReference } = MANDATE;
    expect(body).toMatchObject({ type: 'TT3' });
    expect((body as { mandate: object }).mandate).toEqual({
      creditorABSN,
      collectionDay,
      contractReference,
      ...amounts,
    });
  });

  test('return nothing of another link, and nothing without a token', async () => {
    const [link, other] = [await createLink(installation), await createLink(installation)];
    for (const question of ['state', 'qr-code']) {
      const strange = await ask(installation, link, `/pay/${other.id}/${question}`);
      const unknown = await ask(installation, link, `/pay/${randomUUID()}/${question}`);
      expect(problemOf(strange)).toMatchObject({ status: 404, errorCode: 122 });
      expect(problemOf(unknown)).toMatchObject({ status: 404, errorCode: 122 });
      expect(problemOf(await get(`/pay/${link.id}/${question}`))).toMatchObject({ status: 401 });
      const key = { 'x-api-key': await installation.apiKey() };
      expect(problemOf(await get(`/pay/${link.id}/${question}`, key))).toMatchObject({ status: 401 });
    }
  });
});

describe('the virtual reader', () => {
  const post = (link: HandedLink, path: string, body: object) =>
    ask(installation, link, `/dev/virtual-reader/${path}`, body);

  test('reads a test card for the amount of the link', async () => {
    const link = await createLink(installation, { amount: '12.34' });
    for (const [card, { aid }] of Object.entries(SAMPLE_CARDS)) {
      const { body } = await post(link, 'tap', { card });
      const { values } = body as { values: Record<string, string> };
      expect(values).toMatchObject({ '9F02': '000000001234', '5F2A': '0710', '84': aid });
    }
  });

  test("has the clock of the merchant's time zone, like the receipt", async () => {
    const merchant = 'Asia/Kathmandu';
    await installation.database.query(`update merchants set time_zone = $1 where id = '1001'`, [merchant]);
    const link = await createLink(installation);
    await eventually(async () => {
      const { body } = await post(link, 'tap', { card: 'visa' });
      const { values } = body as { values: Record<string, string> };
      const stamp = `20${values['9A']}${values['9F21']}`;
      const now = Date.now();
      const around = [now - 60_000, now].map((at) => localDateTime(at, merchant));
      expect(stamp >= around[0]! && stamp <= around[1]!, `${stamp} in ${around}`).toBe(true);
    });
  });

  test('enciphers a PIN differently each time, and never reveals it', async () => {
    const link = await createLink(installation);
    const [one, two] = [0, 1].map(() => post(link, 'pin', { card: 'visa', pin: '12345' }));
    const values = [await one!, await two!].map(({ body }) => (body as { values: Record<string, string> }).values);
    for (const each of values) expect(Object.keys(each).sort()).toEqual(['9F34', 'DF8A11', 'DF8A12']);
    expect(values[0]!.DF8A12).not.toBe(values[1]!.DF8A12);
    expect(values[0]!.DF8A11).not.toBe(values[1]!.DF8A11);
    expect(JSON.stringify(values)).not.toContain('12345');
  });

  test.each([
    ['tap', { card: 'diners' }],
    ['tap', {}],
    ['pin', { card: 'visa', pin: '123' }],
    ['pin', { card: 'visa', pin: 'abcd' }],
  ])('refuses %s of %j, and does not repeat it', async (path, body) => {
    const response = await post(await createLink(installation), path, body);
    expect(problemOf(response)).toMatchObject({ status: 400, errorCode: 104 });
    expect(JSON.stringify(response.body)).not.toMatch(/"123"|abcd/);
  });

  test('is for every holder of a link', async () => {
    const response = await request(installation.url, '/dev/virtual-reader/tap', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ card: 'visa' }),
    });
    expect(problemOf(response)).toMatchObject({ status: 401 });
  });
});

test.each(['CLF', 'UYW'])('a link in %s keeps four decimals up to the list of transactions', async (currency) => {
  const link = await createLink(installation, { amount: '12.3000', currencyCode: currency });
  expect((await ask(installation, link, `/consumer/qrCodeDetails/${link.id}`)).body).toMatchObject({
    amount: '12.3000',
    currency,
  });
  expect(outcomeOf(await new AppPhone(installation, link).pay({ amount: '12.3000', currency }))).toMatchObject({
    type: 'Approved',
    amount: 123_000,
  });
  expect(await statusOf(installation, link.id)).toMatchObject({ amount: '12.3000', currency });
  const headers = { 'x-api-key': await installation.apiKey() };
  const listed = async (range: string) => {
    const { body } = await request(installation.url, `/transactions?${range}`, { headers });
    return (body as { currency: string }[]).filter((each) => each.currency === currency).length;
  };
  expect(await listed('minAmount=12.3000&maxAmount=12.3000')).toBe(1);
  expect(await listed('minAmount=12.3001')).toBe(0);
  await expect(createLink(installation, { amount: '12.30007', currencyCode: currency })).rejects.toThrow('400');
});
