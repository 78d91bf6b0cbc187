import { afterAll, beforeAll, expect, test } from 'vitest';
import { OidcProvider } from '../../../src/auth/oidc/oidc-provider.ts';
import { beginSignIn } from '../../../src/auth/oidc/pending-sign-in.ts';
import type { SignInError } from '../../../src/basics/errors.ts';
import { FORGED_CLIENT, type Forgery, startForgingProvider } from '../../support/forging-provider.ts';

const REDIRECT = 'https://gateway.example/ops/oidc/callback';

let provider: Awaited<ReturnType<typeof startForgingProvider>>;
beforeAll(async () => {
  provider = await startForgingProvider();
});
afterAll(() => provider?.stop());

const clientOf = (more: { readonly roleClaim?: string; readonly maxAgeSeconds?: number } = {}) =>
  new OidcProvider({
    ...{ issuer: provider.url, clientId: FORGED_CLIENT.id, clientSecret: FORGED_CLIENT.secret, scopes: 'openid' },
    ...{ roleClaim: 'groups', maxAgeSeconds: 900, allowsHttp: true, ...more },
    roles: [{ value: 'ops', role: 'operator', acquirerId: 0 }],
  });

function finish(forgery: Forgery, client = clientOf()) {
  const pending = beginSignIn('/ops', undefined, Date.now());
  provider.forge(forgery, pending.nonce);
  return client.finish(pending, new URL(`${REDIRECT}?code=abc&state=${pending.state}`));
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'signed in',
    (error: SignInError) => error.code,
  );

const nowSeconds = () => Math.floor(Date.now() / 1_000);

test('a correct ID token names the person', async () => {
  expect(await finish({ claims: { preferred_username: 'Thandi\u202e' } })).toEqual({
    ...{ issuer: provider.url, subject: 'thandi', name: 'Thandi', role: 'operator', acquirerId: 0 },
  });
});

test.each<[string, () => Forgery]>([
  ['another issuer', () => ({ claims: { iss: 'https://elsewhere.example' } })],
  ['another audience', () => ({ claims: { aud: 'another client' } })],
  ['several audiences without azp', () => ({ claims: { aud: [FORGED_CLIENT.id, 'another client'] } })],
  ['another nonce', () => ({ claims: { nonce: 'x'.repeat(43) } })],
  ['no nonce', () => ({ without: ['nonce'] })],
  ['an end in the past', () => ({ claims: { iat: nowSeconds() - 7_200, exp: nowSeconds() - 3_600 } })],
  ['no end', () => ({ without: ['exp'] })],
  ['no subject', () => ({ without: ['sub'] })],
  ['no signature', () => ({ signedBy: 'none' })],
  [
    'no signature, of a provider that announces it',
    () => ({
      signedBy: 'none',
      metadata: { id_token_signing_alg_values_supported: ['none', 'RS256'] },
    }),
  ],
  ['a signature by another key', () => ({ signedBy: 'stranger' })],
  [
    'a signature with the client secret',
    () => ({
      signedBy: 'hmac',
      metadata: { id_token_signing_alg_values_supported: ['HS256', 'RS256'] },
    }),
  ],
  ['an authentication that is too old', () => ({ claims: { auth_time: nowSeconds() - 3_600 } })],
  ['no time of authentication', () => ({ without: ['auth_time'] })],
])('an ID token with %s is refused', async (_what, forgery) => {
  expect(await failureOf(finish(forgery()))).toBe('INVALID');
});

test('a provider without auth_time is accepted if the operator says so', async () => {
  const client = clientOf({ maxAgeSeconds: 0 });
  expect(await finish({ without: ['auth_time'] }, client)).toMatchObject({ subject: 'thandi' });
});

test('roles of the userinfo endpoint count only for the subject of the ID token', async () => {
  const metadata = { userinfo_endpoint: `${provider.url}/userinfo` };
  expect(await failureOf(finish({ without: ['groups'], metadata }))).toBe('INVALID');
});

test.each([
  ['a list without a mapped value', ['other']],
  ['another type', { ops: true }],
  ['a value that only begins with it', 'ops-2'],
  ['nothing', null],
])('a claim that is %s gives no role', async (_what, groups) => {
  expect(await failureOf(finish({ claims: { groups } }))).toBe('NO_ROLE');
});

test('roles may be inside another claim', async () => {
  const client = clientOf({ roleClaim: 'realm_access.roles' });
  expect(await finish({ claims: { realm_access: { roles: ['ops'] } } }, client)).toMatchObject({ role: 'operator' });
});

test.each([
  'thandi of elsewhere',
  'x'.repeat(256),
  '',
  'zero\u200bwidth',
])('the subject %j cannot be recorded', async (sub) => {
  expect(await failureOf(finish({ claims: { sub } }))).toMatch(/^(BAD_SUBJECT|INVALID)$/);
});

test.each<[string, Forgery]>([
  ['whose discovery names another issuer', { metadata: { issuer: 'https://elsewhere.example' } }],
  [
    'that responds with an error page',
    { respond: (_path, _request, response) => !!response.writeHead(502).end('bad') },
  ],
  [
    'that responds without end',
    {
      respond: (_path, _request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(`"${'x'.repeat(300_000)}`);
        return true;
      },
    },
  ],
  ['that redirects', { respond: (_path, _request, response) => !!response.writeHead(302, { location: '/' }).end() }],
  ['that hangs up', { respond: (_path, request) => !!request.socket.destroy() }],
  ['that never responds', { respond: () => true }],
  ['whose keys cannot be read', { respond: (path, request) => path === '/jwks' && !!request.socket.destroy() }],
])('a provider %s is unavailable', async (_what, forgery) => {
  expect(await failureOf(finish(forgery))).toBe('PROVIDER_UNAVAILABLE');
});

test('an error of the token endpoint is named for the log, without its text', async () => {
  const body = JSON.stringify({ error: 'invalid_client', error_description: 'secret words' });
  const failure = await finish({
    respond: (path, _request, response) =>
      path === '/token' && !!response.writeHead(401, { 'content-type': 'application/json' }).end(body),
  }).catch((error: SignInError) => error);
  expect(failure).toMatchObject({ code: 'PROVIDER_REFUSED', check: 'invalid_client' });
  expect((failure as Error).message).not.toContain('secret words');
});
