import { createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { signPossessionProof } from '../../src/auth/issuers/issuer-keys.ts';
import { savePortalUser } from '../support/portal-users.ts';
import { type Maker, type Row, row, type Sent } from './row.ts';
import { made, NOWHERE, PROCESSOR, type Things } from './things.ts';

/** `/acquirers/:acquirerId/<name>`: settings that are added, shown, listed, changed and removed. */
function settingsRows(
  name: string,
  thing: keyof Things,
  body: (things: Things) => object | Promise<object>,
  change: { readonly method?: 'PUT' | 'PATCH'; readonly body?: (things: Things) => object; readonly key?: string } = {},
): Record<string, Row> {
  const { key = 'id' } = change;
  const one = ({ acquirerId, [thing]: id }: Things) => ({ params: { acquirerId, [key]: id as string } });
  const fresh = async ({ installation, headers }: Maker): Promise<Partial<Things>> => {
    const {
      id,
      name: named,
      xTid,
      deviceInstallationId,
    } = (await made(installation, `/acquirers/1/${name}`, () => body(FIRST), headers)) as Record<string, string>;
    return { [thing]: id ?? xTid ?? deviceInstallationId ?? named };
  };
  const all = `/acquirers/:acquirerId/${name}`;
  const { method = 'PATCH' } = change;
  return {
    [`GET ${all}`]: row(({ acquirerId }) => ({ params: { acquirerId }, query: { limit: 500 } }), { lists: thing }),
    [`GET ${all}/:${key}`]: row(one),
    [`POST ${all}`]: row(async (things) => ({ params: { acquirerId: things.acquirerId }, body: await body(things) })),
    [`DELETE ${all}/:${key}`]: row(one, { fresh }),
    ...(change.body && {
      [`${method} ${all}/:${key}`]: row((things) => ({ ...one(things), body: change.body!(things) })),
    }),
  };
}

/** Parents in the first merchant's acquirer under which used-up settings are created again. */
const FIRST = {
  acquirerId: 1,
  integratorId: 10,
  merchantId: '1001',
  xTid: 'TERM-coffee',
  processorId: 41,
  profile: 'profile coffee',
} as Things;

const unique = (prefix: string) => `${prefix} ${randomUUID()}`;
const MERCHANT = { name: 'Green Grocer', mcc: '5411', country: 'ZA', currency: 'ZAR', timeZone: 'Africa/Johannesburg' };
const { publicKey: PUBLIC_KEY, privateKey: PRIVATE_KEY } = generateKeyPairSync('ed25519', {
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

const ofUser = ({ userId: id }: Things): Sent => ({ params: { id } });
/** Only the operator can create one by the API, and things are created with the key of an acquirer. */
const userOfInstallation = async ({ installation }: Maker): Promise<Partial<Things>> => ({
  userId: (await savePortalUser(installation.database, { acquirerId: 0 }, 'viewer')).id,
});

/** Settings that acquirers and the operator manage. */
export const ADMINISTRATION: Readonly<Record<string, Row>> = {
  'GET /acquirers': row(() => ({ query: { limit: 500 } })),
  'POST /acquirers': row(() => ({ body: { name: unique('Bank') } })),
  'GET /acquirers/:acquirerId': row(({ acquirerId }) => ({ params: { acquirerId } })),
  'PATCH /acquirers/:acquirerId': row(({ acquirerId }) => ({ params: { acquirerId }, body: { blocked: false } })),
  'GET /acquirers/:acquirerId/hsm-keys': row(({ acquirerId }) => ({ params: { acquirerId }, query: { limit: 500 } })),
  'GET /hsm-keys': row(() => ({ query: { limit: 500 } })),
  'GET /acquirers/:acquirerId/transactions/:id/notes': row(({ acquirerId, transactionId: id }) => ({
    params: { acquirerId, id },
  })),
  'POST /acquirers/:acquirerId/transactions/:id/notes': row(({ acquirerId, transactionId: id }) => ({
    params: { acquirerId, id },
    body: { text: unique('note') },
  })),
  'POST /acquirers/:acquirerId/processors/:id/check': row(({ acquirerId, processorId: id }) => ({
    params: { acquirerId, id },
  })),
  'POST /acquirers/:acquirerId/routes/all/check': row(({ acquirerId, xTid }) => ({
    params: { acquirerId },
    body: { currency: 'ZAR', xTid },
  })),
  'GET /audit': row(() => ({ query: { limit: 500 } })),
  'GET /acquirers/:acquirerId/audit': row(({ acquirerId }) => ({ params: { acquirerId }, query: { limit: 500 } })),
  ...settingsRows('integrators', 'integratorId', () => ({ name: unique('Shop') }), {
    body: () => ({ blocked: false }),
  }),
  ...settingsRows('merchants', 'merchantId', ({ integratorId }) => ({ ...MERCHANT, id: randomUUID(), integratorId }), {
    body: () => ({ city: 'Cape Town' }),
  }),
  ...settingsRows(
    'terminals',
    'xTid',
    ({ merchantId, profile }) => ({ xTid: unique('till'), tid: 'TW000009', mid: 'SHOP9', merchantId, profile }),
    { body: ({ merchantId, profile }) => ({ merchantId, profile }) },
  ),
  ...settingsRows('blocked-devices', 'blockedDevice', () => ({ deviceInstallationId: unique('device') })),
  ...settingsRows(
    'attesters',
    'attester',
    () => ({
      name: `phones-${randomUUID().slice(0, 8)}`,
      issuer: 'https://attest.example',
      publicKey: PUBLIC_KEY,
      required: false,
    }),
    { body: () => ({ maxAgeSeconds: 60 }) },
  ),
  ...settingsRows('processors', 'processorId', () => PROCESSOR, { method: 'PUT', body: () => PROCESSOR }),
  ...settingsRows(
    'routes',
    'routeId',
    ({ processorId, xTid }) => ({ processorId, xTid, priority: 998, scheme: 'Mir' }),
    { method: 'PUT', body: ({ processorId, xTid }) => ({ processorId, xTid, priority: 999, scheme: 'Mir' }) },
  ),
  ...settingsRows('softposconfigs', 'profile', () => ({ name: unique('profile') }), {
    method: 'PUT',
    body: () => ({ overrides: [] }),
    key: 'profile',
  }),
  ...settingsRows('keys', 'keyId', ({ integratorId, merchantId }) => ({
    name: unique('key'),
    scopes: ['transactions:read'],
    integratorId,
    merchantId,
  })),
  'POST /acquirers/:acquirerId/keys/:id/rotate': row(({ acquirerId, keyId }) => ({
    params: { acquirerId, id: keyId },
    body: { overlapHours: 1 },
  })),
  ...settingsRows(
    'users',
    'userId',
    ({ integratorId, merchantId }) => ({ username: unique('user'), role: 'viewer', integratorId, merchantId }),
    { body: () => ({ role: 'viewer' }) },
  ),
  'POST /acquirers/:acquirerId/users/:id/password': row(({ acquirerId, userId }) => ({
    params: { acquirerId, id: userId },
    body: {},
  })),
  'GET /users': row(() => ({ query: { limit: 500 } })),
  'POST /users': row(() => ({ body: { username: unique('owner'), role: 'viewer' } })),
  'GET /users/:id': row(ofUser, { fresh: userOfInstallation }),
  'PATCH /users/:id': row((things) => ({ ...ofUser(things), body: { role: 'viewer' } }), { fresh: userOfInstallation }),
  'DELETE /users/:id': row(ofUser, { fresh: userOfInstallation }),
  'POST /users/:id/password': row((things) => ({ ...ofUser(things), body: {} }), { fresh: userOfInstallation }),
  ...settingsRows('issuer-keys', 'issuerKeyId', async ({ acquirerId, integratorId }) => {
    const issuer = `https://${randomUUID()}.example`;
    const registration = { issuer, acquirerId, audience: 'tapwire' };
    const proof = await signPossessionProof(createPrivateKey(PRIVATE_KEY), 'EdDSA', registration);
    return { issuer, kid: 'one', integratorId, publicKey: PUBLIC_KEY, proof };
  }),
  ...linkCallbackRows(),
};

function linkCallbackRows(): Record<string, Row> {
  const address = '/acquirers/:acquirerId/integrators/:id/callbacks/links';
  const integrator = ({ acquirerId, integratorId: id }: Things): Sent => ({ params: { acquirerId, id } });
  const registered = async ({ installation, headers }: Maker): Promise<Partial<Things>> => {
    const integratorId = Number(
      (await made(installation, '/acquirers/1/integrators', () => ({ name: unique('Shop') }), headers)).id,
    );
    const url = new URL(`/acquirers/1/integrators/${integratorId}/callbacks/links`, installation.url);
    const sent = { method: 'PUT', headers: { ...headers, 'content-type': 'application/json' } };
    await fetch(url, { ...sent, body: JSON.stringify({ callbackUrl: NOWHERE }) });
    return { integratorId };
  };
  return {
    [`GET ${address}`]: row(integrator),
    [`PUT ${address}`]: row((things) => ({ ...integrator(things), body: { callbackUrl: NOWHERE } })),
    [`DELETE ${address}`]: row(integrator, { fresh: registered }),
    [`POST ${address}/test`]: row(integrator),
    [`POST ${address.replace('links', 'taps')}/test`]: row(integrator),
    [`POST ${address}/secret`]: row((things) => ({ ...integrator(things), body: { overlapHours: 1 } }), {
      fresh: registered,
    }),
  };
}
