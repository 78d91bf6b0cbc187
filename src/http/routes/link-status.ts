import type { FastifyRequest } from 'fastify';
import { OPERATIONS } from '#schemas/operations';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { AppTokens } from '../../auth/tokens/app-tokens.ts';
import { bearerToken } from '../../auth/tokens/read-token.ts';
import { AuthError, NotFound } from '../../basics/errors.ts';
import { TransactionType } from '../../payments/model/transaction.ts';
import type { LinkStore } from '../../payments/ports/store-ports.ts';
import { linkStatusOf, tapOnOwnStatusOf, tt3LinkStatusOf } from '../links-view.ts';
import type { RouteFacts } from '../route-table.ts';
import type { Server } from '../server.ts';
import { routeOf, withZod } from '../with-zod.ts';

const BY_KEY = {
  takes: ['acquirerKey', 'integratorKey', 'merchantKey'],
  scope: 'transactions:read',
} as const satisfies Partial<RouteFacts>;

type ShownLinks = Pick<LinkStore, 'findOwned' | 'findTap'>;

/** 4.6, 4.7 and 4.8: status of a link or intent, and of a transaction with a given merchantReference. */
export function registerLinkStatusRoutes(
  server: Server,
  authenticator: Authenticator,
  appTokens: AppTokens,
  links: ShownLinks,
): void {
  const identify = async (request: FastifyRequest) => {
    if (request.headers['x-api-key'] === undefined) throw new AuthError('UNAUTHORISED', 'key');
    request.owner = await authenticator.creator(request.headers, 'transactions:read');
  };

  withZod(server).route({
    ...routeOf(OPERATIONS.getLinkStatus, 200),
    config: {
      facts: {
        ...BY_KEY,
        summary: 'Get the status of a link or intent',
        section: '4.6',
        description:
          'Returns the progress and outcome of a link or intent. Fields of the transaction are null before a tap.',
      },
    },
    onRequest: identify,
    handler: async (request) => {
      const found = await links.findOwned(request.owner!, request.params.reference);
      if (!found || found.link.type === TransactionType.TT3) throw new NotFound();
      return linkStatusOf(found.link, found.tap);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.getTt3LinkStatus, 200),
    config: {
      facts: {
        ...BY_KEY,
        summary: 'Get the status of a TT3 link',
        section: '4.7',
        description:
          'Returns the progress, outcome and mandate of a TT3 link or intent. Fields of the transaction are null before a tap.',
      },
    },
    onRequest: identify,
    handler: async (request) => {
      const found = await links.findOwned(request.owner!, request.params.reference);
      if (!found?.link.mandate) throw new NotFound();
      return tt3LinkStatusOf(found.link, found.link.mandate, found.tap);
    },
  });

  registerTapOnOwnRoute(server, authenticator, appTokens, links);
}

function registerTapOnOwnRoute(
  server: Server,
  authenticator: Authenticator,
  appTokens: AppTokens,
  links: ShownLinks,
): void {
  withZod(server).route({
    ...routeOf(OPERATIONS.getTapOnOwnStatus, 200),
    config: {
      facts: {
        summary: 'Get the status of a tap',
        section: '4.8',
        takes: ['loginToken', 'intentSessionToken'],
        description:
          'Returns the outcome of the last tap with this merchantReference, or of the last tap on the link with this reference. Responds with 404 and errorCode 122 until a transaction exists.',
      },
    },
    onRequest: async (request) => {
      const { authorization } = request.headers;
      const token = bearerToken(authorization);
      try {
        request.session = await appTokens.openSession(token);
        request.owner = request.session;
      } catch (error) {
        if (!(error instanceof AuthError && error.check === 'use')) throw error;
        request.owner = await authenticator.creator({ authorization }, 'transactions:read');
      }
    },
    handler: async (request) => {
      const { merchantReference } = request.params;
      const tap = await links.findTap(request.owner!, merchantReference);
      if (!tap) throw new NotFound();
      return tapOnOwnStatusOf(tap, merchantReference);
    },
  });
}
