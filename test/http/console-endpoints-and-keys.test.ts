import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifyWebhook } from '../../src/webhooks/webhook-signature.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { request } from '../support/requests.ts';
import { type Receiver, startReceiver, status } from '../webhooks/receiver.ts';

const LINKS = '/acquirers/1/integrators/10/callbacks/links';

let installation: Installation;
let receiver: Receiver;
const keys = new Map<number | 'operator', string>();
beforeAll(async () => {
  [installation, receiver] = await Promise.all([startInstallation({ role: 'api' }), startReceiver()]);
  const { database } = installation;
  for (const acquirerId of [1, 2])
    keys.set(acquirerId, await saveApiKey(database, { acquirerId }, ['webhooks:manage', 'processors:manage']));
  keys.set('operator', await saveApiKey(database, 'operator', ['processors:manage']));
});
afterAll(async () => {
  await receiver?.close();
  await installation?.stop();
});

function call(method: string, path: string, body?: object, by: number | 'operator' = 1) {
  return request(installation.url, path, {
    method,
    headers: { 'x-api-key': keys.get(by)!, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

test('the test of an endpoint is signed with its secret, concerns no transaction, and is recorded', async () => {
  expect((await call('POST', `${LINKS}/test`)).body).toEqual([]);
  await call('PUT', LINKS, { callbackUrl: receiver.url });
  const { secret } = (await call('POST', `${LINKS}/secret`, {})).body as { secret: string };
  const tested = await call('POST', `${LINKS}/test`);
  expect(tested.body).toEqual([
    { verdict: 'good', url: receiver.url, status: 204, error: null, durationMs: expect.any(Number), response: '' },
  ]);
  const [sent] = receiver.received;
  const body = JSON.parse(String(sent!.body));
  expect(body).toEqual({ type: 'endpoint.test', timestamp: expect.any(String), id: sent!.headers['webhook-id'] });
  // It is signed as all webhooks are, and no receiver takes it for a payment.
  const verify = (by: string) => verifyWebhook(by, { headers: sent!.headers, body: sent!.body });
  expect(verify(secret)).toMatchObject({ isGenuine: false, check: 'payload' });
  expect(verify(`whsec_${'A'.repeat(44)}`)).toMatchObject({ isGenuine: false, check: 'signature' });
  receiver.respond = status(500, {}, 'out of order');
  expect((await call('POST', `${LINKS}/test`)).body).toMatchObject([
    { verdict: 'fault', status: 500, response: 'out of order' },
  ]);
  await receiver.close();
  expect((await call('POST', `${LINKS}/test`)).body).toMatchObject([{ verdict: 'fault', status: null }]);
  const { rows } = await installation.database.query(
    `select count(*)::int as n from admin_events where after ->> 'did' = 'testCallback'`,
  );
  expect(rows).toEqual([{ n: 3 }]);
  expect((await call('POST', LINKS.replace('links', 'taps/test'))).body).toEqual([]);
  expect((await call('POST', `${LINKS}/test`, undefined, 2)).status).toBe(404);
  receiver = await startReceiver();
});

test('an acquirer sees its keys of the HSM page by page, the operator those of all, and neither sees a key', async () => {
  const insert = `insert into hsm_keys (key_id, acquirer_id, usage, kcv, due_on) values ($1, $2, 'mac', 'A1B2C3', '2027-11-23')`;
  for (const [id, owner] of [
    ['mac-b', 1],
    ['mac-a', 1],
    ['mac-c', 2],
    ['reader', 0],
  ])
    await installation.database.query(insert, [id, owner]);
  const idsOf = (body: unknown) => (body as { keyId: string }[]).map(({ keyId }) => keyId);
  const own = await call('GET', '/acquirers/1/hsm-keys?limit=1');
  expect(own.body).toEqual([
    {
      ...{ keyId: 'mac-a', acquirerId: 1, usage: 'mac', kcv: 'A1B2C3', createdAt: expect.any(String) },
      ...{ dueOn: '2027-11-23', lastUsedOn: null, successor: null, overlapEndsAt: null, retiredAt: null },
    },
  ]);
  const next = /<([^>]+)>; rel="next"/.exec(own.headers.get('link')!)![1]!;
  expect(idsOf((await call('GET', next)).body)).toEqual(['mac-b']);
  expect(idsOf((await call('GET', '/hsm-keys', undefined, 'operator')).body)).toEqual([
    'mac-a',
    'mac-b',
    'mac-c',
    'reader',
  ]);
  expect((await call('GET', '/hsm-keys')).status).toBe(403);
  expect((await call('GET', '/acquirers/1/hsm-keys', undefined, 2)).status).toBe(404);
});
