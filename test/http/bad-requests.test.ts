import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import type { Phone } from '../../src/tools/phone/phone.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { postTap, type RequestChanges, request } from '../support/requests.ts';
import { problemOf } from '../support/responses.ts';

let installation: Installation;
let phone: Phone;
let tap: TapRequest;
beforeAll(async () => {
  installation = await startInstallation();
  phone = installation.phone();
  tap = await phone.seal({ amount: '10.00', currency: 'ZAR' });
});
afterEach(async () => {
  // Nothing of a refused request is stored, and nothing reaches the switch.
  expect((await installation.database.query('select from transactions')).rowCount).toBe(0);
  expect(installation.asked).toEqual({ authorizations: 0, reversals: 0 });
  await expectInvariants(installation);
});
afterAll(() => installation.stop());

async function refusalOf(changes: RequestChanges) {
  const response = await postTap(installation.url, phone, tap, changes);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  return problemOf(response);
}

function pointersOf({ errors = [] }: { errors?: readonly { pointer: string }[] | undefined }): string[] {
  return errors.map(({ pointer }) => pointer);
}

describe('a body that violates its schema is 400, 104, with a pointer to each fault', () => {
  const valid = { merchantReference: 'r', generalCardData: 'AA==', paymentCardData: 'AA==' };

  test.each([
    ['no merchantReference', { ...valid, merchantReference: undefined }, ['/merchantReference']],
    ['an empty merchantReference', { ...valid, merchantReference: '' }, ['/merchantReference']],
    ['a blank merchantReference', { ...valid, merchantReference: ' \u200b ' }, ['/merchantReference']],
    ['a merchantReference that is a number', { ...valid, merchantReference: 4711 }, ['/merchantReference']],
    ['a merchantReference of 256 characters', { ...valid, merchantReference: 'x'.repeat(256) }, ['/merchantReference']],
    ['a merchantReference with NUL', { ...valid, merchantReference: 'a\0b' }, ['/merchantReference']],
    ['a merchantReference with a line feed', { ...valid, merchantReference: 'a\nb' }, ['/merchantReference']],
    ['a merchantReference in reversed order', { ...valid, merchantReference: 'a\u202eb' }, ['/merchantReference']],
    ['a merchantReference in an isolate', { ...valid, merchantReference: '\u2066a\u2069' }, ['/merchantReference']],
    ['no generalCardData', { ...valid, generalCardData: undefined }, ['/generalCardData']],
    ['empty generalCardData', { ...valid, generalCardData: '' }, ['/generalCardData']],
    ['generalCardData that is an object', { ...valid, generalCardData: {} }, ['/generalCardData']],
    ['generalCardData beyond its length', { ...valid, generalCardData: 'A'.repeat(87_385) }, ['/generalCardData']],
    ['no paymentCardData', { ...valid, paymentCardData: undefined }, ['/paymentCardData']],
    ['paymentCardData that is null', { ...valid, paymentCardData: null }, ['/paymentCardData']],
    ['paymentCardData beyond its length', { ...valid, paymentCardData: 'A'.repeat(98_305) }, ['/paymentCardData']],
    ['nothing in it', {}, ['/merchantReference', '/generalCardData', '/paymentCardData']],
    ['an array', [valid], ['']],
    ['a string', '"text"', ['']],
    ['null', 'null', ['']],
  ] as const)('%s', async (_what, body, pointers) => {
    const problem = await refusalOf({ body });
    expect(problem).toMatchObject({ status: 400, errorCode: 104, title: 'Bad Request' });
    expect([...new Set(pointersOf(problem))]).toEqual(pointers);
  });

  test('a lone surrogate, which no database accepts', async () => {
    const problem = await refusalOf({
      body: '{"merchantReference":"\\ud800","generalCardData":"AA==","paymentCardData":"AA=="}',
    });
    expect(problem).toMatchObject({ status: 400, errorCode: 104 });
    expect(pointersOf(problem)).toEqual(['/merchantReference']);
  });

  test('the wrong value is not repeated', async () => {
    const problem = await refusalOf({ body: { ...valid, merchantReference: 'secret\n' } });
    expect(JSON.stringify(problem)).not.toContain('secret');
  });
});

