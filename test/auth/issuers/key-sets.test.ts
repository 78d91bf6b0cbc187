import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SigningAlgorithm } from '../../../schemas/tokens.ts';
import { readKeySet } from '../../../src/auth/issuers/issuer-keys.ts';
import { KeySets, PublishedIssuerKeys } from '../../../src/auth/issuers/key-sets.ts';
import { MerchantTokenVerifier } from '../../../src/auth/issuers/verify-merchant-token.ts';
import { OutboundError } from '../../../src/basics/errors.ts';
import {
  AUDIENCE,
  createRegistry,
  createSigner,
  ISSUER,
  NOW_MS,
  OWNER,
  signToken,
} from '../../support/merchant-token.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const URL = 'https://shop.example/keys';

/** A public key as its owner publishes it. */
function jwkOf({ registered }: ReturnType<typeof createSigner>, more: object = {}): object {
  return { ...registered.publicKey.export({ format: 'jwk' }), kid: registered.kid, use: 'sig', ...more };
}

const json = (...keys: unknown[]) => JSON.stringify({ keys });
const [first, second] = [createSigner('ES256'), createSigner('EdDSA')];

/** Waits until background work is done: a fetch takes one turn. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

describe('a key set', () => {
  test('gives the keys that verify, with their algorithms', () => {
    const rsa = createSigner('RS256');
    const keys = readKeySet(json(jwkOf(rsa), jwkOf(first), jwkOf(second), jwkOf(rsa, { kid: 'pss', alg: 'PS256' })))!;
    expect(keys.map(({ kid, algorithms }) => [kid, algorithms])).toEqual([
      [rsa.registered.kid, ['RS256', 'PS256']],
      [first.registered.kid, ['ES256']],
      [second.registered.kid, ['EdDSA']],
      ['pss', ['PS256']],
    ]);
    expect(keys[1]!.publicKey.equals(first.registered.publicKey)).toBe(true);
  });

  test.each([
    ['a shared secret', { kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' }],
    ['a key for encryption', jwkOf(first, { use: 'enc' })],
    ['a key that only signs', jwkOf(first, { key_ops: ['sign'] })],
    ['an algorithm of another kind of key', jwkOf(first, { alg: 'RS256' })],
    ['an algorithm that is not allowed', jwkOf(first, { alg: 'HS256' })],
    ['a private key', { ...first.privateKey.export({ format: 'jwk' }), use: 'sig' }],
    [
      'a curve that is not allowed',
      generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }),
    ],
    ['a point that is not on its curve', { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' }],
    [
      'an RSA key of 1,024 bits',
      generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey.export({ format: 'jwk' }),
    ],
    ['a kid of 256 characters', jwkOf(first, { kid: 'k'.repeat(256) })],
    ['a kid that is a number', jwkOf(first, { kid: 7 })],
    ['null', null],
    ['text', 'key'],
  ])('leaves out %s, and nothing else', (_, key) => {
    expect(readKeySet(json(key, jwkOf(second)))!.map(({ kid }) => kid)).toEqual([second.registered.kid]);
  });

  test.each([
    ['nothing', ''],
    ['HTML', '<html></html>'],
    ['a list', '[]'],
    ['a key alone', JSON.stringify(jwkOf(first))],
    ['too many keys', json(...Array.from({ length: 101 }, () => jwkOf(first)))],
  ])('is refused if it is %s', (_, text) => {
    expect(readKeySet(text)).toBeUndefined();
  });
});

describe('the key sets of issuers', () => {
  let nowMs: number;
  let published: string | OutboundError;
  let fetched: string[];
  let errors: unknown[];
  let sets: KeySets;
  beforeEach(() => {
    nowMs = 1_000_000;
    published = json(jwkOf(first));
    fetched = [];
    errors = [];
    sets = new KeySets({
      fetch: async (url) => {
        fetched.push(url);
        await new Promise(setImmediate);
        if (published instanceof Error) throw published;
        return published;
      },
      monotonicMs: () => nowMs,
      onError: (error) => errors.push(error),
    });
  });
  afterEach(() => sets.close());

  const kidsAt = async (kid?: string) => (await sets.find({ url: URL, acquirerId: 1 }, kid)).map((key) => key.kid);

  test('are fetched once for many simultaneous requests, and then kept', async () => {
    const asked = await Promise.all(Array.from({ length: 20 }, () => kidsAt()));
    expect(asked.every((kids) => kids.join() === first.registered.kid)).toBe(true);
    nowMs += 4 * MINUTE;
    await kidsAt(first.registered.kid);
    expect(fetched).toEqual([URL]);
  });

  test('are waited for no longer than a phone waits, even if many requests wait', async () => {
    vi.useFakeTimers();
    const silent = new KeySets({ fetch: () => new Promise(() => {}), monotonicMs: () => nowMs, onError: () => {} });
    try {
      const asked = Array.from({ length: 50 }, (_, at) => silent.find({ url: `${URL}/${at}`, acquirerId: 1 }));
      await vi.advanceTimersByTimeAsync(5_000);
      expect((await Promise.all(asked)).flat()).toEqual([]);
    } finally {
      silent.close();
      vi.useRealTimers();
    }
  });

  test('do not wait for the places of URLs that hang again and again', async () => {
    vi.useFakeTimers();
    let atOnce = 0;
    let most = 0;
    const hanging = new KeySets({
      fetch: async (url) => {
        if (!url.includes('dead')) return json(jwkOf(first));
        most = Math.max(most, ++atOnce);
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        atOnce--;
        throw new OutboundError('TIMEOUT');
      },
      monotonicMs: () => performance.now(),
      onError: () => {},
    });
    try {
      const dead = () => {
        for (let at = 0; at < 400; at++)
          void hanging.find({ url: `https://dead.example/${at}`, acquirerId: at % 8 }, 'made-up');
      };
      dead();
      await vi.advanceTimersByTimeAsync(5 * MINUTE);
      most = 0;
      for (let seconds = 0; seconds < 120; seconds += 10) {
        dead();
        await vi.advanceTimersByTimeAsync(10_000);
      }
      expect(most).toBe(4);
      const startedAtMs = performance.now();
      const found = hanging.find({ url: URL, acquirerId: 1 }, first.registered.kid);
      await vi.advanceTimersByTimeAsync(0);
      expect((await found).map(({ kid }) => kid)).toEqual([first.registered.kid]);
      expect(performance.now() - startedAtMs).toBe(0);
    } finally {
      hanging.close();
      vi.useRealTimers();
    }
  });

  test('do not wait for the URLs of another acquirer that hang', async () => {
    const asked: string[] = [];
    const fetch = (url: string) => {
      asked.push(url);
      return url === URL ? Promise.resolve(json(jwkOf(first))) : new Promise<string>(() => {});
    };
    const shared = new KeySets({ fetch, monotonicMs: () => nowMs, onError: () => {} });
    for (let at = 0; at < 100; at++) shared.known({ url: `https://hangs.example/${at}`, acquirerId: 2 });
    const found = await shared.find({ url: URL, acquirerId: 1 }, first.registered.kid);
    expect(found.map(({ kid }) => kid)).toEqual([first.registered.kid]);
    expect(asked.filter((url) => url !== URL)).toHaveLength(4);
    shared.close();
  });

  test('are fetched again less and less often while their URL fails', async () => {
    published = new OutboundError('CONNECTION_REFUSED');
    const minutes: number[] = [];
    for (let minute = 0; minute < 20; minute += 0.5) {
      const before = fetched.length;
      await kidsAt();
      if (fetched.length > before) minutes.push(minute);
      nowMs += MINUTE / 2;
    }
    expect(minutes).toEqual([0, 1, 3, 7, 11, 15, 19]);
    published = json(jwkOf(first));
    nowMs += 4 * MINUTE;
    expect(await kidsAt()).toEqual([first.registered.kid]);
  });

  test('are fetched again for an unknown kid, at most twice a minute', async () => {
    await kidsAt();
    published = json(jwkOf(second), jwkOf(first));
    expect(await kidsAt(second.registered.kid)).toEqual([first.registered.kid]);
    nowMs += 30_000;
    expect(await kidsAt(second.registered.kid)).toEqual([second.registered.kid, first.registered.kid]);
    for (let made = 0; made < 100; made++) await kidsAt(`made-up-${made}`);
    expect(fetched).toHaveLength(2);
    nowMs += 30_000;
    await Promise.all(Array.from({ length: 100 }, (_, made) => kidsAt(`made-up-${made}`)));
    expect(fetched).toHaveLength(3);
  });

  test('are refreshed while they are used, so that a withdrawn key is noticed', async () => {
    await kidsAt();
    const { changes } = sets;
    nowMs += 2 * MINUTE;
    sets.refresh();
    expect(fetched).toHaveLength(1);
    published = json(jwkOf(second));
    nowMs += MINUTE;
    sets.refresh();
    await settled();
    expect(fetched).toHaveLength(2);
    expect(sets.changes).toBe(changes + 1);
    expect(await kidsAt()).toEqual([second.registered.kid]);
    nowMs += 3 * MINUTE;
    sets.refresh();
    await settled();
    expect(sets.changes).toBe(changes + 1);
  });

  test('remain in use for half a day while their URL is unavailable', async () => {
    await kidsAt();
    published = new OutboundError('TIMEOUT');
    nowMs += 11 * HOUR;
    expect(await kidsAt()).toEqual([first.registered.kid]);
    expect(errors).toEqual([published]);
    const { changes } = sets;
    nowMs += HOUR;
    sets.refresh();
    await settled();
    expect(sets.changes).toBe(changes + 1);
    expect(await kidsAt()).toEqual([]);
    published = json(jwkOf(first));
    nowMs += 2 * MINUTE;
    expect(await kidsAt()).toEqual([first.registered.kid]);
  });

  test('are unchanged after an invalid response', async () => {
    await kidsAt();
    published = '<html>Moved</html>';
    nowMs += 6 * MINUTE;
    expect(await kidsAt()).toEqual([first.registered.kid]);
    expect(errors).toMatchObject([{ code: 'RESPONSE_BROKEN' }]);
  });

  test('are not requested again immediately if the first fetch failed', async () => {
    published = new OutboundError('CONNECTION_REFUSED');
    for (let made = 0; made < 10; made++) expect(await kidsAt()).toEqual([]);
    expect(fetched).toHaveLength(1);
  });

  test('are removed after a day without use', async () => {
    await kidsAt();
    nowMs += 25 * HOUR;
    sets.refresh();
    sets.refresh();
    await settled();
    expect(fetched).toHaveLength(1);
  });
});

describe('an issuer that publishes its keys', () => {
  const registry = createRegistry();
  let published = json(jwkOf(first));
  let nowMs = 0;
  const sets = new KeySets({ fetch: async () => published, monotonicMs: () => nowMs, onError: () => {} });
  const algorithms: SigningAlgorithm[] = ['ES256', 'EdDSA'];
  registry.keys.set(ISSUER, []);
  registry.sets.set(ISSUER, [{ url: URL, algorithms, owner: OWNER }]);
  const keys = new PublishedIssuerKeys(registry, sets);
  const verifier = new MerchantTokenVerifier({ keys, merchants: registry, audience: AUDIENCE, nowMs: () => NOW_MS });
  afterEach(() => sets.close());

  test('is trusted through a rotation, and no longer after a key is withdrawn', async () => {
    const [old, fresh] = [await signToken(first), await signToken(second)];
    expect(await verifier.verify(old)).toMatchObject({ merchantId: '1001', keyOwner: OWNER });
    await expect(verifier.verify(fresh)).rejects.toMatchObject({ code: 'JWT_INVALID', check: 'key' });
    published = json(jwkOf(second), jwkOf(first));
    nowMs += MINUTE;
    expect(await verifier.verify(fresh)).toMatchObject({ merchantId: '1001' });
    expect(await verifier.verify(old)).toMatchObject({ merchantId: '1001' });
    published = json(jwkOf(second));
    nowMs += 3 * MINUTE;
    sets.refresh();
    await settled();
    await expect(verifier.verify(old)).rejects.toMatchObject({ code: 'JWT_INVALID', check: 'key' });
    expect(await verifier.verify(fresh)).toMatchObject({ merchantId: '1001' });
  });

  test('may sign only with the registered algorithms, regardless of its set', async () => {
    const rsa = createSigner('RS256');
    published = json(jwkOf(rsa), jwkOf(second));
    nowMs += MINUTE;
    await expect(verifier.verify(await signToken(rsa))).rejects.toMatchObject({ check: 'algorithm' });
    const lying = { ...rsa, algorithm: 'PS256' as const };
    await expect(verifier.verify(await signToken(lying))).rejects.toMatchObject({ check: 'algorithm' });
  });
});
