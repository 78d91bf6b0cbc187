import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoredApiKey, StoredIssuerKey, StoredUser } from '../../schemas/admin-credentials.ts';
import type { Problem } from '../../schemas/problem.ts';
import { SCOPE_NAMES } from '../../schemas/scopes.ts';
import type { ApiKeyOwner } from '../../src/auth/api-key.ts';
import { type Registration, signPossessionProof } from '../../src/auth/issuers/possession-proof.ts';
import { signMerchantToken } from '../../src/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { type RawAnswer, request } from '../support/requests.ts';

let installation: Installation;
let operator: string;
let acquirer: string;
let integrator: string;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  const key = (owner: ApiKeyOwner) => saveApiKey(installation.database, owner, SCOPE_NAMES);
  operator = await key('operator');
  acquirer = await key({ acquirerId: 1 });
  integrator = await key({ acquirerId: 1, integratorId: 10 });
});
afterAll(() => installation.stop());

/** With the key of acquirer 1, unless another one is named. */
function call(method: string, path: string, body?: unknown, key = acquirer) {
  return request(installation.url, path, {
    method,
    headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

function expectProblem({ status, body }: RawAnswer, expected: Partial<Problem>): void {
  expect({ ...(body as object), status }).toMatchObject(expected);
}

const pointersOf = ({ body }: RawAnswer) => (body as Problem).errors?.map(({ pointer }) => pointer);

async function changesOf(id: string) {
  const { rows } = await installation.database.query(
    'select action, kind, before, after from admin_events where subject_id = $1 order by id',
    [id],
  );
  return rows as { action: string; kind: string; before: object | null; after: object | null }[];
}

const HOUR_MS = 3_600_000;
const READ = { name: 'reader', scopes: ['transactions:read'] };
type Created = StoredApiKey & { readonly key: string };

async function makeKey(wanted: object, by = acquirer): Promise<Created> {
  const { status, body } = await call('POST', '/acquirers/1/keys', { ...READ, ...wanted }, by);
  expect(status).toBe(201);
  return body as Created;
}

const reads = async (key: string) => (await call('GET', '/transactions', undefined, key)).status;

describe.concurrent('an API key', () => {
  test('is shown once, works for its owner, and is listed without its secret', async () => {
    const made = await makeKey({ merchantId: '1001', expiresAt: '2100-01-01T00:00:00Z' });
    const { key, ...stored } = made;
    expect(stored).toMatchObject({ ...READ, integratorId: 10, merchantId: '1001', mode: 'test', revokedAt: null });
    expect(await reads(key)).toBe(200);
    expect((await call('GET', '/transactions?merchant=1002', undefined, key)).status).toBe(403);
    const shown = await call('GET', `/acquirers/1/keys/${made.id}`);
    expect(shown.body).toEqual({ ...stored, lastUsedAt: expect.any(String) });
    const listed = await call('GET', '/acquirers/1/keys?limit=500');
    expect(listed.body).toContainEqual(shown.body);
    const events = await changesOf(made.id);
    expect(events).toEqual([{ action: 'add', kind: 'api key', before: null, after: stored }]);
    for (const text of [JSON.stringify(listed.body), JSON.stringify(events)])
      expect(text).not.toContain(key.split('_')[3]);
  });

  test('is rotated: both work for a while, and then only the new one', async () => {
    const old = await makeKey({ expiresAt: '2100-01-01T00:00:00Z' });
    const earliestEndMs = Date.now() + 2 * HOUR_MS;
    const answer = await call('POST', `/acquirers/1/keys/${old.id}/rotate`, { overlapHours: 2 });
    const latestEndMs = Date.now() + 2 * HOUR_MS;
    const made = answer.body as Created;
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`/acquirers/1/keys/${made.id}`);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(made).toMatchObject({ ...READ, integratorId: null, merchantId: null });
    expect([await reads(old.key), await reads(made.key)]).toEqual([200, 200]);
    const { expiresAt } = (await call('GET', `/acquirers/1/keys/${old.id}`)).body as StoredApiKey;
    expect(Date.parse(expiresAt!)).toBeGreaterThanOrEqual(earliestEndMs);
    expect(Date.parse(expiresAt!)).toBeLessThanOrEqual(latestEndMs);
    const now = await call('POST', `/acquirers/1/keys/${old.id}/rotate`, { overlapHours: 0 });
    expect(now.status).toBe(201);
    expectProblem(await call('POST', `/acquirers/1/keys/${old.id}/rotate`, {}), { status: 409, errorCode: 134 });
    expectProblem(await call('POST', `/acquirers/1/keys/${old.id}/rotate`, { overlapHours: 0.0001 }), { status: 400 });
    await eventually(async () => expect(await reads(old.key)).toBe(401));
    expect(await reads(made.key)).toBe(200);
  });

  test('that is revoked stops working within seconds, and remains listed', async () => {
    const made = await makeKey({ integratorId: 10 });
    expect(await reads(made.key)).toBe(200);
    expect((await call('DELETE', `/acquirers/1/keys/${made.id}`)).status).toBe(204);
    await eventually(async () =>
      expectProblem(await call('GET', '/transactions', undefined, made.key), { status: 401, errorCode: 102 }),
    );
    expect((await call('GET', `/acquirers/1/keys/${made.id}`)).body).toMatchObject({ revokedAt: expect.any(String) });
    expectProblem(await call('DELETE', `/acquirers/1/keys/${made.id}`), { status: 404 });
    expect(await changesOf(made.id)).toMatchObject([
      { action: 'add' },
      { action: 'remove', before: { revokedAt: null } },
    ]);
  });

  test('is never issued with a scope that its issuer does not have', async () => {
    const narrow = await saveApiKey(installation.database, { acquirerId: 1 }, [
      'credentials:manage',
      'webhooks:manage',
    ]);
    expectProblem(await call('POST', '/acquirers/1/keys', READ, narrow), { status: 403, errorCode: 101 });
    const wide = await makeKey({});
    expectProblem(await call('POST', `/acquirers/1/keys/${wide.id}/rotate`, {}, narrow), { status: 403 });
    const given = await makeKey({ scopes: ['webhooks:manage'] }, narrow);
    expect(given.scopes).toEqual(['webhooks:manage']);
  });

  test('is issued by an integrator only to its own merchants, who issue none', async () => {
    const made = await makeKey({ merchantId: '1002' }, integrator);
    expect(made).toMatchObject({ integratorId: 10, merchantId: '1002' });
    for (const wanted of [{ merchantId: '1101' }, { merchantId: '9999' }, { merchantId: '1001', integratorId: 11 }]) {
      const answer = await call('POST', '/acquirers/1/keys', { ...READ, ...wanted }, integrator);
      expectProblem(answer, { status: 400, errorCode: 104 });
      expect(pointersOf(answer)).toEqual(['/merchantId']);
    }
    for (const wanted of [{}, { integratorId: 10 }])
      expectProblem(await call('POST', '/acquirers/1/keys', { ...READ, ...wanted }, integrator), { status: 403 });
    const seen = (await call('GET', '/acquirers/1/keys?limit=500', undefined, integrator)).body as StoredApiKey[];
    expect(new Set(seen.map(({ integratorId }) => integratorId))).toEqual(new Set([10]));
    const others = await makeKey({ integratorId: 11 });
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
    ] as const) {
      const body = method === 'POST' ? {} : undefined;
      expectProblem(await call(method, `/acquirers/1/keys/${others.id}${path}`, body, integrator), { status: 404 });
    }
    expectProblem(await call('GET', '/acquirers/2/keys', undefined, integrator), { status: 404 });
    const merchant = await saveApiKey(
      installation.database,
      { acquirerId: 1, integratorId: 10, merchantId: '1001' },
      SCOPE_NAMES,
    );
    expectProblem(await call('GET', '/acquirers/1/keys', undefined, merchant), { status: 403 });
  });

  test.each([
    [{ scopes: [] }, ['/scopes']],
    [{ scopes: ['everything'] }, ['/scopes/0']],
    [{ name: '' }, ['/name']],
    [{ expiresAt: 'tomorrow' }, ['/expiresAt']],
    [{ integratorId: 20 }, ['/integratorId']],
  ])('with %o is refused', async (fault, pointers) => {
    const answer = await call('POST', '/acquirers/1/keys', { ...READ, ...fault });
    expectProblem(answer, { status: 400, errorCode: 104 });
    expect(pointersOf(answer)).toEqual(pointers);
  });
});

