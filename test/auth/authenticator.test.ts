import { describe, expect, it } from 'vitest';
import { type ApiKeyRecord, createApiKey, createApiKeyVerifier } from '../../src/auth/api-key.ts';
import { Authenticator, READ_TRANSACTIONS } from '../../src/auth/authenticator.ts';
import { createMerchantTokenVerifier } from '../../src/auth/verify-merchant-token.ts';
import { AuthError } from '../../src/errors.ts';
import { AUDIENCE, createRegistry, createSigner, NOW_MS, OWNER, signToken } from '../support/merchant-token.ts';

const signer = createSigner('EdDSA');
const registry = createRegistry(signer);
const token = await signToken(signer);
const records = new Map<string, ApiKeyRecord>();
const authenticator = new Authenticator(
  createMerchantTokenVerifier({ keys: registry, merchants: registry, audience: AUDIENCE, nowMs: () => NOW_MS }),
  createApiKeyVerifier({ mode: 'test', keys: { find: async (id) => records.get(id), recordUse: () => {} } }),
);

function keyOf(owner: ApiKeyRecord['owner'], scopes: readonly string[] = [READ_TRANSACTIONS]): string {
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
