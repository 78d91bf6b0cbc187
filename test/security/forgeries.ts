import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, type JWK, SignJWT } from 'jose';
import type { Credential } from '../../src/http/route-table.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import type { Installation } from '../support/installation.ts';
import { request } from '../support/requests.ts';

/** Tokens with the claims of a good one, each with one fault, by the name of the fault. */
export type Forgeries = Readonly<Record<string, string>>;

/** Of a token of another owner, without the key that signed it. */
export async function forgeriesOf(installation: Installation, kind: Credential, good: string): Promise<Forgeries> {
  const [head, payload, signature] = good.split('.') as [string, string, string];
  const header = decodeProtectedHeader(good);
  const thief = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const claims = decodeJwt(good);
  const bySelf = (more: object) =>
    new SignJWT(claims).setProtectedHeader({ ...header, alg: 'ES256', ...more }).sign(thief.privateKey);
  const byHand = (changed: object, sign: (input: string) => Buffer) => {
    const input = `${Buffer.from(JSON.stringify({ ...header, ...changed })).toString('base64url')}.${payload}`;
    return `${input}.${sign(input).toString('base64url')}`;
  };
  const hmac = (secret: string) =>
    byHand({ alg: 'HS256' }, (input) => createHmac('sha256', secret).update(input).digest());
  const publicKey = await publicKeyOf(installation, kind);
  return {
    'alg none': byHand({ alg: 'none' }, () => Buffer.alloc(0)),
    'alg none, with a signature': byHand({ alg: 'none' }, () => Buffer.alloc(64, 1)),
    'HS256 with the public key as PEM': hmac(publicKey),
    'HS256 with the public key as JWK': hmac(JSON.stringify(createPublicKey(publicKey).export({ format: 'jwk' }))),
    'a signature of zeros': `${head}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
    'no signature': `${head}.${payload}.`,
    'another key': await bySelf({}),
    'its own key in jwk': await bySelf({ jwk: thief.publicKey.export({ format: 'jwk' }) }),
    jku: await bySelf({ jku: 'http://127.0.0.1:1099/keys' }),
    x5u: await bySelf({ x5u: 'http://127.0.0.1:1099/cert' }),
    'kid as a path': await bySelf({ kid: '../../../../dev/null' }),
    'kid as SQL': await bySelf({ kid: "' union select public_key from issuer_keys --" }),
    'kid as a URL': await bySelf({ kid: 'http://127.0.0.1:1099/key' }),
    'kid of 10 KB': await bySelf({ kid: 'k'.repeat(10_240) }),
    'other claims under the signature': `${head}.${Buffer.from(JSON.stringify({ ...claims, sub: '1002' })).toString('base64url')}.${signature}`,
    ...(kind === 'merchantToken' && (await ofAnIntegrator(installation))),
  };
}

/** Further tokens that an integrator with its own key could sign. */
async function ofAnIntegrator(installation: Installation): Promise<Forgeries> {
  const [own, other] = [installation.profile('coffee'), installation.profile('flowers')];
  const now = Math.floor(Date.now() / 1_000);
  const signedByOther = (issuer: object) => signMerchantToken({ ...own, issuer: { ...other.issuer, ...issuer } });
  return {
    'another issuer’s key under its kid': await signedByOther({ iss: own.issuer.iss }),
    'another issuer’s key under our kid': await signedByOther({ iss: own.issuer.iss, kid: own.issuer.kid }),
    'an audience that is not us': await signMerchantToken(own, { aud: 'another' }),
    'an unknown issuer': await signMerchantToken(own, { iss: 'https://unknown.example' }),
    'we as its issuer': await signMerchantToken(own, { iss: 'tapwire' }),
    'exp as text': await signMerchantToken(own, { exp: String(now + 60) as unknown as number }),
    'a use of the gateway': await signMerchantToken(own, { use: 'login' }),
    'a life of two days': await signMerchantToken(own, { exp: now + 172_800 }),
    'an end that is past': await signMerchantToken(own, { iat: now - 120, exp: now - 60 }),
  };
}

/** PEM, which is public. */
async function publicKeyOf(installation: Installation, kind: Credential): Promise<string> {
  if (kind === 'merchantToken') return installation.profile('coffee').issuer.publicKey;
  const { body } = await request(installation.url, '/.well-known/jwks.json');
  const [key] = (body as { keys: JWK[] }).keys;
  return createPublicKey({ key: key!, format: 'jwk' }).export({ format: 'pem', type: 'spki' }) as string;
}

/** API keys with one fault each. */
export function forgedKeys(good: string): Forgeries {
  const [prefix, mode, id, secret] = good.split('_') as [string, string, string, string];
  return {
    'no text': '',
    'another secret': [prefix, mode, id, secret.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))].join('_'),
    'half a secret': [prefix, mode, id, secret.slice(0, 32)].join('_'),
    'another id': [prefix, mode, '0'.repeat(16), secret].join('_'),
    'the mode of another installation': [prefix, 'live', id, secret].join('_'),
    'capital letters': good.toUpperCase(),
    'more behind it': `${good}0`,
    'two keys': `${good}, ${good}`,
    SQL: `${prefix}_${mode}_' or '1'='1_${secret}`,
  };
}
