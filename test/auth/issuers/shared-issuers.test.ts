import { describe, expect, test } from 'vitest';
import { KeySets } from '../../../src/auth/issuers/key-sets.ts';
import { PublishedIssuerKeys } from '../../../src/auth/issuers/published-issuer-keys.ts';
import { createMerchantTokenVerifier } from '../../../src/auth/issuers/verify-merchant-token.ts';
import { createTokenCheck } from '../../../src/auth/tokens/check-token.ts';
import type { Tenant } from '../../../src/payments/ports/store-ports.ts';
import {
  AUDIENCE,
  createRegistry,
  createSigner,
  ISSUER,
  NOW_MS,
  OWNER,
  signToken,
  type TestSigner,
} from '../../support/merchant-token.ts';
import { VerifierBench } from '../../support/verifier-bench.ts';

/** Another acquirer that registered the same issuer. */
const OTHER: Tenant = { acquirerId: 2, integratorId: 22 };

/**
 * The first acquirer registered the issuer first. Both have a merchant 1001; 2002 belongs to the second, 3003 to the
 * first.
 */
function registryOf(...signers: TestSigner[]) {
  const registry = createRegistry(...signers);
  const merchant = (owner: Tenant, id: string) =>
    registry.merchants.set(`${owner.acquirerId} ${id}`, {
      acquirerId: owner.acquirerId,
      integratorId: owner.integratorId!,
      merchantId: id,
      isBlocked: false,
    });
  merchant(OTHER, '1001');
  merchant(OWNER, '3003');
  return registry;
}

const jwk = (signer: TestSigner, kid = signer.registered.kid) => ({
  ...signer.registered.publicKey.export({ format: 'jwk' }),
  kid,
});

describe.each([
  ['kids of their own', 'kid-a', 'kid-b'],
  ['the same kid', 'kid', 'kid'],
  ['no kid', undefined, undefined],
])('two acquirers with the same issuer and %s', (_what, firstKid, secondKid) => {
  const first = createSigner('ES256', { kid: firstKid });
  const second = createSigner('ES256', { kid: secondKid, owner: OTHER });

  test('each sign for their own merchants, even if both have a merchant of that id', async () => {
    for (const order of [
      [first, second],
      [second, first],
    ]) {
      const { verifier } = new VerifierBench(registryOf(...order));
      expect(await verifier.verify(await signToken(first))).toMatchObject({ acquirerId: 1, merchantId: '1001' });
      expect(await verifier.verify(await signToken(second))).toMatchObject({ acquirerId: 2, merchantId: '1001' });
    }
  });

  test('never sign for a merchant of the other acquirer', async () => {
    const bench = new VerifierBench(registryOf(first, second));
    expect(await bench.refusal(await signToken(first, { sub: '2002' }))).toBe('FORBIDDEN owner');
    expect(await bench.refusal(await signToken(second, { sub: '3003' }))).toBe('FORBIDDEN owner');
    expect(await bench.refusal(await signToken(first, { acquirerId: 2 }))).toMatch(/^JWT_INVALID (signature|key)$/);
    expect(await bench.refusal(await signToken(createSigner('ES256', { kid: firstKid })))).toBe(
      'JWT_INVALID signature',
    );
  });

  test('do not displace each other’s keys from those that are tried', async () => {
    const many = Array.from({ length: 20 }, () => createSigner('ES256', { kid: firstKid, owner: OTHER }));
    const { verifier } = new VerifierBench(registryOf(...many, first));
    expect(await verifier.verify(await signToken(first))).toMatchObject({ acquirerId: 1 });
    expect(await verifier.verify(await signToken(first, { sub: '3003' }))).toMatchObject({ acquirerId: 1 });
  });
});

