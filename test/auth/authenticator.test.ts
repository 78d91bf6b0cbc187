import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type ApiKeyRecord, ApiKeyVerifier, createApiKey } from '../../src/auth/api-key.ts';
import { Authenticator } from '../../src/auth/authenticator.ts';
import { MerchantTokenVerifier } from '../../src/auth/issuers/verify-merchant-token.ts';
import type { PortalUser } from '../../src/auth/portal/portal-user.ts';
import type { TokenUse } from '../../src/auth/tokens/gateway-tokens.ts';
import { LoginTokens } from '../../src/auth/tokens/login-tokens.ts';
import { AuthError } from '../../src/basics/errors.ts';
import type { KnownUser, MerchantRecord } from '../../src/payments/ports/directory-ports.ts';
import { AUDIENCE, createRegistry, createSigner, ISSUER, NOW_MS, OWNER, signToken } from '../support/merchant-token.ts';
import { createTokenKey, ownTokensOf } from '../support/own-tokens.ts';

const signer = createSigner('EdDSA');
const registry = createRegistry(signer);
const token = await signToken(signer);
const records = new Map<string, ApiKeyRecord>();
const users = new Map<string, PortalUser>();
/** Users that `usr` claims may name. */
const known = new Map<string, KnownUser>();
const ownTokens = ownTokensOf([createTokenKey('own')], AUDIENCE, () => NOW_MS);
const loginTokens = new LoginTokens({
  tokens: ownTokens,
  users: { find: async (_acquirerId, id) => users.get(id) },
  lifetimeSeconds: 3_600,
  nowMs: () => NOW_MS,
});
const authenticator = new Authenticator({
  tokens: new MerchantTokenVerifier({ keys: registry, merchants: registry, audience: AUDIENCE, nowMs: () => NOW_MS }),
  apiKeys: new ApiKeyVerifier({ mode: 'test', keys: { find: async (id) => records.get(id), recordUse: () => {} } }),
  ownTokens,
  loginTokens,
  merchants: registry,
  directory: { merchant: () => ({}) as MerchantRecord, user: (_merchant, claim) => known.get(claim) },
  findPerson: async () => {
    throw new AuthError('UNAUTHORISED', 'session');
  },
});

/** Logs a new user in; the test may change the user later without the session noticing. */
async function session(wanted: Partial<PortalUser> = {}): Promise<{ readonly authorization: string }> {
  const user: PortalUser = {
    id: randomUUID(),
    username: 'thandi@shop.example',
    owner: OWNER,
    role: 'operator',
    permissions: [],
    isBlocked: false,
    passwordChangedAtMs: NOW_MS - 60_000,
    hasSecondFactor: false,
    ...wanted,
  };
  users.set(user.id, user);
  return { authorization: `Bearer ${await loginTokens.issue(user)}` };
}

async function deviceToken(use: Exclude<TokenUse, 'login'>): Promise<{ readonly authorization: string }> {
  const claims = { sub: '1001', acquirerId: 1, merchantId: 1001, jti: randomUUID(), exp: NOW_MS / 1_000 + 60 };
  return { authorization: `Bearer ${await ownTokens.sign(use, claims)}` };
}

function keyOf(owner: ApiKeyRecord['owner'], scopes: readonly string[] = ['transactions:read']): string {
  const { text, record } = createApiKey({ mode: 'test', owner, scopes, name: 'test', expiresAtMs: null });
  records.set(record.id, record);
  return text.reveal();
}

const bearer = { authorization: `Bearer ${token}` };
const MERCHANT = { acquirerId: 1, integratorId: 11, merchantId: '1001' };

