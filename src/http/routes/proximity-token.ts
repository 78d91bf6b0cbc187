import { type ProximityTokenAnswer, proximityTokenAnswer } from '#schemas/tokens';
import { bearerToken } from '../../auth/bearer.ts';
import type { MerchantPrincipal, MerchantTokenVerifier } from '../../auth/issuers/verify-merchant-token.ts';
import type { ProximityToken } from '../../auth/tokens/proximity-token.ts';
import { admitUser } from '../../payments/decisions/admit.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

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
    schema: { response: { 200: answerSchema(proximityTokenAnswer) } },
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
      return answerOf(await issue(principal));
    },
  });
}

function answerOf({ token, jwtId, issuedAtMs, expiresAtMs }: ProximityToken): ProximityTokenAnswer {
  const [issuedAt, expiresAt] = [new Date(issuedAtMs).toISOString(), new Date(expiresAtMs).toISOString()];
  return { token, expiresAt, issuedAt, jwtId };
}
