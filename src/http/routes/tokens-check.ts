import { TOKEN_CHECKS, tokenCheck, tokenVerdict } from '#schemas/tokens';
import type { ApiKeyOwner } from '../../auth/api-key.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { CheckToken } from '../../auth/tokens/check-token.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

export interface TokensCheckRouteOptions {
  readonly authenticator: Authenticator;
  readonly check: CheckToken;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Owner of the key that asks about a token; set by the route's `onRequest`. */
    asker?: ApiKeyOwner;
  }
}

/** Reports to the owner of an issuer why its token is refused (extension). Other callers do not get this reason. */
export function registerTokensCheckRoute(server: Server, { authenticator, check }: TokensCheckRouteOptions): void {
  withZod(server).route({
    method: 'POST',
    url: '/tokens/check',
    schema: { body: tokenCheck, response: { 200: answerSchema(tokenVerdict) } },
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
