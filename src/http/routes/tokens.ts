import { cardDataKeySet } from '#schemas/card-data';
import { type TokenKeySet, tokenKeySet } from '#schemas/key-set';
import { MAX_LOGIN_BYTES } from '#schemas/login';
import { OPERATIONS } from '#schemas/operations';
import { type ProximityTokenResponse, TOKEN_CHECKS } from '#schemas/tokens';
import type { ApiKeyOwner } from '../../auth/api-key.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { MerchantPrincipal, MerchantTokenVerifier } from '../../auth/issuers/verify-merchant-token.ts';
import type { LogIn } from '../../auth/portal/log-in.ts';
import type { CheckToken } from '../../auth/tokens/check-token.ts';
import type { ProximityToken } from '../../auth/tokens/login-tokens.ts';
import { bearerToken } from '../../auth/tokens/read-token.ts';
import type { KeyRing, TokenSigningKey } from '../../card/key-ring.ts';
import { admitUser } from '../../payments/decisions/admit.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import { responseSchema, type Server } from '../server.ts';
import { routeOf, withZod } from '../with-zod.ts';

/** 4.15: exchanges a portal user's name and password for a token. */
export function registerLoginRoute(server: Server, authenticator: Authenticator, logIn: LogIn): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.logIn, 200),
    bodyLimit: MAX_LOGIN_BYTES,
    config: {
      facts: {
        summary: 'Log in',
        description:
          'Issues a JWT for a portal user. The gateway limits login attempts by user and by address (429 with `Retry-After`).',
        section: '4.15',
        takes: [],
        under: 'auth',
        problems: { 401: [100, 102, 117, 118], 403: [101], 429: [132] },
      },
    },
    onRequest: (request) => authenticator.refuseDevices(request.headers),
    handler: async (request, reply) => {
      const { token, expiresIn } = await logIn({ ...request.body, ip: request.ip });
      reply.header('cache-control', 'no-store');
      return { token, tokenType: 'Bearer' as const, expiresIn };
    },
  });
}

/** The body is ignored. Clients send `{}` or nothing, with any content type. */
const MAX_BODY_BYTES = 1_024;

/** 4.3: an integrator's backend requests a token for a reader. */
export function registerProximityTokenRoute(
  server: Server,
  {
    directory,
    tokens,
    issue,
  }: {
    readonly directory: Pick<Directory, 'merchant' | 'user'>;
    readonly tokens: MerchantTokenVerifier;
    readonly issue: (principal: MerchantPrincipal) => Promise<ProximityToken>;
  },
): void {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const ignored = { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES } as const;
    scope.addContentTypeParser('*', ignored, (_request, _body, done) => done(null));
    withZod(scope).route({
      ...routeOf(OPERATIONS.getProximityToken, 200),
      config: {
        facts: {
          summary: 'Get a proximity token',
          section: '4.3',
          takes: ['merchantToken'],
          description:
            'Issues a token with which the mobile SDK configures and uses the card reader. The merchant JWT needs the right ' +
            '`createMobileProximityToken`, either in its claims `scope` or `permissions` or from its registered user. It also ' +
            'needs the claims `mbn`, `mcc` and `x-tid`; `errors` points to each missing claim.',
          problems: { 403: [101, 105], 500: [104] },
        },
      },
      onRequest: async (request) => {
        request.principal = await tokens.verify(bearerToken(request.headers.authorization));
      },
      handler: async (request, reply) => {
        const principal = request.principal!;
        admitUser(directory, principal);
        reply.header('cache-control', 'no-store');
        return responseOf(await issue(principal));
      },
    });
  });
}

function responseOf({ token, jwtId, issuedAtMs, expiresAtMs }: ProximityToken): ProximityTokenResponse {
  const [issuedAt, expiresAt] = [new Date(issuedAtMs).toISOString(), new Date(expiresAtMs).toISOString()];
  return { token, expiresAt, issuedAt, jwtId };
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Owner of the key that asks about a token; set by the route's `onRequest`. */
    asker?: ApiKeyOwner;
  }
}