describe('a public key that another acquirer has also registered', () => {
  const first = createSigner('ES256');
  const copied = { ...first, registered: { ...first.registered, id: 'copied', owner: OTHER } };

  test('signs for the acquirer that registered the issuer first, and for the other one only if the token names it', async () => {
    const { verifier } = new VerifierBench(registryOf(first, copied));
    expect(await verifier.verify(await signToken(first))).toMatchObject({ acquirerId: 1 });
    expect(await verifier.verify(await signToken(first, { acquirerId: 2 }))).toMatchObject({ acquirerId: 2 });
  });

  test('signs for the acquirer that the token names, regardless of who was first', async () => {
    const { verifier } = new VerifierBench(registryOf(copied, first));
    expect(await verifier.verify(await signToken(first, { acquirerId: 1 }))).toMatchObject({ acquirerId: 1 });
    expect(await verifier.verify(await signToken(first, { acquirerId: '1' }))).toMatchObject({ acquirerId: 1 });
    expect(await verifier.verify(await signToken(first, { sub: '3003' }))).toMatchObject({ acquirerId: 1 });
  });

  test('still signs for the other acquirer after its owner revokes it, and for no other merchants', async () => {
    const registry = registryOf(first, copied);
    const bench = new VerifierBench(registry);
    const token = await signToken(first, { sub: '3003' });
    expect(await bench.verifier.verify(token)).toMatchObject({ acquirerId: 1 });
    registry.change(({ keys }) => keys.set(ISSUER, [copied.registered]));
    expect(await bench.refusal(token)).toBe('FORBIDDEN owner');
  });
});

describe('an issuer that publishes its keys, and another acquirer that registered its name', () => {
  const url = 'https://keys.example/first';
  const algorithms = ['ES256'] as const;
  const first = createSigner('ES256', { kid: 'kid' });
  const second = createSigner('ES256', { kid: 'kid', owner: OTHER });

  function verifierOf(others: string | TestSigner) {
    const registry = registryOf(...(typeof others === 'string' ? [] : [others]));
    registry.sets.set(ISSUER, [
      { url, algorithms, owner: OWNER },
      ...(typeof others === 'string' ? [{ url: others, algorithms, owner: OTHER }] : []),
    ]);
    const fetch = (asked: string) =>
      // The server of the other acquirer never responds.
      asked === url ? Promise.resolve(JSON.stringify({ keys: [jwk(first)] })) : new Promise<string>(() => {});
    const sets = new KeySets({ fetch, monotonicMs: () => 0, onError: () => {} });
    const keys = new PublishedIssuerKeys(registry, sets);
    return createMerchantTokenVerifier({ keys, merchants: registry, audience: AUDIENCE, nowMs: () => NOW_MS });
  }

  test('is not hidden by a PEM with the same kid', async () => {
    const verifier = verifierOf(second);
    expect(await verifier.verify(await signToken(first, { sub: '3003' }))).toMatchObject({ acquirerId: 1 });
    expect(await verifier.verify(await signToken(second, { sub: '2002' }))).toMatchObject({ acquirerId: 2 });
    await expect(verifier.verify(await signToken(second, { sub: '3003' }))).rejects.toMatchObject({ check: 'owner' });
  });

  test('does not wait for a server that does not respond', async () => {
    const verifier = verifierOf('https://keys.example/hangs');
    expect(await verifier.verify(await signToken(first))).toMatchObject({ acquirerId: 1 });
  });

  test('has its own merchants if the other acquirer registered the same URL', async () => {
    const verifier = verifierOf(url);
    expect(await verifier.verify(await signToken(first))).toMatchObject({ acquirerId: 1 });
    expect(await verifier.verify(await signToken(first, { sub: '3003' }))).toMatchObject({ acquirerId: 1 });
  });
});

describe('the name of the gateway', () => {
  test.each([
    AUDIENCE,
    AUDIENCE.toUpperCase(),
    'tapwire',
    'Tapwire',
    ' tapwire ',
  ])('never signs, even if %j is registered', async (issuer) => {
    const signer = createSigner('ES256');
    const registry = createRegistry(signer);
    registry.keys.set(issuer, [signer.registered]);
    const bench = new VerifierBench(registry);
    expect(await bench.refusal(await signToken(signer, { iss: issuer }))).toMatch(/^JWT_INVALID (issuer|claims)$/);
  });
});

test('the owner of an issuer learns of a token with another acquirer’s key only that it did not sign it', async () => {
  const first = createSigner('ES256', { kid: 'kid' });
  const second = createSigner('ES256', { kid: 'kid', owner: OTHER });
  const registry = registryOf(first, second);
  const { verifier: tokens } = new VerifierBench(registry);
  const check = createTokenCheck({ tokens, registered: registry, keys: registry });
  const token = await signToken(first);
  expect(await check(token, OWNER)).toBeUndefined();
  expect(await check(token, OTHER)).toBe('signature');
  expect(await check(token, { acquirerId: 3 })).toBe('issuer');
  expect(await check(token, 'operator')).toBeUndefined();
});
