import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { IdempotencyKeys } from '../../src/store/transactions/idempotency.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { freshKeyRing } from '../support/card-data.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { linkBody } from '../support/links.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { type RawResponse, request } from '../support/requests.ts';
import { untilResponded } from '../support/transactions.ts';
import { Backend } from '../webhooks/backend.ts';

let installation: Installation;
let apiKey: string;
beforeAll(async () => {
  installation = await startInstallation();
  apiKey = await installation.apiKey();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const sell = () => sellApproved(installation, '100.00');
const withKey = (key: string, credential = apiKey) => ({ 'x-api-key': credential, 'idempotency-key': key });
const stored = (id: string) => storedSale(installation.database, id);
const REPLAYED = 'idempotency-replayed';

describe('a request with an Idempotency-Key', () => {
  test('gets the stored response the second time, marked as such', async () => {
    const sale = await sell();
    const key = withKey(randomUUID());
    const first = await voidSale(installation, sale, key);
    expect(first.status).toBe(202);
    expect(first.headers.get(REPLAYED)).toBeNull();
    const again = await voidSale(installation, sale, key);
    expect({ status: again.status, body: again.body }).toEqual({ status: 202, body: first.body });
    expect(again.headers.get(REPLAYED)).toBe('true');
    for (const name of ['content-type', 'location']) expect(again.headers.get(name)).toBe(first.headers.get(name));
    expect(again.headers.get('x-correlation-id')).not.toBe(first.headers.get('x-correlation-id'));
    await eventually(async () => expect(await stored(sale)).toMatchObject({ disposition: 5 }));
  });

  test('gets the stored refusal, too', async () => {
    const sale = await sell();
    const asked = { amount: '200.00', refundReference: randomUUID() };
    const key = withKey(randomUUID());
    const first = await refundSale(installation, sale, asked, key);
    const again = await refundSale(installation, sale, asked, key);
    expect(again).toMatchObject({ status: 409, body: first.body as object });
    expect(again.headers.get(REPLAYED)).toBe('true');
    expect(again.headers.get('content-type')).toContain('application/problem+json');
  });

  test('is the same quoted and bare, and in any order of its fields', async () => {
    const sale = await sell();
    const [key, refundReference] = [randomUUID(), randomUUID()];
    const first = await refundSale(installation, sale, { amount: '10.00', refundReference }, withKey(`"${key}"`));
    const again = await refundSale(installation, sale, { refundReference, amount: '10.00' }, withKey(key));
    expect(again.body).toEqual(first.body);
    expect(again.headers.get(REPLAYED)).toBe('true');
  });

  test.each([
    ['with another body', { amount: '11.00' }, false],
    ['for another sale', {}, true],
  ])('is refused with 422 %s', async (_what, changes, isOther) => {
    const [sale, other] = [await sell(), await sell()];
    const key = withKey(randomUUID());
    const asked = { amount: '10.00', refundReference: randomUUID() };
    await refundSale(installation, sale, asked, key);
    const response = await refundSale(installation, isOther ? other : sale, { ...asked, ...changes }, key);
    expect(response).toMatchObject({ status: 422, body: { errorCode: 104, title: 'Unprocessable Content' } });
    expect(response.headers.get(REPLAYED)).toBeNull();
    expect(await stored(sale)).toMatchObject({ refundedMinor: 1_000 });
  });

  test('is refused with 409 while the first one runs', async () => {
    const sale = await sell();
    const key = withKey(randomUUID());
    const asked = { amount: '20.69', refundReference: randomUUID() };
    const first = refundSale(installation, sale, asked, key);
    await eventually(async () => expect(await stored(sale)).toMatchObject({ refundedMinor: 2_069 }));
    expect(await refundSale(installation, sale, asked, key)).toMatchObject({ status: 409, body: { errorCode: 134 } });
    const { body } = await first;
    expect(body).toMatchObject({ type: 'Indeterminate' });
    const again = await refundSale(installation, sale, asked, key);
    expect(again).toMatchObject({ status: 200, body: body as object });
    await eventually(async () => expect(await stored(sale)).toMatchObject({ refundedMinor: 0 }));
    await untilResponded(installation.database, (body as { serviceReference: string }).serviceReference);
  });

  test.each([
    '/consumer/applink',
    '/consumer/intentTransaction',
  ])('%s recognizes its own link after a crash between its creation and the stored response', async (path) => {
    const key = randomUUID();
    const body = JSON.stringify(linkBody());
    const create = (headers = withKey(key), sent = body) =>
      request(installation.url, path, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: sent,
      });
    const first = await create();
    expect(first.status).toBe(200);
    // As the crash leaves it: claimed, without a response, and given up after a while.
    await installation.database.query(
      `update idempotency_keys set status = null, sealed_response = null,
         started_at = clock_timestamp() - interval '10 minutes' where key = $1`,
      [key],
    );
    const repeated = await create();
    const named = path === '/consumer/applink' ? 'reference' : 'id';
    const idOf = ({ body: response }: RawResponse) => (response as Record<string, unknown>)[named];
    expect(repeated.status, JSON.stringify(repeated.body)).toBe(200);
    expect(idOf(repeated)).toBe(idOf(first));
    expect((await create()).headers.get(REPLAYED)).toBe('true');
    for (const other of [withKey(randomUUID()), withKey(key, await installation.apiKey())])
      expect(await create(other)).toMatchObject({ status: 409, body: { errorCode: 124 } });
  });

  test('is another one with another credential and for another route', async () => {
    const [sale, other] = [await sell(), await sell()];
    const key = randomUUID();
    const asked = { amount: '10.00', refundReference: randomUUID() };
    const first = await refundSale(installation, sale, asked, withKey(key));
    const byOther = await refundSale(installation, sale, asked, withKey(key, await installation.apiKey()));
    expect(byOther.headers.get(REPLAYED)).toBeNull();
    expect(byOther.body).toEqual(first.body); // because of its refundReference
    expect((await voidSale(installation, other, withKey(key))).status).toBe(202);
    await eventually(async () => expect(await stored(other)).toMatchObject({ disposition: 5 }));
  });

  test('belongs to the identity in the token, not to the token', async () => {
    const sale = await sell();
    const asked = { amount: '10.00', refundReference: randomUUID() };
    const key = randomUUID();
    const bearer = async () => ({
      // A new token each time.
      authorization: `Bearer ${await signMerchantToken(installation.profile(), { scope: 'transactions:refund' })}`,
      'idempotency-key': key,
    });
    const first = await refundSale(installation, sale, asked, await bearer());
    const again = await refundSale(installation, sale, asked, await bearer());
    expect(first.status).toBe(200);
    expect(again.headers.get(REPLAYED)).toBe('true');
  });

  test('returns nothing to a caller without the scope or the credential, and stores no such response', async () => {
    const sale = await sell();
    const asked = { amount: '10.00', refundReference: randomUUID() };
    const key = randomUUID();
    const denied = await refundSale(installation, sale, asked, { 'idempotency-key': key });
    expect(denied.status).toBe(401);
    expect((await refundSale(installation, sale, asked, withKey(key))).status).toBe(200);
  });

  test.each([
    ['empty', '""'],
    ['longer than 255 characters', 'k'.repeat(256)],
    ['with a quote inside', 'a"b'],
  ])('is refused with 400 if the key is %s', async (_what, key) => {
    const response = await refundSale(
      installation,
      await sell(),
      { amount: '1.00', refundReference: randomUUID() },
      withKey(key),
    );
    const errors = [{ pointer: '/headers/idempotency-key' }];
    expect(response).toMatchObject({ status: 400, body: { errorCode: 104, errors } });
  });
});

describe('other creations', () => {
  test('a processor of an acquirer is added once', async () => {
    const { database, url } = installation;
    const count = async () => (await database.query('select from processors where acquirer_id = 1')).rowCount;
    const operator = await saveApiKey(database, 'operator', ['processors:manage']);
    const headers = { ...withKey(randomUUID(), operator), 'content-type': 'application/json' };
    const config = { addresses: [{ host: 'switch.example', port: 9101 }], acquirerId: '50001' };
    const body = JSON.stringify({ type: 'type-1', config });
    const add = () => request(url, '/acquirers/1/processors', { method: 'POST', headers, body });
    const before = await count();
    const first = await add();
    const again = await add();
    expect(first.status).toBe(201);
    expect({ status: again.status, body: again.body }).toEqual({ status: 201, body: first.body });
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(await count()).toBe(before! + 1);
    const { id } = first.body as { id: number };
    await request(url, `/acquirers/1/processors/${id}`, { method: 'DELETE', headers: { 'x-api-key': operator } });
  });

  test('a secret that is shown once is shown again for the same request, never cached and never stored in clear', async () => {
    const { database, url } = installation;
    const backend = await Backend.open(installation);
    await backend.register('https://8.8.8.8/hook');
    const authorization = `Bearer ${await installation.phone().token()}`;
    const headers = { ...withKey(randomUUID()), authorization, 'content-type': 'application/json' };
    const issue = () => request(url, '/integrator/callbackUrl/secret', { method: 'POST', headers, body: '{}' });
    const first = await issue();
    const again = await issue();
    expect(first.status).toBe(200);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('cache-control')).toBe('no-store');
    const { secret } = first.body as { secret: string };
    const { rows } = await database.query('select row_to_json(k)::text as text from idempotency_keys k');
    const hex = Buffer.from(secret).toString('hex');
    expect(rows.filter(({ text }) => text.includes(secret) || text.includes(hex))).toEqual([]);
    await database.query('delete from webhook_endpoints');
  });
});

