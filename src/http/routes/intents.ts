import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  intentAnswer,
  intentRequest,
  sessionAnswer,
  sessionIntentRequest,
  sessionRequest,
  tt3IntentRequest,
} from '#schemas/link';
import { bearerToken } from '../../auth/bearer.ts';
import type { AppTokens } from '../../auth/tokens/app-tokens.ts';
import { Forbidden, invalidValue, NotFound } from '../../basics/errors.ts';
import { type CreatedLink, createLink } from '../../payments/links/create-link.ts';
import type { LinkStore } from '../../payments/ports/link-ports.ts';
import type { Tenant } from '../../payments/ports/store-ports.ts';
import { requestHash } from '../idempotency.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';
import { CREATION, type LinkRoutesOptions, withMandate } from './links.ts';

export interface IntentRoutesOptions extends LinkRoutesOptions {
  readonly appTokens: AppTokens;
  readonly links: Pick<LinkStore, 'onlyMerchant'>;
}

/** 4.13 and 4.14: intents, TT3 intents, and what an app needs to create intents itself (extensions). */
export function registerIntentRoutes(server: Server, options: IntentRoutesOptions): void {
  const { authenticator, idempotent, services } = options;
  const identify = async (request: FastifyRequest) => {
    request.owner = await authenticator.creator(request.headers, 'payments:create');
  };

  withZod(server).route({
    method: 'POST',
    url: '/consumer/intentTransaction',
    config: {
      facts: {
        ...CREATION,
        summary: 'Create an intent transaction',
        section: '4.13',
        description:
          'Creates a payment request that another app passes to the payment app. Refused with 409 while another open or ' +
          'paid link or intent of the merchant uses the paymentReference.',
      },
    },
    schema: { body: intentRequest, response: { 200: answerSchema(intentAnswer) } },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) =>
      intentAnswerOf(await createLink(services, request.owner!, intentOf(request, request.body)), reply),
  });

  withZod(server).route({
    method: 'POST',
    url: '/consumer/tt3IntentTransaction',
    config: {
      facts: {
        ...CREATION,
        summary: 'Create a TT3 intent transaction',
        name: 'createTt3IntentTransaction',
        section: 'extension',
        description:
          'Creates an intent for a debit order mandate (TT3). The tap authenticates the card for the mandate and takes no money.',
      },
    },
    schema: { body: tt3IntentRequest, response: { 200: answerSchema(intentAnswer) } },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) =>
      intentAnswerOf(await createLink(services, request.owner!, intentOf(request, withMandate(request.body))), reply),
  });

  registerSessionRoutes(server, options, identify);
}

/** An app that was built for intents displays them itself. */
function intentOf<Body extends object>(request: FastifyRequest, body: Body) {
  return { ...body, kind: 'intent', isConsumerApp: true, requestHash: requestHash(request) } as const;
}

function registerSessionRoutes(
  server: Server,
  { idempotent, services, appTokens, links }: IntentRoutesOptions,
  identify: (request: FastifyRequest) => Promise<void>,
): void {
  withZod(server).route({
    method: 'POST',
    url: '/refresh/intentSessionToken',
    config: {
      facts: {
        ...CREATION,
        summary: 'Issue an intent session token',
        section: '4.14',
        under: 'auth',
        description:
          'Issues a token with which an app can create many intent transactions of one merchant. The body is optional; `merchantId` is required if the credential covers several merchants.',
        problems: { 400: [104], 404: [122] },
      },
    },
    schema: { body: sessionRequest, response: { 200: answerSchema(sessionAnswer) } },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) => {
      const { expiryMinutes, merchantId } = request.body;
      const session = {
        acquirerId: request.owner!.acquirerId,
        merchantId: await merchantOfSession(services, links, request.owner!, merchantId),
      };
      const token = await appTokens.issueSession(session, expiryMinutes);
      reply.header('cache-control', 'no-store');
      return { token, expiresAt: new Date(services.clock.nowMs() + expiryMinutes * 60_000).toISOString() };
    },
  });

  withZod(server).route({
    method: 'POST',
    url: '/consumer/intentSession/transactions',
    config: {
      facts: {
        summary: 'Create an intent with a session token',
        name: 'createSessionIntentTransaction',
        section: 'extension',
        takes: ['intentSessionToken'],
        description:
          'Creates an intent transaction for the merchant of the intent session token. The token cannot create links or TT3 payments.',
        problems: { 409: [124], 503: [203] },
      },
    },
    schema: { body: sessionIntentRequest, response: { 200: answerSchema(intentAnswer) } },
    onRequest: async (request) => {
      request.session = await appTokens.openSession(bearerToken(request.headers.authorization));
    },
    ...idempotent,
    handler: async (request, reply) => {
      const { acquirerId, merchantId } = request.session!;
      const wanted = intentOf(request, { ...request.body, merchantId });
      return intentAnswerOf(await createLink(services, { acquirerId, merchantId }, wanted), reply);
    },
  });
}

/** The merchant of a session: the one that the body names, or the only one that the credential covers. */
async function merchantOfSession(
  { merchants }: IntentRoutesOptions['services'],
  links: IntentRoutesOptions['links'],
  owner: Tenant,
  named: string | undefined,
): Promise<string> {
  const merchantId = named ?? (await links.onlyMerchant(owner));
  if (merchantId === undefined) {
    throw invalidValue('merchantId', 'is required because the credential covers several merchants');
  }
  const merchant = await merchants.findOwned(owner, merchantId);
  if (!merchant) throw new NotFound();
  if (merchant.isBlocked) throw new Forbidden('FORBIDDEN');
  return merchantId;
}

function intentAnswerOf({ link, token }: CreatedLink, reply: FastifyReply) {
  reply.header('cache-control', 'no-store');
  return { id: link.id, token, expiresAt: new Date(link.expiresAtMs).toISOString() };
}
