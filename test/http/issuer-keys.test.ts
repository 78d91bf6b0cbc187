import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StoredIssuerKey } from '../../schemas/admin-credentials.ts';
import type { Problem } from '../../schemas/problem.ts';
import { SCOPE_NAMES } from '../../schemas/scopes.ts';
import type { ApiKeyOwner } from '../../src/auth/api-key.ts';
import { type Registration, signPossessionProof } from '../../src/auth/issuers/issuer-keys.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { type RawResponse, request } from '../support/requests.ts';

let installation: Installation;
let operator: string;
let acquirer: string;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  const key = (owner: ApiKeyOwner) => saveApiKey(installation.database, owner, SCOPE_NAMES);
  operator = await key('operator');
  acquirer = await key({ acquirerId: 1 });
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

function expectProblem({ status, body }: RawResponse, expected: Partial<Problem>): void {
  expect({ ...(body as object), status }).toMatchObject(expected);
}

const pointersOf = ({ body }: RawResponse) => (body as Problem).errors?.map(({ pointer }) => pointer);

async function changesOf(id: string) {
  const { rows } = await installation.database.query(
    'select action, kind, before, after from admin_events where subject_id = $1 order by id',
    [id],
  );
  return rows as { action: string; kind: string; before: object | null; after: object | null }[];
}

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
    const responseTo = async (kid: string, { privateKey }: { privateKey: string }) => {
      const profile = installation.profile();
      const issuer = { ...profile.issuer, iss: ISSUER.issuer, kid, privateKey };
      const token = await signMerchantToken({ ...profile, issuer });
      const headers = { authorization: `Bearer ${token}` };
      return (await request(installation.url, '/transactions', { headers })).status;
    };
    await eventually(async () =>
      expect([await responseTo('one', one), await responseTo('two', two)]).toEqual([200, 200]),
    );
    const { id } = added.body as StoredIssuerKey;
    expect((await call('DELETE', `/acquirers/1/issuer-keys/${id}`)).status).toBe(204);
    await eventually(async () => expect(await responseTo('one', one)).toBe(401));
    expect(await responseTo('two', two)).toBe(200);
    expect((await call('GET', `/acquirers/1/issuer-keys/${id}`)).body).toMatchObject({ revokedAt: expect.any(String) });
    expect(await changesOf(id)).toMatchObject([{ action: 'add' }, { action: 'remove' }]);
  });

  test('belongs to one owner permanently', async () => {
    const issuer = 'https://one-owner.example';
    expect((await add(await proven(pem(), { issuer }))).status).toBe(201);
    for (const owner of [{ integratorId: 11 }, { integratorId: null, merchantId: '1001' }]) {
      const response = await add({ kid: 'other', ...(await proven(pem(), { issuer })), ...owner });
      expectProblem(response, {
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
    const response = await add(await proven(pem(), { issuer }));
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(['/issuer']);
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
      const response = await add({ publicKey: pair.publicKey, proof });
      expectProblem(response, { status: 400, errorCode: 104 });
      expect(pointersOf(response)).toEqual(['/proof']);
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

  test('an issuer key of another acquirer cannot be copied, and never decides between two acquirers without the claim', async () => {
    const iss = 'https://diverted-shop.example';
    const pair = pem();
    expect((await add({ ...(await proven(pair, { issuer: iss })) })).status).toBe(201);
    const responseTo = async (claims: Record<string, unknown> = {}) => {
      const profile = installation.profile();
      const issuer = { ...profile.issuer, iss, kid: 'one', privateKey: pair.privateKey };
      const token = await signMerchantToken({ ...profile, issuer }, claims);
      return request(installation.url, '/transactions', { headers: { authorization: `Bearer ${token}` } });
    };
    await eventually(async () => expect(await responseTo()).toMatchObject({ status: 200 }));
    const copy = {
      issuer: iss,
      publicKey: pair.publicKey,
      integratorId: 20,
      proof: await prove(pair, { issuer: iss }),
    };
    expectProblem(await add(copy, operator, '/acquirers/2'), { status: 400, errorCode: 104 });
    // Its holder proves it for another acquirer, too.
    await installation.database.query(
      `insert into issuer_keys (issuer, kid, acquirer_id, integrator_id, algorithms, public_key, proven_at)
       values ($1, 'one', 2, 20, '{ES256}', $2, now())`,
      [iss, pair.publicKey],
    );
    await eventually(async () =>
      expectProblem(await responseTo(), {
        status: 401,
        errorCode: 117,
        detail: expect.stringMatching(/^Several acquirers have registered the issuer .* Add the claim acquirerId/),
      }),
    );
    expect(await responseTo({ acquirerId: 1 })).toMatchObject({ status: 200 });
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
  ])('an issuer key with %o is refused', async (fault, pointers) => {
    const response = await add(fault);
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(pointers);
  });

  test.each([
    [{ integratorId: 20 }, ['/integratorId']],
    [{ merchantId: '1101' }, ['/merchantId']],
  ])('an issuer key of a foreign owner %o is refused', async (fault, pointers) => {
    const response = await add({ ...(await proven(pem())), ...fault });
    expectProblem(response, { status: 400, errorCode: 104 });
    expect(pointersOf(response)).toEqual(pointers);
  });
});
