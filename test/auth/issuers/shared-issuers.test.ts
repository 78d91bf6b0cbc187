import { describe, expect, test } from 'vitest';
import { KeySets, PublishedIssuerKeys } from '../../../src/auth/issuers/key-sets.ts';
import { MerchantTokenVerifier } from '../../../src/auth/issuers/verify-merchant-token.ts';
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

  test('two acquirers with the same issuer never sign for a merchant of the other acquirer', async () => {
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

  test.each([
    ['in this order', [first, copied]],
    ['in the other order', [copied, first]],
  ])('signs only for the acquirer that the token names: %s', async (_case, signers) => {
    const bench = new VerifierBench(registryOf(...signers));
    for (const sub of ['1001', '2002', '3003'])
      expect(await bench.refusal(await signToken(first, { sub }))).toBe('JWT_INVALID acquirer');
    for (const acquirerId of [1, '1'])
      expect(await bench.verifier.verify(await signToken(first, { acquirerId }))).toMatchObject({ acquirerId: 1 });
    expect(await bench.verifier.verify(await signToken(first, { acquirerId: 2 }))).toMatchObject({ acquirerId: 2 });
    expect(await bench.refusal(await signToken(first, { acquirerId: 3 }))).toBe('JWT_INVALID issuer');
  });

  test('refuses a token that was accepted before the other acquirer registered it', async () => {
    const registry = registryOf(first);
    const bench = new VerifierBench(registry);
    const token = await signToken(first);
    expect(await bench.verifier.verify(token)).toMatchObject({ acquirerId: 1 });
    registry.change(({ keys }) => keys.set(ISSUER, [first.registered, copied.registered]));
    expect(await bench.refusal(token)).toBe('JWT_INVALID acquirer');
    registry.change(({ keys }) => keys.set(ISSUER, [first.registered]));
    expect(await bench.verifier.verify(token)).toMatchObject({ acquirerId: 1 });
  });

  test('reveals to a caller without the private key nothing of the other acquirer', async () => {
    const bench = new VerifierBench(registryOf(first, copied));
    const foreign = { ...createSigner('ES256'), registered: first.registered };
    expect(await bench.refusal(await signToken(foreign))).toBe('JWT_INVALID signature');
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
    const fetched: string[] = [];
    const fetch = (asked: string) => {
      fetched.push(asked);
      // The server of the other acquirer never responds.
      return asked === url ? Promise.resolve(JSON.stringify({ keys: [jwk(first)] })) : new Promise<string>(() => {});
    };
    const sets = new KeySets({ fetch, monotonicMs: () => 0, onError: () => {} });
    const keys = new PublishedIssuerKeys(registry, sets);
    const options = { keys, merchants: registry, audience: AUDIENCE, nowMs: () => NOW_MS };
    return { fetched, verifier: new MerchantTokenVerifier(options) };
  }

  test('is not hidden by a PEM with the same kid', async () => {
    const { verifier } = verifierOf(second);
    const token = await signToken(first, { sub: '3003', acquirerId: 1 });
    expect(await verifier.verify(token)).toMatchObject({ acquirerId: 1 });
    expect(await verifier.verify(await signToken(second, { sub: '2002' }))).toMatchObject({ acquirerId: 2 });
    await expect(verifier.verify(await signToken(second, { sub: '3003' }))).rejects.toMatchObject({ check: 'owner' });
  });

  test('does not wait for a server that does not respond, and never asks it', async () => {
    const { verifier, fetched } = verifierOf('https://keys.example/hangs');
    expect(await verifier.verify(await signToken(first, { acquirerId: 1 }))).toMatchObject({ acquirerId: 1 });
    expect(fetched).toEqual([url]);
  });

  test.each([
    'https://keys.example/hangs',
    url,
  ])('needs the claim if the other acquirer registered %s', async (other) => {
    const { verifier } = verifierOf(other);
    const named = await signToken(first, { sub: '3003', acquirerId: 1 });
    expect(await verifier.verify(named)).toMatchObject({ acquirerId: 1 });
    const unnamed = verifier.verify(await signToken(first, { sub: '3003' }));
    await expect(unnamed).rejects.toMatchObject({ code: 'JWT_INVALID', check: 'acquirer' });
  });
});

describe('the name of the gateway', () => {
  test.each([
    AUDIENCE,
    AUDIENCE.toUpperCase(),
    'tapwire',
    'Tapwire',
    ' tapwire ',
  ])('the name of the gateway never signs, even if %j is registered', async (issuer) => {
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
  expect(await check(token, OTHER)).toEqual({ name: 'signature' });
  expect(await check(token, { acquirerId: 3 })).toEqual({ name: 'issuer' });
  expect(await check(token, 'operator')).toBeUndefined();
});