describe('who may read transactions', () => {
  test('is the owner of an API key', async () => {
    expect(await authenticator.owner({ 'x-api-key': keyOf(OWNER) })).toEqual(OWNER);
  });

  test('is the merchant that a Bearer token names', async () => {
    expect(await authenticator.owner(bearer)).toEqual(MERCHANT);
  });

  test.each([
    ['its acquirer', { acquirerId: 1 }],
    ['its integrator', { acquirerId: 1, integratorId: 11 }],
    ['itself', MERCHANT],
  ])('is the merchant of the token if the key is of %s', async (_, owner) => {
    expect(await authenticator.owner({ ...bearer, 'x-api-key': keyOf(owner) })).toEqual(MERCHANT);
  });

  test.each([
    ['another acquirer', { acquirerId: 2 }],
    ['another integrator', { acquirerId: 1, integratorId: 12 }],
    ['another merchant', { acquirerId: 1, integratorId: 11, merchantId: '1002' }],
  ])('is refused if key and token are both good but the key is of %s', async (_, owner) => {
    const both = { ...bearer, 'x-api-key': keyOf(owner) };
    await expect(authenticator.owner(both)).rejects.toEqual(new AuthError('FORBIDDEN', 'owner'));
  });

  test('is refused if the user that the token names is blocked, or of another merchant', async () => {
    const user = { id: randomUUID(), isBlocked: false, isOfAnother: false, permissions: [] };
    known.set('till-3', user);
    expect(await authenticator.owner(bearer)).toEqual(MERCHANT);
    known.set('till-3', { ...user, isBlocked: true });
    await expect(authenticator.owner(bearer)).rejects.toMatchObject({ code: 'BLOCKED_USER' });
    known.set('till-3', { ...user, isOfAnother: true });
    await expect(authenticator.owner(bearer)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    known.clear();
  });

  test('is refused if one of two credentials is bad', async () => {
    const badKey = `tw_test_${'0'.repeat(16)}_${'0'.repeat(64)}`;
    await expect(authenticator.owner({ ...bearer, 'x-api-key': badKey })).rejects.toMatchObject({
      code: 'API_KEY_INVALID',
    });
    const badToken = { authorization: `Bearer ${token.slice(0, -4)}AAAA`, 'x-api-key': keyOf(OWNER) };
    await expect(authenticator.owner(badToken)).rejects.toMatchObject({ code: 'JWT_INVALID' });
    const noToken = { authorization: 'Basic dXNlcjpwYXNz', 'x-api-key': keyOf(OWNER) };
    await expect(authenticator.owner(noToken)).rejects.toMatchObject({ code: 'UNAUTHORISED' });
  });

  test('is refused without a credential, without the scope, or with the key of the operator', async () => {
    await expect(authenticator.owner({})).rejects.toMatchObject({
      code: 'UNAUTHORISED',
    });
    await expect(authenticator.owner({ 'x-api-key': keyOf(OWNER, []) })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(authenticator.owner({ 'x-api-key': keyOf('operator') })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('a portal user', () => {
  test('reads what belongs to its owner', async () => {
    expect(await authenticator.owner(await session({ role: 'viewer' }))).toEqual(OWNER);
    const cashier = await session({ owner: MERCHANT });
    expect(await authenticator.owner({ ...cashier, 'x-api-key': keyOf(OWNER) })).toEqual(MERCHANT);
  });

  test('may do what its role allows, and what was granted in addition', async () => {
    expect(await authenticator.creator(await session(), 'payments:create')).toEqual(OWNER);
    const scope = { code: 'FORBIDDEN', check: 'scope' };
    await expect(authenticator.creator(await session({ role: 'viewer' }), 'payments:create')).rejects.toMatchObject(
      scope,
    );
    await expect(authenticator.creator(await session(), 'devices:manage')).rejects.toMatchObject(scope);
    await expect(authenticator.owner(await session({ role: 'viewer' }), 'transactions:refund')).rejects.toMatchObject(
      scope,
    );
    const trusted = await session({ role: 'viewer', permissions: ['payments:create'] });
    expect(await authenticator.creator(trusted, 'payments:create')).toEqual(OWNER);
    const admin = await session({ role: 'admin' });
    expect(await authenticator.creator(admin, 'devices:manage')).toEqual(OWNER);
    await expect(authenticator.creator(admin, 'tenants:manage')).rejects.toMatchObject(scope);
  });

  test('is refused if it is blocked or removed, or its password has changed since', async () => {
    await expect(authenticator.owner(await session({ isBlocked: true }))).rejects.toMatchObject({
      code: 'BLOCKED_USER',
    });
    const gone = await session();
    users.clear();
    await expect(authenticator.owner(gone)).rejects.toMatchObject({ code: 'JWT_INVALID', check: 'user' });
    const before = await session({ passwordChangedAtMs: NOW_MS + 1_000 });
    await expect(authenticator.owner(before)).rejects.toMatchObject({ code: 'JWT_INVALID', check: 'password' });
    expect(await authenticator.owner(await session({ passwordChangedAtMs: NOW_MS + 900 }))).toEqual(OWNER);
  });

  test('configures nothing and does not act for an integrator', async () => {
    const admin = await session({ role: 'admin', owner: { acquirerId: 1 } });
    const forbidden = { code: 'FORBIDDEN' };
    await expect(authenticator.administrator(admin, '1', 'processors:manage')).rejects.toMatchObject(forbidden);
    const headers = { ...admin, 'x-api-key': keyOf(OWNER, ['webhooks:manage']) };
    const wanted = { scope: 'webhooks:manage', needsBearer: true } as const;
    await expect(authenticator.integrator(headers, wanted)).rejects.toMatchObject(forbidden);
  });

  test('counts as one credential in every session', async () => {
    const first = await session({ id: randomUUID() });
    expect(await authenticator.credential(first)).toBe(await authenticator.credential(first));
    expect(await authenticator.credential(await session())).not.toBe(await authenticator.credential(first));
  });
});

describe('who creates payments', () => {
  test('is the holder of a key with the scope', async () => {
    expect(await authenticator.creator({ 'x-api-key': keyOf(OWNER, ['payments:create']) }, 'payments:create')).toEqual(
      OWNER,
    );
    await expect(authenticator.creator({ 'x-api-key': keyOf(OWNER) }, 'payments:create')).rejects.toMatchObject({
      check: 'scope',
    });
  });

  test('is not the holder of a device token', async () => {
    const device = { code: 'FORBIDDEN', check: 'device' };
    await expect(authenticator.creator(bearer, 'payments:create')).rejects.toMatchObject(device);
    for (const use of ['intent', 'intentSession', 'proximity', 'pin'] as const) {
      const held = await deviceToken(use);
      await expect(authenticator.creator(held, 'payments:create')).rejects.toMatchObject(device);
      const both = { ...held, 'x-api-key': keyOf(OWNER, ['payments:create']) };
      await expect(authenticator.creator(both, 'payments:create')).rejects.toMatchObject(device);
      await expect(authenticator.owner(held)).rejects.toMatchObject({ code: 'FORBIDDEN' });
      await expect(authenticator.administrator(held, '1', 'tenants:manage')).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
    }
  });

  test('is refused with two credentials unless both are good and have one owner', async () => {
    const key = { 'x-api-key': keyOf(OWNER, ['payments:create']) };
    const own = await session();
    expect(await authenticator.creator({ ...key, ...own }, 'payments:create')).toEqual(OWNER);
    const other = await session({ owner: { acquirerId: 2 } });
    const owner = { code: 'FORBIDDEN', check: 'owner' };
    await expect(authenticator.creator({ ...key, ...other }, 'payments:create')).rejects.toMatchObject(owner);
    const bad = { ...key, authorization: `${own.authorization.slice(0, -4)}AAAA` };
    await expect(authenticator.creator(bad, 'payments:create')).rejects.toMatchObject({ code: 'JWT_INVALID' });
  });

  test('is refused if the merchant is blocked', async () => {
    const blocked = { ...MERCHANT, merchantId: '1003' };
    registry.merchants.set('1003', { ...blocked, isBlocked: true });
    const refused = { code: 'FORBIDDEN', check: 'blocked' };
    const key = { 'x-api-key': keyOf(blocked, ['payments:create']) };
    await expect(authenticator.creator(key, 'payments:create')).rejects.toMatchObject(refused);
    await expect(authenticator.creator(await session({ owner: blocked }), 'payments:create')).rejects.toMatchObject(
      refused,
    );
  });
});

describe('a blocked tenant', () => {
  const refused = { code: 'FORBIDDEN', check: 'blocked' };
  const scopes = ['transactions:read', 'transactions:refund', 'webhooks:manage', 'tenants:manage'];

  test.each([
    ['an integrator, with its own key', '3 31', { acquirerId: 3, integratorId: 31 }],
    ['an acquirer, with its own key', '4', { acquirerId: 4 }],
    ['an integrator of a blocked acquirer', '5', { acquirerId: 5, integratorId: 51 }],
  ])('does nothing: %s', async (_, blocked, owner) => {
    const key = { 'x-api-key': keyOf(owner, scopes) };
    expect(await authenticator.owner(key, 'transactions:refund')).toEqual(owner);
    registry.blocked.add(blocked);
    const user = await session({ owner });
    await expect(authenticator.owner(key, 'transactions:refund')).rejects.toMatchObject(refused);
    await expect(authenticator.holder(key)).rejects.toMatchObject(refused);
    await expect(authenticator.keyAlone(key)).rejects.toMatchObject(refused);
    await expect(authenticator.owner(user)).rejects.toMatchObject(refused);
    await expect(authenticator.creator(user, 'payments:create')).rejects.toMatchObject(refused);
    const integrator = authenticator.integrator(key, { scope: 'webhooks:manage', needsBearer: false });
    await expect(integrator).rejects.toMatchObject({ code: 'FORBIDDEN' });
    const administrator = authenticator.administrator(key, String(owner.acquirerId), 'tenants:manage');
    await expect(administrator).rejects.toMatchObject(refused);
  });

  test('is still administrated by the operator', async () => {
    registry.blocked.add('6');
    const key = { 'x-api-key': keyOf('operator', ['tenants:manage']) };
    expect(await authenticator.administrator(key, '6', 'tenants:manage')).toMatchObject({ owner: 'operator' });
  });
});

describe('who acts for an integrator', () => {
  const key = (owner: ApiKeyRecord['owner'] = OWNER, scopes = ['webhooks:manage']) => ({
    'x-api-key': keyOf(owner, scopes),
  });
  const alone = { scope: 'webhooks:manage', needsBearer: false } as const;
  const both = { scope: 'webhooks:manage', needsBearer: true } as const;

  test('is the holder of its key, and of a token that it signed if one is required', async () => {
    expect(await authenticator.integrator(key(), alone)).toEqual(OWNER);
    expect(await authenticator.integrator({ ...key(), ...bearer }, alone)).toEqual(OWNER);
    expect(await authenticator.integrator({ ...key(), ...bearer }, both)).toEqual(OWNER);
  });

  test('is refused with one credential if both are required', async () => {
    await expect(authenticator.integrator(key(), both)).rejects.toMatchObject({ code: 'UNAUTHORISED' });
    await expect(authenticator.integrator(bearer, both)).rejects.toMatchObject({ code: 'UNAUTHORISED' });
    await expect(authenticator.integrator(bearer, alone)).rejects.toMatchObject({ code: 'UNAUTHORISED' });
  });

  test.each([
    ['the operator', 'operator' as const],
    ['an acquirer', { acquirerId: 1 }],
    ['a merchant', MERCHANT],
  ])('is not the holder of a key of %s', async (_, owner) => {
    await expect(authenticator.integrator({ ...key(owner), ...bearer }, both)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  test.each([
    ['another integrator', { acquirerId: 1, integratorId: 12 }],
    ['another acquirer', { acquirerId: 2, integratorId: 11 }],
  ])('is not the holder of a key of %s with this token, although both are good', async (_, owner) => {
    for (const wanted of [alone, both]) {
      await expect(authenticator.integrator({ ...key(owner), ...bearer }, wanted)).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
    }
  });

  test('is not a merchant that signs its own tokens', async () => {
    const own = createSigner('ES256', { owner: MERCHANT, kid: 'own' });
    registry.change(({ keys }) => keys.get(ISSUER)!.push(own.registered));
    const headers = { ...key(), authorization: `Bearer ${await signToken(own)}` };
    await expect(authenticator.integrator(headers, both)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  test('is refused without the scope', async () => {
    const reader = key(OWNER, ['transactions:read']);
    await expect(authenticator.integrator({ ...reader, ...bearer }, both)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});