const PKCS8 = { type: 'pkcs8', format: 'pem' } as const;
const SPKI = { type: 'spki', format: 'pem' } as const;
const pem = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256', privateKeyEncoding: PKCS8, publicKeyEncoding: SPKI });
const ed25519Pem = () => generateKeyPairSync('ed25519', { privateKeyEncoding: PKCS8, publicKeyEncoding: SPKI });

describe.concurrent('an issuer key', () => {
  const ISSUER = { issuer: 'https://new-shop.example', kid: 'one', integratorId: 10 };
  const add = (wanted: object, by = acquirer, path = '/acquirers/1') =>
    call('POST', `${path}/issuer-keys`, { ...ISSUER, ...wanted }, by);
  type Pair = { readonly publicKey: string; readonly privateKey: string };
  const prove = ({ privateKey }: Pair, more: Partial<Registration> = {}) => {
    const registration = { issuer: ISSUER.issuer, acquirerId: 1, audience: 'tapwire', ...more };
    const key = createPrivateKey(privateKey);
    return signPossessionProof(key, key.asymmetricKeyType === 'ec' ? 'ES256' : 'EdDSA', registration);
  };
  const proven = async (pair: Pair, more: Partial<Registration> = {}) => ({
    publicKey: pair.publicKey,
    proof: await prove(pair, more),
    ...(more.issuer !== undefined && { issuer: more.issuer }),
  });

  test('signs for merchants of its owner until it is revoked, also beside a second one', async () => {
    const [one, two] = [pem(), pem()];
    const added = await add(await proven(one));
    expect(added).toMatchObject({
      status: 201,
      body: { ...ISSUER, algorithms: ['ES256'], provenAt: expect.any(String), revokedAt: null },
    });
    expect(added.body).not.toHaveProperty('proof');
    expect((await add({ kid: 'two', ...(await proven(two)) })).status).toBe(201);
    const answered = async (kid: string, { privateKey }: { privateKey: string }) => {
      const profile = installation.profile();
      const issuer = { ...profile.issuer, iss: ISSUER.issuer, kid, privateKey };
      const token = await signMerchantToken({ ...profile, issuer });
      const headers = { authorization: `Bearer ${token}` };
      return (await request(installation.url, '/transactions', { headers })).status;
    };
    await eventually(async () => expect([await answered('one', one), await answered('two', two)]).toEqual([200, 200]));
    const { id } = added.body as StoredIssuerKey;
    expect((await call('DELETE', `/acquirers/1/issuer-keys/${id}`)).status).toBe(204);
    await eventually(async () => expect(await answered('one', one)).toBe(401));
    expect(await answered('two', two)).toBe(200);
    expect((await call('GET', `/acquirers/1/issuer-keys/${id}`)).body).toMatchObject({ revokedAt: expect.any(String) });
    expect(await changesOf(id)).toMatchObject([{ action: 'add' }, { action: 'remove' }]);
  });

  test('belongs to one owner permanently', async () => {
    const issuer = 'https://one-owner.example';
    expect((await add(await proven(pem(), { issuer }))).status).toBe(201);
    for (const owner of [{ integratorId: 11 }, { integratorId: null, merchantId: '1001' }]) {
      const answer = await add({ kid: 'other', ...(await proven(pem(), { issuer })), ...owner });
      expectProblem(answer, {
        status: 409,
        errorCode: 134,
        detail: 'The issuer belongs to another integrator or merchant of the acquirer.',
      });
    }
    expectProblem(await add(await proven(pem(), { issuer })), { status: 409, errorCode: 119 });
  });

  test('has a name that reveals nothing about other acquirers, and does not affect them', async () => {
    const issuer = 'https://two-acquirers.example';
    const pair = pem();
    expect((await add(await proven(pair, { issuer }))).status).toBe(201);
    const theirs = { issuer, integratorId: 20 };
    const ofTheirs = await proven(pair, { issuer, acquirerId: 2 });
    expect((await add({ ...theirs, ...ofTheirs }, operator, '/acquirers/2')).status).toBe(201);
    const jwksUrl = 'https://keys.example/jwks.json';
    const published = { ...theirs, kid: null, jwksUrl };
    expect((await add(published, operator, '/acquirers/2')).status).toBe(201);
    expect((await add({ kid: 'next', ...(await proven(pem(), { issuer })) })).status).toBe(201);
  });

  test.each([
    'tapwire',
    'Tapwire ',
    'ｔａｐｗｉｒｅ',
  ])('may not be named %j, which is reserved for the gateway', async (issuer) => {
    const answer = await add(await proven(pem(), { issuer }));
    expectProblem(answer, { status: 400, errorCode: 104 });
    expect(pointersOf(answer)).toEqual(['/issuer']);
  });

  test('may be those of a JWKS, which are then the only ones that can be added', async () => {
    const issuer = 'https://jwks.example';
    const jwksUrl = 'https://keys.example/jwks.json';
    const added = await add({ issuer, kid: null, jwksUrl });
    expect(added).toMatchObject({ status: 201, body: { kid: null, publicKey: null, jwksUrl } });
    expectProblem(await add(await proven(pem(), { issuer })), { status: 409 });
  });

  test('is registered only with a proof of its private key, for this issuer, acquirer and gateway', async () => {
    const pair = pem();
    const refused = async (proof: string | null) => {
      const answer = await add({ publicKey: pair.publicKey, proof });
      expectProblem(answer, { status: 400, errorCode: 104 });
      expect(pointersOf(answer)).toEqual(['/proof']);
    };
    await refused(null);
    await refused('proof');
    await refused(await prove(pem()));
    await refused(await prove(pair, { acquirerId: 2 }));
    await refused(await prove(pair, { issuer: 'https://other-shop.example' }));
    await refused(await prove(pair, { audience: 'https://other-gateway.example' }));
    const profile = installation.profile();
    const issuer = { ...profile.issuer, iss: ISSUER.issuer, privateKey: pair.privateKey };
    await refused(await signMerchantToken({ ...profile, issuer }));
    const eightDaysAgo = Math.floor(Date.now() / 1_000) - 8 * 86_400;
    const old = new SignJWT({ acquirerId: 1 })
      .setProtectedHeader({ alg: 'ES256', typ: 'issuer-key-proof+jwt' })
      .setIssuer(ISSUER.issuer)
      .setAudience('tapwire')
      .setIssuedAt(eightDaysAgo);
    await refused(await old.sign(createPrivateKey(pair.privateKey)));
  });

  test('of another acquirer cannot be copied, and never decides between two acquirers without the claim', async () => {
    const iss = 'https://diverted-shop.example';
    const pair = pem();
    expect((await add({ ...(await proven(pair, { issuer: iss })) })).status).toBe(201);
    const answered = async (claims: Record<string, unknown> = {}) => {
      const profile = installation.profile();
      const issuer = { ...profile.issuer, iss, kid: 'one', privateKey: pair.privateKey };
      const token = await signMerchantToken({ ...profile, issuer }, claims);
      return request(installation.url, '/transactions', { headers: { authorization: `Bearer ${token}` } });
    };
    await eventually(async () => expect(await answered()).toMatchObject({ status: 200 }));
    const copy = {
      issuer: iss,
      publicKey: pair.publicKey,
      integratorId: 20,
      proof: await prove(pair, { issuer: iss }),
    };
    expectProblem(await add(copy, operator, '/acquirers/2'), { status: 400, errorCode: 104 });
    // As an earlier version registered it.
    await installation.database.query(
      `insert into issuer_keys (issuer, kid, acquirer_id, integrator_id, algorithms, public_key)
       values ($1, 'one', 2, 20, '{ES256}', $2)`,
      [iss, pair.publicKey],
    );
    await eventually(async () =>
      expectProblem(await answered(), {
        status: 401,
        errorCode: 117,
        detail: expect.stringMatching(/^Several acquirers have registered the issuer .* Add the claim acquirerId/),
      }),
    );
    expect(await answered({ acquirerId: 1 })).toMatchObject({ status: 200 });
  });

  test.each([
    [{ publicKey: pem().privateKey }, ['/publicKey']],
    [{ publicKey: 'x' }, ['/publicKey']],
    [{}, ['/publicKey']],
    [{ publicKey: pem().publicKey, jwksUrl: 'https://keys.example/' }, ['/publicKey', '/proof', '/kid']],
    [{ publicKey: pem().publicKey, algorithms: ['EdDSA'] }, ['/proof', '/algorithms']],
    [{ publicKey: ed25519Pem().publicKey, algorithms: ['none'] }, ['/algorithms/0']],
    [{ publicKey: pem().publicKey, integratorId: null }, ['/integratorId', '/proof']],
    [{ kid: null, jwksUrl: 'https://keys.example/', proof: 'x' }, ['/proof']],
    [{ jwksUrl: 'https://169.254.169.254/keys' }, ['/jwksUrl', '/kid']],
    [{ kid: null, jwksUrl: 'ftp://keys.example/' }, ['/jwksUrl']],
  ])('with %o is refused', async (fault, pointers) => {
    const answer = await add(fault);
    expectProblem(answer, { status: 400, errorCode: 104 });
    expect(pointersOf(answer)).toEqual(pointers);
  });

  test.each([
    [{ integratorId: 20 }, ['/integratorId']],
    [{ merchantId: '1101' }, ['/merchantId']],
  ])('of a foreign owner %o is refused', async (fault, pointers) => {
    const answer = await add({ ...(await proven(pem())), ...fault });
    expectProblem(answer, { status: 400, errorCode: 104 });
    expect(pointersOf(answer)).toEqual(pointers);
  });
});

