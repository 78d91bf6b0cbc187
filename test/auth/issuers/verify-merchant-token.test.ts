import { createHmac, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SigningAlgorithm } from '../../../schemas/tokens.ts';
import { AuthError } from '../../../src/basics/errors.ts';
import { anyText } from '../../support/any-text.ts';
import {
  AUDIENCE,
  CLAIMS,
  createRegistry,
  createSigner,
  ISSUER,
  NOW,
  NOW_MS,
  signToken,
} from '../../support/merchant-token.ts';
import { VerifierBench } from '../../support/verifier-bench.ts';

const ALGORITHMS: readonly SigningAlgorithm[] = ['RS256', 'PS256', 'ES256', 'EdDSA'];
const signers = ALGORITHMS.map((algorithm) => createSigner(algorithm));
const [rsa, , p256, ed25519] = signers as [(typeof signers)[0], unknown, (typeof signers)[0], (typeof signers)[0]];

const bench = () => new VerifierBench(createRegistry(...signers));

/** A token assembled by hand: header and claims as given, signed with the given function. */
function assemble(header: unknown, claims: unknown, sign: (input: string) => Buffer): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${sign(input).toString('base64url')}`;
}

describe('a token of a registered key', () => {
  test.each(signers)('a token of a registered key with $algorithm authenticates its merchant', async (signer) => {
    const principal = await bench().verifier.verify(await signToken(signer));
    expect(principal).toMatchObject({
      acquirerId: 1,
      integratorId: 11,
      merchantId: '1001',
      userClaim: 'till-3',
      issuer: ISSUER,
      keyId: signer.registered.id,
      expiresAtMs: CLAIMS.exp * 1_000,
      merchantName: null,
      mcc: null,
      xTid: null,
      profileName: null,
    });
  });

  test('passes on its claims about the merchant and the terminal', async () => {
    const token = await signToken(p256, {
      mbn: 'Corner Café',
      mcc: 742,
      'x-tid': 'T-1',
      spCfg: 'default',
      scope: 'createMobileProximityToken  readTransactions',
      permissions: ['refund'],
    });
    const principal = await bench().verifier.verify(token);
    expect(principal).toMatchObject({ merchantName: 'Corner Café', mcc: '0742', xTid: 'T-1', profileName: 'default' });
    expect([...principal.permissions]).toEqual(['createMobileProximityToken', 'readTransactions', 'refund']);
  });

  test('may write ids as numbers and name several audiences', async () => {
    const token = await signToken(p256, { sub: 1001, usr: 3, 'x-tid': 9, aud: ['https://other.example', AUDIENCE] });
    expect(await bench().verifier.verify(token)).toMatchObject({ merchantId: '1001', userClaim: '3', xTid: '9' });
  });

  test('may omit its kid, or carry one if the key was registered without', async () => {
    const unnamed = createSigner('ES256', { kid: undefined });
    const verifier = new VerifierBench(createRegistry(rsa, unnamed)).verifier;
    expect(await verifier.verify(await signToken(unnamed))).toMatchObject({ keyId: unnamed.registered.id });
    const named = await signToken(unnamed, {}, { kid: 'set-by-a-library' });
    expect(await verifier.verify(named)).toMatchObject({ keyId: unnamed.registered.id });
    expect(await verifier.verify(await signToken(rsa, {}, { kid: undefined }))).toMatchObject({
      keyId: rsa.registered.id,
    });
  });

  test('is valid with a minute of tolerance, and for a day at most', async () => {
    const accepted = [
      { iat: NOW + 60, exp: NOW + 120 },
      { iat: NOW - 100, exp: NOW - 59 },
      { iat: NOW, exp: NOW + 86_400 },
      { iat: NOW - 0.5, exp: NOW + 0.5 },
      { nbf: NOW + 60 },
    ];
    for (const times of accepted) expect(await bench().verifier.verify(await signToken(p256, times))).toBeDefined();

    expect(await bench().refusal(await signToken(p256, { iat: NOW + 61 }))).toBe('JWT_INVALID not-yet');
    expect(await bench().refusal(await signToken(p256, { nbf: NOW + 61 }))).toBe('JWT_INVALID not-yet');
    expect(await bench().refusal(await signToken(p256, { exp: NOW + 86_401 }))).toBe('JWT_INVALID lifetime');
    expect(await bench().refusal(await signToken(p256, { exp: NOW }))).toBe('JWT_INVALID lifetime');
    expect(await bench().refusal(await signToken(p256, { iat: NOW - 100, exp: NOW - 60 }))).toBe('JWT_EXPIRED expired');
  });
});

describe('a token is refused', () => {
  test('a token is refused without a signature, in every spelling of "none"', async () => {
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', null, undefined, ['RS256']]) {
      const bare = assemble({ alg, kid: rsa.registered.kid }, CLAIMS, () => Buffer.alloc(0));
      expect(await bench().refusal(bare)).toBe('JWT_INVALID shape');
      const padded = assemble({ alg, kid: rsa.registered.kid }, CLAIMS, () => Buffer.alloc(64, 1));
      expect(await bench().refusal(padded)).toBe('JWT_INVALID algorithm');
    }
  });

  test.each(['HS256', 'HS384', 'HS512'])('a token is refused with %s over the text of the public key', async (alg) => {
    for (const { registered } of signers) {
      const { kid, publicKey } = registered;
      for (const secret of [
        publicKey.export({ type: 'spki', format: 'pem' }),
        publicKey.export({ type: 'spki', format: 'der' }),
        JSON.stringify(publicKey.export({ format: 'jwk' })),
      ]) {
        const sign = (input: string) =>
          createHmac(`sha${alg.slice(2)}`, secret)
            .update(input)
            .digest();
        expect(await bench().refusal(assemble({ alg, kid }, CLAIMS, sign))).toBe('JWT_INVALID algorithm');
      }
    }
  });

  test('a token is refused with an algorithm that its key is not registered for', async () => {
    const { privateKey } = rsa;
    const asPss = { ...rsa, algorithm: 'PS256' as const, privateKey };
    expect(await bench().refusal(await signToken(asPss))).toBe('JWT_INVALID algorithm');
    const lying = assemble({ alg: 'ES256', kid: rsa.registered.kid }, CLAIMS, () => Buffer.alloc(64, 7));
    expect(await bench().refusal(lying)).toBe('JWT_INVALID algorithm');
    for (const alg of ['RS384', 'RS512', 'ES384', 'ES512', 'ES256K', 'Ed448', 'RSA1_5', 'dir']) {
      expect(await bench().refusal(assemble({ alg }, CLAIMS, () => Buffer.alloc(64, 7)))).toBe('JWT_INVALID algorithm');
    }
  });

  test('a token is refused with a signature of zeros, of the length alone, or of another token', async () => {
    const { kid } = p256.registered;
    for (const signature of [Buffer.alloc(64), Buffer.alloc(64, 0xff), Buffer.alloc(70), Buffer.alloc(1)]) {
      expect(await bench().refusal(assemble({ alg: 'ES256', kid }, CLAIMS, () => signature))).toBe(
        'JWT_INVALID signature',
      );
    }
    const zeroEd = assemble({ alg: 'EdDSA', kid: ed25519.registered.kid }, CLAIMS, () => Buffer.alloc(64));
    expect(await bench().refusal(zeroEd)).toBe('JWT_INVALID signature');
    const [mine, other] = [await signToken(p256), await signToken(p256, { sub: '2002' })];
    const mixed = [...other.split('.').slice(0, 2), mine.split('.')[2]].join('.');
    expect(await bench().refusal(mixed)).toBe('JWT_INVALID signature');
  });

  test.each([
    ['jwk', () => p256.registered.publicKey.export({ format: 'jwk' })],
    ['jku', () => 'https://attacker.example/keys'],
    ['x5u', () => 'https://attacker.example/cert'],
    ['x5c', () => ['AAAA']],
    ['crit', () => ['exp']],
    ['b64', () => true],
    ['enc', () => 'A256GCM'],
    ['zip', () => 'DEF'],
  ])('a token is refused if its header carries %s, although its signature is right', async (name, value) => {
    const header = { alg: 'EdDSA', kid: ed25519.registered.kid, [name]: value() };
    const token = assemble(header, CLAIMS, (input) => sign(null, Buffer.from(input), ed25519.privateKey));
    expect(await bench().refusal(token)).toBe('JWT_INVALID header');
  });

  test.each([
    ['a path', '../../../etc/passwd'],
    ['SQL', "' or '1'='1"],
    ['a URL', 'https://attacker.example/key'],
    ['a property of objects', '__proto__'],
    ['another tenant’s', 'kid-of-tenant-2'],
  ])('a token is refused if its kid is %s', async (_, kid) => {
    const foreign = createSigner('ES256', { kid: 'kid-of-tenant-2', owner: { acquirerId: 2, integratorId: 22 } });
    const registry = createRegistry(p256);
    registry.keys.set('https://other-shop.example', [foreign.registered]);
    const tenants = new VerifierBench(registry);
    expect(await tenants.refusal(await signToken(p256, {}, { kid }))).toBe('JWT_INVALID key');
    expect(await tenants.refusal(await signToken(foreign, {}, { kid }))).toBe('JWT_INVALID key');
    expect(new Set(registry.asked)).toEqual(new Set(['generation', `keys of ${ISSUER}`]));
  });

  test.each([
    ['empty', ''],
    ['with a control character', 'a\u0000b'],
    ['longer than 255 characters', 'k'.repeat(256)],
    ['a number', 7],
    ['an array', ['kid-1']],
    ['null', null],
  ])('a token is refused if its kid is %s', async (_, kid) => {
    const token = assemble({ alg: 'ES256', kid }, CLAIMS, () => Buffer.alloc(64, 1));
    expect(await bench().refusal(token)).toBe('JWT_INVALID header');
  });

  test('a token is refused if its kid has 10 KB, or the token 1 MB, before anything is looked up', async () => {
    const tenants = bench();
    expect(await tenants.refusal(await signToken(p256, {}, { kid: 'k'.repeat(10_240) }))).toBe('JWT_INVALID size');
    expect(await tenants.refusal('a'.repeat(1_048_576))).toBe('JWT_INVALID size');
    expect(await tenants.refusal(`${'e30.'.repeat(1_000)}`)).toBe('JWT_INVALID shape');
    expect(tenants.registry.asked.filter((question) => question !== 'generation')).toEqual([]);
  });

  test('a token is refused if it declares another type', async () => {
    for (const typ of ['at+jwt', 'logout+jwt', 'secevent+jwt', 'JWE', 7]) {
      expect(await bench().refusal(await signToken(p256, {}, { typ }))).toBe('JWT_INVALID header');
    }
    expect(await bench().verifier.verify(await signToken(p256, {}, { typ: 'jwt' }))).toBeDefined();
    for (const use of ['proximity', 'login', 'pin', null, '']) {
      expect(await bench().refusal(await signToken(p256, { use }))).toBe('JWT_INVALID claims');
    }
  });

  test.each([
    ['another audience', { aud: 'https://elsewhere.example' }, 'audience'],
    ['an audience with a valid prefix', { aud: `${AUDIENCE}.attacker.example` }, 'audience'],
    ['only other audiences', { aud: ['https://a.example', 'https://b.example'] }, 'audience'],
    ['no audience', { aud: undefined }, 'claims'],
    ['an empty list of audiences', { aud: [] }, 'claims'],
    ['more audiences than anyone has', { aud: Array.from({ length: 17 }, () => AUDIENCE) }, 'claims'],
    ['an issuer that is not registered', { iss: 'https://unknown.example' }, 'issuer'],
    ['an issuer that differs in a slash', { iss: `${ISSUER}/` }, 'issuer'],
    ['no issuer', { iss: undefined }, 'claims'],
    ['an issuer that is a list', { iss: [ISSUER] }, 'claims'],
    ['no subject', { sub: undefined }, 'claims'],
    ['an empty subject', { sub: '' }, 'claims'],
    ['a subject that is a fraction', { sub: 1.5 }, 'claims'],
    ['a subject that is negative', { sub: -1 }, 'claims'],
    ['a subject that is an object', { sub: { id: 1001 } }, 'claims'],
    ['no user', { usr: undefined }, 'claims'],
    ['exp as text', { exp: String(NOW + 60) }, 'claims'],
    ['iat as text', { iat: String(NOW) }, 'claims'],
    ['no exp', { exp: undefined }, 'claims'],
    ['no iat', { iat: undefined }, 'claims'],
    ['exp as null', { exp: null }, 'claims'],
    ['a negative iat', { iat: -1 }, 'claims'],
    ['times in milliseconds', { iat: NOW_MS, exp: NOW_MS + 60_000 }, 'not-yet'],
    ['nbf as text', { nbf: String(NOW) }, 'claims'],
    ['a control character in its user', { usr: 'till\u0000' }, 'claims'],
    ['a line break in its merchant name', { mbn: 'Café\r\nX-Admin: 1' }, 'claims'],
    ['a lone surrogate in its terminal', { 'x-tid': '\ud800' }, 'claims'],
    ['a claim longer than 255 characters', { usr: 'u'.repeat(256) }, 'claims'],
    ['a category code of letters', { mcc: 'food' }, 'claims'],
    ['permissions that are no texts', { permissions: [{}] }, 'claims'],
  ])('a token is refused with %s', async (_, claims, check) => {
    expect(await bench().refusal(await signToken(p256, claims))).toBe(`JWT_INVALID ${check}`);
  });

  test('a token is refused for its signature before its expiry, if both are wrong', async () => {
    const claims = { ...CLAIMS, iat: NOW - 7_200, exp: NOW - 3_600 };
    const forged = assemble({ alg: 'ES256', kid: p256.registered.kid }, claims, () => Buffer.alloc(64, 1));
    expect(await bench().refusal(forged)).toBe('JWT_INVALID signature');
    expect(await bench().refusal(await signToken(p256, claims))).toBe('JWT_EXPIRED expired');
  });

  test.each([
    ['nothing', ''],
    ['no dots', 'abc'],
    ['two parts', 'e30.e30'],
    ['four parts', 'e30.e30.e30.e30'],
    ['five parts, as a JWE', 'e30..AAAA.AAAA.AAAA'],
    ['a blank inside', 'e30. e30.AAAA'],
    ['padding', 'e30=.e30.AAAA'],
    ['Base64 that is not of URLs', 'e30.e30.++//'],
    ['unused bits set', 'e31.e30.AAAA'],
    ['a header that is a list', 'W10.e30.AAAA'],
    ['claims that are a number', 'e30.Nw.AAAA'],
    ['a header that is not UTF-8', `${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.e30.AAAA`],
    ['control characters', 'e30.e30.AA\u0000A'],
  ])('a token is refused with %s', async (_, token) => {
    expect(await bench().refusal(token)).toBe('JWT_INVALID shape');
  });

  test('a token is refused with 403 if the key’s owner does not own the merchant, whether it exists or not', async () => {
    expect(await bench().refusal(await signToken(p256, { sub: '2002' }))).toBe('FORBIDDEN owner');
    expect(await bench().refusal(await signToken(p256, { sub: '9999' }))).toBe('FORBIDDEN owner');
    const ofMerchant = createSigner('ES256', { owner: { acquirerId: 1, integratorId: 11, merchantId: '1002' } });
    expect(await new VerifierBench(createRegistry(ofMerchant)).refusal(await signToken(ofMerchant))).toBe(
      'FORBIDDEN owner',
    );
  });

  test('a token is refused with 403 if the merchant is blocked', async () => {
    const tenants = bench();
    tenants.registry.merchants.set('1001', { ...tenants.registry.merchants.get('1001')!, isBlocked: true });
    expect(await tenants.refusal(await signToken(p256))).toBe('FORBIDDEN blocked');
  });

  test('a token is refused for any text, with one kind of error', async () => {
    const { verifier } = bench();
    const part = fc.oneof(fc.json(), anyText()).map((text) => Buffer.from(text).toString('base64url'));
    const compact = fc.array(part, { minLength: 2, maxLength: 5 }).map((parts) => parts.join('.'));
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyText(400), compact), async (token) => {
        await expect(verifier.verify(token)).rejects.toBeInstanceOf(AuthError);
      }),
      { numRuns: 200 },
    );
  });

  test('a token is refused for any claims, unless they are right', async () => {
    const { verifier } = bench();
    const names = fc.constantFrom('iss', 'sub', 'usr', 'aud', 'iat', 'exp', 'nbf', 'use', '__proto__');
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, fc.jsonValue(), { minKeys: 1, maxKeys: 3 }), async (claims) => {
        const outcome = await verifier.verify(await signToken(ed25519, claims)).catch((error: unknown) => error);
        if (!(outcome instanceof AuthError)) expect(outcome).toMatchObject({ merchantId: '1001', issuer: ISSUER });
      }),
      { numRuns: 200 },
    );
  });
});
