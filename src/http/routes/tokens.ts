import { login, loginResponse, MAX_LOGIN_BYTES } from '#schemas/login';
import {
  type ProximityTokenResponse,
  proximityTokenResponse,
  TOKEN_CHECKS,
  tokenCheck,
  tokenVerdict,
} from '#schemas/tokens';
import type { ApiKeyOwner } from '../../auth/api-key.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { MerchantPrincipal, MerchantTokenVerifier } from '../../auth/issuers/verify-merchant-token.ts';
import type { LogIn } from '../../auth/portal/log-in.ts';
import type { CheckToken } from '../../auth/tokens/check-token.ts';
import type { ProximityToken } from '../../auth/tokens/proximity-token.ts';
import { bearerToken } from '../../auth/tokens/read-token.ts';
import { admitUser } from '../../payments/decisions/admit.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import { responseSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

/** 4.15: exchanges a portal user's name and password for a token. */
export function registerLoginRoute(server: Server, authenticator: Authenticator, logIn: LogIn): void {
  withZod(server).route({
    method: 'POST',
    url: '/login',
    bodyLimit: MAX_LOGIN_BYTES,
    schema: { body: login, response: { 200: responseSchema(loginResponse) } },
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

export interface ProximityTokenRouteOptions {
  readonly directory: Pick<Directory, 'merchant' | 'user'>;
  readonly tokens: MerchantTokenVerifier;
  readonly issue: (principal: MerchantPrincipal) => Promise<ProximityToken>;
}

/** The body is ignored. Clients send `{}` or nothing, with any content type. */
const MAX_BODY_BYTES = 1_024;

/** 4.3: an integrator's backend requests a token for a reader. */
export function registerProximityTokenRoute(server: Server, options: ProximityTokenRouteOptions): void {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const ignored = { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES } as const;
    scope.addContentTypeParser('*', ignored, (_request, _body, done) => done(null));
    addRoute(scope, options);
  });
}

function addRoute(server: Server, { directory, tokens, issue }: ProximityTokenRouteOptions): void {
  withZod(server).route({
    method: 'POST',
    url: '/mobile/proximity-token',
    schema: { response: { 200: responseSchema(proximityTokenResponse) } },
    config: {
      facts: {
        summary: 'Get a proximity token',
        name: 'getProximityToken',
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
    method: 'POST',
    url: '/tokens/check',
    schema: { body: tokenCheck, response: { 200: responseSchema(tokenVerdict) } },
    config: {
      facts: {
        summary: 'Check a token',
        name: 'checkToken',
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