describe('a body that is not JSON is 400, 103', () => {
  test.each([
    ['empty', ''],
    ['cut short', '{"merchantReference":"r"'],
    ['not JSON at all', 'merchantReference=r'],
    ['with a __proto__', '{"__proto__":{"isAdmin":true},"merchantReference":"r"}'],
    ['with a constructor.prototype', '{"constructor":{"prototype":{"isAdmin":true}},"merchantReference":"r"}'],
  ])('%s', async (_what, body) => {
    expect(await refusalOf({ body })).toMatchObject({ status: 400, errorCode: 103 });
  });

  test('a body that is nested a hundred thousand levels deep', async () => {
    const depth = 90_000;
    const body = `{"merchantReference":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    expect(await refusalOf({ body })).toMatchObject({ status: 400 });
  });
});

describe('the headers of a body', () => {
  test.each([
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
  ])('content type %s is 415', async (type) => {
    expect(await refusalOf({ headers: { 'content-type': type } })).toMatchObject({ status: 415, errorCode: 104 });
  });

  test.each([
    'application/json; charset=utf-16',
    'application/json;charset="utf-16"',
    'application/json; charset=ISO-8859-1',
    'application/json; charset=utf-8; charset=utf-16',
    'application/json; charset=',
  ])('content type %s is 415, because JSON is read as UTF-8', async (type) => {
    expect(await refusalOf({ headers: { 'content-type': type } })).toMatchObject({ status: 415, errorCode: 104 });
  });

  test.each([
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'Application/JSON ; Charset="UTF-8"',
    'application/json; x=y',
  ])('content type %s is read', async (type) => {
    const problem = await refusalOf({ headers: { 'content-type': type }, body: {} });
    expect(problem).toMatchObject({ status: 400, errorCode: 104 });
  });

  test('an unknown query parameter is 400 and named, but not its value, nor a name that may be a card number or a key', async () => {
    const query = 'zQ7marker=zQ8marker&another=1&4111111111111111=1&tw_live_0123=1';
    for (const path of ['/transactions', '/acquirers/me']) {
      const headers = { 'x-api-key': await installation.apiKey() };
      const { status, body } = await request(installation.url, `${path}?${query}`, { headers });
      expect(status).toBe(400);
      expect(body).toMatchObject({
        errorCode: 104,
        errors: expect.arrayContaining([
          { pointer: '/querystring', detail: 'contains an unknown parameter' },
          { pointer: '/querystring/another', detail: 'is an unknown parameter' },
        ]),
      });
      expect(body).toHaveProperty('errors.length', 2);
      expect(JSON.stringify(body)).not.toMatch(/zQ[78]marker|4111|tw_live/);
    }
  });

  test('a body over 192 KB is 413', async () => {
    const body = { merchantReference: 'r', generalCardData: 'A'.repeat(192 * 1024), paymentCardData: 'AA==' };
    expect(await refusalOf({ body })).toMatchObject({ status: 413, errorCode: 104 });
  });

  test('a login over 8 KB is 413, and says how long it may be', async () => {
    const body = JSON.stringify({ username: 'u', password: 'x'.repeat(8_192) });
    for (const path of ['/login', '/ops/session']) {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(new URL(path, installation.url), { method: 'POST', headers, body });
      expect(await response.json()).toMatchObject({ status: 413, detail: 'The body must not exceed 8192 bytes.' });
    }
  });

  test.each([
    ['missing', undefined],
    ['empty', ''],
    ['of 129 characters', 'x'.repeat(129)],
    ['with a control character', 'a\tb'],
  ])('a device header that is %s is 400, 104', async (_what, device) => {
    const problem = await refusalOf({ headers: { 'x-device-installation-id': device } });
    expect(problem).toMatchObject({ status: 400, errorCode: 104 });
    expect(pointersOf(problem)).toEqual(['/headers/x-device-installation-id']);
  });
});
