import { describe, expect, test } from 'vitest';
import {
  CLAIMS,
  createRegistry,
  createSigner,
  ISSUER,
  signToken,
  type TestRegistry,
} from '../../support/merchant-token.ts';
import { VerifierBench } from '../../support/verifier-bench.ts';

const [rsa, p256] = [createSigner('RS256'), createSigner('ES256')];
const bench = () => new VerifierBench(createRegistry(rsa, p256));

describe('a known token', () => {
  test('is not verified again while no registration has changed', async () => {
    const tenants = bench();
    const token = await signToken(rsa);
    const first = await tenants.verifier.verify(token);
    tenants.registry.asked.length = 0;
    expect(await tenants.verifier.verify(token)).toBe(first);
    expect(tenants.registry.asked).toEqual(['generation']);
  });

  test('expires in time', async () => {
    const tenants = bench();
    const token = await signToken(p256);
    await tenants.verifier.verify(token);
    tenants.nowMs = CLAIMS.exp * 1_000 + 59_999;
    expect(await tenants.verifier.verify(token)).toBeDefined();
    tenants.nowMs++;
    expect(await tenants.refusal(token)).toBe('JWT_EXPIRED expired');
    expect(await tenants.refusal(token)).toBe('JWT_EXPIRED expired');
  });

  test.each<[string, (registry: TestRegistry) => void, string]>([
    ['its key is revoked', (registry) => registry.keys.set(ISSUER, [rsa.registered]), 'JWT_INVALID key'],
    ['its issuer is removed', (registry) => registry.keys.delete(ISSUER), 'JWT_INVALID issuer'],
    [
      'its key gives way to another under the same names',
      (registry) =>
        registry.keys.set(ISSUER, [
          { ...createSigner('ES256').registered, id: p256.registered.id, kid: p256.registered.kid },
        ]),
      'JWT_INVALID signature',
    ],
    [
      'its key may no longer sign with that algorithm',
      (registry) => registry.keys.set(ISSUER, [{ ...p256.registered, algorithms: [] }]),
      'JWT_INVALID algorithm',
    ],
    [
      'its key moves to another owner',
      (registry) => registry.keys.set(ISSUER, [{ ...p256.registered, owner: { acquirerId: 2 } }]),
      'FORBIDDEN owner',
    ],
    [
      'its merchant moves to another tenant',
      (registry) => registry.merchants.set('1001', { ...registry.merchants.get('1001')!, acquirerId: 2 }),
      'FORBIDDEN owner',
    ],
    [
      'its merchant is blocked',
      (registry) => registry.merchants.set('1001', { ...registry.merchants.get('1001')!, isBlocked: true }),
      'FORBIDDEN blocked',
    ],
  ])('stops working after %s', async (_, change, refusal) => {
    const tenants = bench();
    const token = await signToken(p256);
    await tenants.verifier.verify(token);
    tenants.registry.change(change);
    expect(await tenants.refusal(token)).toBe(refusal);
  });

  test('keeps working after another tenant’s key was revoked, without another check of its signature', async () => {
    const tenants = bench();
    const token = await signToken(rsa);
    const first = await tenants.verifier.verify(token);
    tenants.registry.change((registry) => registry.keys.set('https://other-shop.example', []));
    expect(await tenants.verifier.verify(token)).toBe(first);
  });

  test('uses the changed data of its merchant', async () => {
    const tenants = bench();
    const token = await signToken(p256);
    await tenants.verifier.verify(token);
    tenants.registry.change((registry) => {
      registry.keys.set(ISSUER, [{ ...p256.registered, owner: { acquirerId: 1 } }]);
      registry.merchants.set('1001', { ...registry.merchants.get('1001')!, integratorId: 12 });
    });
    expect(await tenants.verifier.verify(token)).toMatchObject({ integratorId: 12 });
  });
});

describe('when the registrations cannot be read', () => {
  test('a token is neither good nor bad: the store’s own error is thrown, and it works again afterwards', async () => {
    const tenants = bench();
    const { find } = tenants.registry;
    const gone = new Error('database unavailable');
    tenants.registry.find = () => Promise.reject(gone);
    const token = await signToken(p256);
    await expect(tenants.verifier.verify(token)).rejects.toBe(gone);
    tenants.registry.find = find;
    expect(await tenants.verifier.verify(token)).toMatchObject({ merchantId: '1001' });
  });
});