/** Reports to the owner of an issuer why its token is refused (extension). Other callers do not get this reason. */
export function registerTokensCheckRoute(server: Server, authenticator: Authenticator, check: CheckToken): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.checkToken, 200),
    config: {
      facts: {
        summary: 'Check a token',
        section: 'extension',
        takes: ['operatorKey', 'acquirerKey', 'integratorKey', 'merchantKey'],
        description:
          'Reports the first check that a merchant JWT fails. Requires an API key with any scopes. For a token of another ' +
          'tenant, the response gives no reason. The check does not cover blocked users and devices.',
      },
    },
    onRequest: async (request) => {
      request.asker = (await authenticator.keyAlone(request.headers)).owner;
    },
    handler: async (request) => {
      const failed = await check(request.body.token, request.asker!);
      if (failed === undefined) return { valid: true, check: null, detail: 'The token is valid.' };
      const { name, acquirers } = failed;
      const shared = acquirers === undefined ? '' : ` The acquirers ${acquirers.join(', ')} have it.`;
      return { valid: false, check: name, detail: `${TOKEN_CHECKS[name]}${shared}` };
    },
  });
}

/** 4.16: returns the caller's acquirer. */
export function registerAcquirerIdRoute(server: Server, authenticator: Authenticator): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.getOwnAcquirer, 200),
    config: {
      facts: {
        summary: 'Get your own acquirer id',
        section: '4.16',
        takes: ['acquirerKey', 'integratorKey', 'merchantKey', 'merchantToken', 'loginToken'],
        description: 'Returns the id of the acquirer that the credential belongs to. Requires no particular scope.',
      },
    },
    onRequest: async (request) => {
      request.owner = await authenticator.holder(request.headers);
    },
    handler: async (request) => ({ id: request.owner!.acquirerId }),
  });
}

/** Old and new key overlap by weeks, so readers may keep the response for an hour. */
const CARD_DATA_CACHE = 'public, max-age=3600';
/** A new key signs at once. A verifier that meets an unknown kid fetches the keys again. */
const TOKEN_CACHE = 'public, max-age=300';

/** Public keys (extensions): keys for which readers seal card data, and keys that verify the gateway's tokens. */
export function registerWellKnownRoutes(
  server: Server,
  keys: Pick<KeyRing, 'publicCardDataKeys' | 'tokenSigning'>,
): void {
  server.get(
    '/.well-known/card-data-keys.json',
    {
      config: {
        facts: {
          summary: 'Get the card data keys',
          section: 'extension',
          takes: [],
          description:
            'Lists the public keys for the encryption of card data, newest first. During a key rotation, the list contains both keys.',
        },
      },
      schema: { response: { 200: responseSchema(cardDataKeySet) } },
    },
    async (_request, reply) => {
      reply.header('cache-control', CARD_DATA_CACHE);
      return keys.publicCardDataKeys(Date.now());
    },
  );
  server.get(
    '/.well-known/jwks.json',
    {
      config: {
        facts: {
          summary: 'Get the token keys',
          section: 'extension',
          takes: [],
          description: 'Lists the public keys that verify the tokens of the gateway, newest first (RFC 7517).',
          mediaType: 'application/jwk-set+json',
        },
      },
      schema: { response: { 200: responseSchema(tokenKeySet) } },
    },
    async (_request, reply) => {
      reply.header('cache-control', TOKEN_CACHE).type('application/jwk-set+json');
      return { keys: keys.tokenSigning.map(publicJwk) };
    },
  );
}

/** The coordinates of a P-256 key only. */
function publicJwk({ kid, publicKey }: TokenSigningKey): TokenKeySet['keys'][number] {
  const { x, y } = publicKey.export({ format: 'jwk' }) as { readonly x: string; readonly y: string };
  return { kty: 'EC', crv: 'P-256', x, y, kid, use: 'sig', alg: 'ES256' };
}
