import type { FastifyRequest } from 'fastify';
import { OPERATIONS } from '#schemas/operations';
import type { Authenticator } from '../../auth/authenticator.ts';
import { NotFound, RequestRejected } from '../../basics/errors.ts';
import type { EventReader, EventReplayer } from '../../webhooks/ports.ts';
import type { RouteFacts } from '../route-table.ts';
import type { Server } from '../server.ts';
import { routeOf, withNextPage, withZod } from '../with-zod.ts';

/** An event contains data of its transaction, so it needs the same scope. */
const READ = { scope: 'transactions:read', needsBearer: false } as const;
const MANAGE = { scope: 'webhooks:manage', needsBearer: false } as const;
/** A larger replay would be a load test of the receiver. */
const MAX_REPLAYED = 10_000;

function eventFacts(
  summary: string,
  { scope }: typeof READ | typeof MANAGE,
  description: string,
  name?: string,
): { facts: RouteFacts } {
  return {
    facts: {
      summary,
      description,
      section: 'extension',
      takes: ['integratorKey'],
      scope,
      under: 'app',
      ...(name !== undefined && { name }),
    },
  };
}

/** Webhook events: list, delivery attempts, replay (extensions). */
export function registerWebhookEventRoutes(
  server: Server,
  authenticator: Authenticator,
  events: EventReader & EventReplayer,
): void {
  registerLists(server, authenticator, events);
  registerReplays(server, authenticator, events);
}

function registerLists(server: Server, authenticator: Authenticator, events: EventReader): void {
  const identify = async (request: FastifyRequest) => {
    request.integrator = await authenticator.integrator(request.headers, READ);
  };

  withZod(server).route({
    ...routeOf(OPERATIONS.listWebhookEvents, 200),
    config: eventFacts(
      'List webhook events',
      READ,
      'Lists the webhook events of the integrator, newest first. The header `Link` (`rel="next"`) leads to the next page.',
    ),
    onRequest: identify,
    handler: async (request, reply) => {
      const owner = request.integrator!;
      const found = await events.list(owner, request.query);
      return withNextPage(request, reply, found, ({ id }) => id);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.listAttemptsOfWebhookEvent, 200),
    config: eventFacts(
      'List delivery attempts of a webhook event',
      READ,
      'Lists the last 100 delivery attempts of the event with the responses of the receiver.',
      'listAttemptsOfWebhookEvent',
    ),
    onRequest: identify,
    handler: async (request) => {
      const owner = request.integrator!;
      const attempts = await events.attempts(owner, request.params.id);
      if (!attempts) throw new NotFound();
      return attempts;
    },
  });
}

function registerReplays(server: Server, authenticator: Authenticator, events: EventReplayer): void {
  const identify = async (request: FastifyRequest) => {
    request.integrator = await authenticator.integrator(request.headers, MANAGE);
  };

  withZod(server).route({
    ...routeOf(OPERATIONS.replayWebhookEvent, 202),
    config: {
      facts: {
        ...eventFacts(
          'Replay a webhook event',
          MANAGE,
          'Schedules the event for delivery again, in any state. An event with 1,000 attempts is refused with 409.',
        ).facts,
        problems: { 404: [122], 409: [134] },
      },
    },
    onRequest: identify,
    handler: async (request, reply) => {
      const owner = request.integrator!;
      const replay = await events.replay(owner, request.params.id);
      if (replay === undefined) throw new NotFound();
      if (replay === 'exhausted') throw new RequestRejected('TOO_MANY_DELIVERIES');
      reply.code(202);
      return { replayed: 1 };
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.replayWebhookEvents, 202),
    config: eventFacts(
      'Replay webhook events',
      MANAGE,
      `Schedules all undelivered events of a period for delivery again, and on request the delivered events as well. Refused with 400 for more than ${MAX_REPLAYED} events.`,
    ),
    onRequest: identify,
    handler: async (request, reply) => {
      const owner = request.integrator!;
      const count = await events.replayRange(owner, request.body, MAX_REPLAYED);
      if (count === undefined) {
        const errors = [{ pointer: '/to', detail: `must be earlier: the limit is ${MAX_REPLAYED} events` }];
        throw new RequestRejected('TOO_MANY_EVENTS', errors);
      }
      reply.code(202);
      return { replayed: count };
    },
  });
}