describe('the stored response', () => {
  test('is sealed, and deleted after a day', async () => {
    const { database } = installation;
    const sale = await sell();
    const key = randomUUID();
    const first = await voidSale(installation, sale, withKey(key));
    await eventually(async () => expect(await stored(sale)).toMatchObject({ disposition: 5 }));
    const { rows } = await database.query<{ text: string }>(
      `select encode(sealed_response, 'escape') as text from idempotency_keys where key = $1`,
      [key],
    );
    expect(rows[0]!.text).not.toContain((first.body as { serviceReference: string }).serviceReference);
    await database.query(`update idempotency_keys set started_at = started_at - interval '25 hours' where key = $1`, [
      key,
    ]);
    expect(await voidSale(installation, sale, withKey(key))).toMatchObject({ status: 409, body: { errorCode: 213 } });
    await database.query(`update idempotency_keys set started_at = started_at - interval '25 hours' where key = $1`, [
      key,
    ]);
    const keys = new IdempotencyKeys(database, await freshKeyRing());
    expect(await keys.purge()).toBe(1);
    keys.close();
  });

  test('is replaced by that of the next request if the first one died, and only then', async () => {
    const { database } = installation;
    const keys = new IdempotencyKeys(database, await freshKeyRing());
    const asked = { credential: 'key 1', route: 'POST /x', key: randomUUID(), fingerprint: Buffer.from('a') };
    const first = await keys.claim(asked);
    expect(first.kind).toBe('claimed');
    expect(await keys.claim(asked)).toEqual({ kind: 'running' });
    expect(await keys.claim({ ...asked, fingerprint: Buffer.from('b') })).toEqual({ kind: 'otherRequest' });
    await database.query(`update idempotency_keys set started_at = started_at - interval '3 minutes' where key = $1`, [
      asked.key,
    ]);
    const second = await keys.claim(asked);
    if (first.kind !== 'claimed' || second.kind !== 'claimed') throw new Error('not claimed');
    const response = { status: 201, headers: { location: '/x/1' }, body: '{}' };
    await keys.keep(second.claim, response);
    await keys.keep(first.claim, { ...response, body: 'too late' });
    await keys.release(first.claim);
    expect(await keys.claim(asked)).toEqual({ kind: 'responded', response });
    keys.close();
  });

  test('a stored response of more than 64 KB records only that it was sent', async () => {
    const keys = new IdempotencyKeys(installation.database, await freshKeyRing());
    const asked = { credential: 'key 1', route: 'POST /x', key: randomUUID(), fingerprint: Buffer.from('a') };
    const claimed = await keys.claim(asked);
    if (claimed.kind !== 'claimed') throw new Error('not claimed');
    await keys.keep(claimed.claim, { status: 201, headers: {}, body: 'x'.repeat(65_537) });
    expect(await keys.claim(asked)).toEqual({ kind: 'responded', response: { status: 201, headers: {}, body: null } });
    keys.close();
  });
});