describe.concurrent('a portal user', () => {
  const logIn = async (username: string, password: string) =>
    (await request(installation.url, '/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    })) as RawAnswer & { body: { token: string } };

  test('gets a password that is shown once, logs in, gets another one, and is blocked', async () => {
    const username = 'Thandi@coffee.example';
    const wanted = { username, role: 'viewer', merchantId: '1001' };
    const added = await call('POST', '/acquirers/1/users', wanted);
    const { password, ...user } = added.body as StoredUser & { password: string };
    expect(added.status).toBe(201);
    expect(user).toMatchObject({ ...wanted, permissions: [], blocked: false, lastLoginAt: null });
    expect(password).toMatch(/^\S{20}$/);

    const path = `/acquirers/1/users/${user.id}`;
    const given = 'a quiet morning by the sea';
    expect((await call('POST', `${path}/password`, { password: given })).body).toEqual({ password: null });
    expect((await logIn(username, password)).status).toBe(401);
    expect((await logIn(username.toLowerCase(), given)).status).toBe(200);
    const changed = await call('PATCH', path, { blocked: true, role: 'operator' });
    expect(changed).toMatchObject({
      status: 200,
      body: { blocked: true, role: 'operator', lastLoginAt: expect.any(String) },
    });
    expect((await call('DELETE', path)).status).toBe(204);
    expectProblem(await call('GET', path), { status: 404 });
    const events = JSON.stringify(await changesOf(user.id));
    expect(JSON.parse(events)).toMatchObject(
      ['add', 'change', 'change', 'remove'].map((action) => ({ action, kind: 'user' })),
    );
    for (const secret of [password, given, 'scrypt']) expect(events).not.toContain(secret);
  });

  test.each([
    [{ username: 'till@COFFEE.example' }, { status: 409, errorCode: 119 }],
    [{ password: 'short' }, { status: 400, errors: [{ pointer: '/password', detail: expect.any(String) }] }],
    [{ password: 'user@new.example' }, { status: 400, errors: [{ pointer: '/password', detail: expect.any(String) }] }],
    [{ role: 'emperor' }, { status: 400, errors: [{ pointer: '/role', detail: expect.any(String) }] }],
    [{ permissions: ['all'] }, { status: 400, errors: [{ pointer: '/permissions/0', detail: expect.any(String) }] }],
    [{ merchantId: '9999' }, { status: 400, errors: [{ pointer: '/merchantId', detail: expect.any(String) }] }],
  ])('with %o is refused', async (fault, problem) => {
    const wanted = { username: 'user@new.example', role: 'viewer', merchantId: '1001', ...fault };
    expectProblem(await call('POST', '/acquirers/1/users', wanted), problem as Partial<Problem>);
  });

  test('is never created, promoted or changed by a user with fewer rights', async () => {
    const narrow = await saveApiKey(installation.database, { acquirerId: 1 }, [
      'credentials:manage',
      'transactions:read',
    ]);
    const users = '/acquirers/1/users';
    const viewer = { username: 'viewer@new.example', role: 'viewer', password: 'correct horse battery' };
    const made = await call('POST', users, viewer, narrow);
    expect(made).toMatchObject({ status: 201, body: { password: null } });
    const { id } = made.body as StoredUser;
    for (const more of [{ role: 'admin' }, { permissions: ['payments:create'] }]) {
      expectProblem(await call('POST', users, { ...viewer, username: 'x', ...more }, narrow), { status: 403 });
      expectProblem(await call('PATCH', `${users}/${id}`, more, narrow), { status: 403 });
    }
    expect((await call('PATCH', `${users}/${id}`, { role: 'admin' })).status).toBe(200);
    expectProblem(await call('POST', `${users}/${id}/password`, {}, narrow), { status: 403 });
    expect((await call('PATCH', `${users}/${id}`, { blocked: true }, narrow)).status).toBe(200);
    expectProblem(await call('GET', users, undefined, integrator), { status: 403 });
    expectProblem(await call('GET', `/acquirers/2/users/${id}`, undefined, operator), { status: 404 });
  });
});

test('only the operator and the acquirer set the endpoint for links', async () => {
  const path = '/acquirers/1/integrators/11/callbacks/links';
  expect((await call('GET', path)).body).toEqual({ callbackUrl: null });
  expectProblem(await call('POST', `${path}/secret`, {}), { status: 404 });
  const callbackUrl = 'http://127.0.0.1:3000/links';
  expect(await call('PUT', path, { callbackUrl })).toMatchObject({ status: 200, body: {} });
  expect((await call('GET', path)).body).toEqual({ callbackUrl });
  const secret = await call('POST', `${path}/secret`, {}, operator);
  expect(secret.body).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
  expectProblem(await call('PUT', path, { callbackUrl: 'http://10.0.0.1/' }), { status: 400, errorCode: 104 });
  expectProblem(await call('PUT', path.replace('11', '20'), { callbackUrl }), { status: 404 });
  expectProblem(await call('PUT', path, { callbackUrl }, integrator), { status: 403 });
  expect((await call('DELETE', path)).status).toBe(204);
  expectProblem(await call('DELETE', path), { status: 404 });
  const { rows } = await installation.database.query(
    `select action from admin_events where kind = 'callback' order by id`,
  );
  expect(rows.map(({ action }) => action)).toEqual(['add', 'change', 'change']);
});
