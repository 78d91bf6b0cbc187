import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCOPE_NAMES, type Scope } from '../../schemas/scopes.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { ask, errorCodeOf, nameOf } from './ask.ts';
import { rowsOf } from './rows.ts';
import { type Things, thingsOf } from './things.ts';
import { PATIENT, triedRoutes, UNLIMITED } from './tried-route.ts';

/**
 * Rights never grow: who creates a credential has all the rights that it gives. The first element is the body that
 * changes the row of the route, the second one the rights of what the route creates.
 */
const CREATING: Readonly<Record<string, readonly [more: object, gives: readonly Scope[]]>> = {
  'POST /acquirers/:acquirerId/keys': [
    { scopes: ['transactions:read', 'payments:create'] },
    ['transactions:read', 'payments:create'],
  ],
  'POST /acquirers/:acquirerId/keys/:id/rotate': [{}, ['payments:create', 'devices:manage', 'webhooks:manage']],
  'POST /acquirers/:acquirerId/users': [
    { role: 'operator', permissions: ['webhooks:manage'] },
    ['transactions:read', 'transactions:refund', 'payments:create', 'webhooks:manage'],
  ],
  'PATCH /acquirers/:acquirerId/users/:id': [
    { role: 'admin' },
    ['transactions:read', 'transactions:refund', 'payments:create', 'devices:manage'],
  ],
  // Of the same user, who is an admin now.
  'POST /acquirers/:acquirerId/users/:id/password': [
    {},
    ['transactions:read', 'transactions:refund', 'payments:create', 'devices:manage'],
  ],
  'POST /acquirers/:acquirerId/issuer-keys': [{}, ['transactions:read', 'transactions:refund', 'devices:manage']],
};

/** Users of the installation, who are created by the operator: the operator has every right. */
const OF_OPERATOR = ['POST /users', 'PATCH /users/:id', 'POST /users/:id/password'];

/** Attesters vouch for devices: they give no credential a right. */
const GIVE_NO_RIGHT = ['POST /acquirers/:acquirerId/attesters', 'PATCH /acquirers/:acquirerId/attesters/:id'];

/** These give a credential a right that the caller's own credential has, for a shorter time. */
const EXCHANGES = ['POST /login', 'POST /mobile/proximity-token', 'POST /consumer/intentSession'];

let installation: Installation;
let things: Things;
beforeAll(async () => {
  installation = await startInstallation({ settings: UNLIMITED, profile: PATIENT });
  things = await thingsOf(installation, 'coffee', 41);
});
afterAll(() => installation.stop());

const keyOf = async (scopes: readonly Scope[]) => ({
  'x-api-key': await saveApiKey(installation.database, { acquirerId: 1 }, [...scopes]),
});

test('every route that manages credentials is known here as one that checks the grant of its caller', () => {
  const changing = installation.routes.filter(
    ({ method, facts }) => facts.scope === 'credentials:manage' && !['GET', 'DELETE'].includes(method),
  );
  expect(changing.map(nameOf).sort()).toEqual([...Object.keys(CREATING), ...OF_OPERATOR, ...GIVE_NO_RIGHT].sort());
});

test('every other route whose response contains a token is an exchange of the caller’s own right', () => {
  const giving = installation.routes.filter(({ schema, facts }) => {
    const [response] = [200, 201].flatMap((status) => schema.response?.[status] ?? []);
    return facts.isAsset === undefined && JSON.stringify(Object.keys(shapeOf(response))).match(/"token"|"key"/);
  });
  const known = [...Object.keys(CREATING), ...EXCHANGES];
  expect(giving.map(nameOf).filter((name) => !known.includes(name))).toEqual([]);
});

test.each(Object.entries(CREATING))('%s needs every right that it gives', async (name, [more, gives]) => {
  const route = triedRoutes(installation).find((each) => nameOf(each) === name)!;
  const sent = await rowsOf(installation)[name]!.send(things);
  const body = { ...(sent.body as object), ...more };
  const by = async (scopes: readonly Scope[]) => ask(installation.url, route, { ...sent, body }, await keyOf(scopes));
  const alone = await by(['credentials:manage']);
  expect([alone.status, errorCodeOf(alone)]).toEqual([403, 101]);
  for (const scope of gives.filter((each) => each !== 'credentials:manage')) {
    const response = await by(SCOPE_NAMES.filter((each) => each !== scope));
    expect([scope, response.status, errorCodeOf(response)]).toEqual([scope, 403, 101]);
  }
  const enough = await by(['credentials:manage', ...gives]);
  expect(enough.status, enough.text).toBeLessThan(300);
});

test.each(OF_OPERATOR)('%s refuses a key of an acquirer with all rights', async (name) => {
  const route = triedRoutes(installation).find((each) => nameOf(each) === name)!;
  const response = await ask(
    installation.url,
    route,
    await rowsOf(installation)[name]!.send(things),
    await keyOf(SCOPE_NAMES),
  );
  expect([response.status, errorCodeOf(response)]).toEqual([403, 101]);
});

function shapeOf(schema: unknown): object {
  return (schema as { shape?: object } | undefined)?.shape ?? {};
}

test('a device is changed only by the user whose token registered it, and by administrators', async () => {
  const tokenOf = async (usr: string) => ({
    authorization: `Bearer ${await signMerchantToken(installation.profile(), { usr })}`,
  });
  const [anna, ben] = [await tokenOf('anna'), await tokenOf('ben')];
  const admin = await keyOf(['devices:manage']);
  const body = {
    deviceInstallationId: randomUUID(),
    pushToken: 'push-token',
    friendlyName: 'Till',
    merchantId: '1001',
  };
  const call = (method: string, url: string, headers: Record<string, string>, sent: object = body) =>
    ask(installation.url, { method, url }, { ...(method !== 'DELETE' && { body: sent }) }, headers);
  const registered = await call('POST', '/devices', anna);
  expect(registered.status, registered.text).toBe(201);
  const one = `/devices/${JSON.parse(registered.text).id}`;
  const stolen = { ...body, pushToken: 'another-token' };
  for (const response of [
    await call('POST', '/devices', ben, stolen),
    await call('PUT', one, ben, { friendlyName: 'Mine' }),
    await call('DELETE', one, ben),
  ])
    expect([response.status, errorCodeOf(response)]).toEqual([403, 101]);
  expect((await call('POST', '/devices', anna)).status).toBe(200);
  expect((await call('PUT', one, admin, { friendlyName: 'Bar' })).status).toBe(200);
  expect((await call('POST', '/devices', ben, stolen)).status).toBe(403);
  expect((await call('DELETE', one, admin)).status).toBe(200);
  expect((await call('POST', '/devices', ben)).status).toBe(201);

  const ofBackend = { ...body, deviceInstallationId: randomUUID() };
  expect((await call('POST', '/devices', admin, ofBackend)).status).toBe(201);
  expect((await call('POST', '/devices', ben, { ...ofBackend, pushToken: 'another-token' })).status).toBe(403);
  expect((await call('POST', '/devices', admin, ofBackend)).status).toBe(200);
});
