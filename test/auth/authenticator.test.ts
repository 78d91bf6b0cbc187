import { describe, expect, it } from 'vitest';
import { type ApiKeyRecord, createApiKey, createApiKeyVerifier } from '../../src/auth/api-key.ts';
import { Authenticator } from '../../src/auth/authenticator.ts';
import { createMerchantTokenVerifier } from '../../src/auth/verify-merchant-token.ts';
import { AuthError } from '../../src/errors.ts';
import { AUDIENCE, createRegistry, createSigner, ISSUER, NOW_MS, OWNER, signToken } from '../support/merchant-token.ts';

const signer = createSigner('EdDSA');
const registry = createRegistry(signer);
const token = await signToken(signer);
const records = new Map<string, ApiKeyRecord>();
const authenticator = new Authenticator(
  createMerchantTokenVerifier({ keys: registry, merchants: registry, audience: AUDIENCE, nowMs: () => NOW_MS }),
  createApiKeyVerifier({ mode: 'test', keys: { find: async (id) => records.get(id), recordUse: () => {} } }),
);

function keyOf(owner: ApiKeyRecord['owner'], scopes: readonly string[] = ['transactions:read']): string {
  const { text, record } = createApiKey({ mode: 'test', owner, scopes, name: 'test', expiresAtMs: null });
  records.set(record.id, record);
  return text.reveal();
}

const bearer = { authorization: `Bearer ${token}` };
const MERCHANT = { acquirerId: 1, integratorId: 11, merchantId: '1001' };

describe('who may read transactions', () => {
  it('is the owner of an API key', async () => {
    expect(await authenticator.owner({ 'x-api-key': keyOf(OWNER) })).toEqual(OWNER);
  });

  it('is the merchant that a Bearer token stands for', async () => {
    expect(await authenticator.owner(bearer)).toEqual(MERCHANT);
  });

  it.each([
    ['its acquirer', { acquirerId: 1 }],
    ['its integrator', { acquirerId: 1, integratorId: 11 }],
    ['itself', MERCHANT],
  ])('is the merchant of the token when the key is of %s', async (_, owner) => {
    expect(await authenticator.owner({ ...bearer, 'x-api-key': keyOf(owner) })).toEqual(MERCHANT);
  });

  it.each([
    ['another acquirer', { acquirerId: 2 }],
    ['another integrator', { acquirerId: 1, integratorId: 12 }],
    ['another merchant', { acquirerId: 1, integratorId: 11, merchantId: '1002' }],
  ])('is nobody when key and token are both good but the key is of %s', async (_, owner) => {
    const both = { ...bearer, 'x-api-key': keyOf(owner) };
    await expect(authenticator.owner(both)).rejects.toEqual(new AuthError('FORBIDDEN', 'owner'));
  });

  it('is nobody when one of two credentials is bad, whichever it is', async () => {
    const badKey = `tw_test_${'0'.repeat(16)}_${'0'.repeat(64)}`;
    await expect(authenticator.owner({ ...bearer, 'x-api-key': badKey })).rejects.toMatchObject({
      code: 'API_KEY_INVALID',
    });
    const badToken = { authorization: `Bearer ${token.slice(0, -4)}AAAA`, 'x-api-key': keyOf(OWNER) };
    await expect(authenticator.owner(badToken)).rejects.toMatchObject({ code: 'JWT_INVALID' });
    const noToken = { authorization: 'Basic dXNlcjpwYXNz', 'x-api-key': keyOf(OWNER) };
    await expect(authenticator.owner(noToken)).rejects.toMatchObject({ code: 'UNAUTHORISED' });
  });

  it('is nobody without a credential, without the scope, or with the key of the operator', async () => {
    await expect(authenticator.owner({})).rejects.toMatchObject({
      code: 'UNAUTHORISED',
      httpStatus: 401,
      errorCode: 100,
    });
    await expect(authenticator.owner({ 'x-api-key': keyOf(OWNER, []) })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(authenticator.owner({ 'x-api-key': keyOf('operator') })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});

describe('who speaks for an integrator', () => {
  const key = (owner: ApiKeyRecord['owner'] = OWNER, scopes = ['webhooks:manage']) => ({
    'x-api-key': keyOf(owner, scopes),
  });
  const alone = { scope: 'webhooks:manage', needsBearer: false } as const;
  const both = { scope: 'webhooks:manage', needsBearer: true } as const;

  it('is the holder of its key, and of a token that it signed where one is needed', async () => {
    expect(await authenticator.integrator(key(), alone)).toEqual(OWNER);
    expect(await authenticator.integrator({ ...key(), ...bearer }, alone)).toEqual(OWNER);
    expect(await authenticator.integrator({ ...key(), ...bearer }, both)).toEqual(OWNER);
  });

  it('is nobody with one credential where both are needed', async () => {
    await expect(authenticator.integrator(key(), both)).rejects.toMatchObject({ code: 'UNAUTHORISED' });
    await expect(authenticator.integrator(bearer, both)).rejects.toMatchObject({ code: 'UNAUTHORISED' });
    await expect(authenticator.integrator(bearer, alone)).rejects.toMatchObject({ code: 'UNAUTHORISED' });
  });

  it.each([
    ['the operator', 'operator' as const],
    ['an acquirer', { acquirerId: 1 }],
    ['a merchant', MERCHANT],
  ])('is not the holder of a key of %s', async (_, owner) => {
    await expect(authenticator.integrator({ ...key(owner), ...bearer }, both)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  it.each([
    ['another integrator', { acquirerId: 1, integratorId: 12 }],
    ['another acquirer', { acquirerId: 2, integratorId: 11 }],
  ])('is not the holder of a key of %s with this token, though both are good', async (_, owner) => {
    for (const wanted of [alone, both]) {
      await expect(authenticator.integrator({ ...key(owner), ...bearer }, wanted)).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
    }
  });

  it('is not a merchant that signs its own tokens', async () => {
    const own = createSigner('ES256', { owner: MERCHANT, kid: 'own' });
    registry.change(({ keys }) => keys.get(ISSUER)!.push(own.registered));
    const headers = { ...key(), authorization: `Bearer ${await signToken(own)}` };
    await expect(authenticator.integrator(headers, both)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  it('is nobody without the scope', async () => {
    const reader = key(OWNER, ['transactions:read']);
    await expect(authenticator.integrator({ ...reader, ...bearer }, both)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });
});
