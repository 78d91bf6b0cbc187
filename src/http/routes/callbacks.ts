import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callback, callbackRegistration, callbackSecret, secretRotation } from '#schemas/webhook';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { CallbackRegistry } from '../../webhooks/callback-registry.ts';
import { callbackOf, callbackSecretOf, refuseUrl } from '../callbacks-view.ts';
import type { IdempotentRoute } from '../idempotency.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

export interface CallbackRoutesOptions {
  readonly authenticator: Authenticator;
  readonly idempotent: IdempotentRoute;
  readonly callbacks: CallbackRegistry;
}

/** Key and token together (4.9, 4.10), both of the same integrator. */
const BOTH = { scope: 'webhooks:manage', needsBearer: true } as const;
/** Key and token of the integrator, as every route here wants them. */
const OWN = { takes: ['integratorKey', 'merchantToken'], scope: BOTH.scope, takesBoth: true, under: 'app' } as const;
/** What integrators register is for taps of the SDK; for links and intents the operator decides. */
const SERVES = 'taps';

/** 4.9 and 4.10, and the secret that signs what is sent there (extension). */
export function registerCallbackRoutes(
  server: Server,
  { authenticator, idempotent, callbacks }: CallbackRoutesOptions,
): void {
  // Before the body is read: a stranger gets no further than the headers.
  const identify = async (request: FastifyRequest) => {
    request.integrator = await authenticator.integrator(request.headers, BOTH);
  };

  withZod(server).route({
    method: 'POST',
    url: '/integrator/callbackUrl',
    config: {
      facts: {
        summary: 'Register the callback URL',
        description:
          'Registers the URL that receives the outcome of each SDK transaction as a webhook, and replaces a registered URL. The operator configures the URL for links and intents. Enables deliveries again if the receiver stopped them with 410.',
        section: '4.9',
        ...OWN,
      },
    },
    schema: { body: callbackRegistration, response: { 200: answerSchema(z.object({})) } },
    onRequest: identify,
    handler: async (request) => {
      const owner = request.integrator!;
      refuseUrl(await callbacks.register(owner, SERVES, request.body.callbackUrl));
      return {};
    },
  });

  withZod(server).route({
    method: 'GET',
    url: '/integrator/callbackUrl',
    config: {
      facts: {
        summary: 'Get the callback URL',
        description: 'Returns the registered URL for SDK transactions.',
        section: '4.10',
        ...OWN,
      },
    },
    schema: { response: { 200: answerSchema(callback) } },
    onRequest: identify,
    handler: async (request) => callbackOf(await callbacks.find(request.integrator!, SERVES)),
  });

  withZod(server).route({
    method: 'POST',
    url: '/integrator/callbackUrl/secret',
    config: {
      facts: {
        summary: 'Create a webhook secret',
        name: 'makeSecretForWebhooks',
        section: 'extension',
        ...OWN,
        description:
          'Creates a new secret that signs webhooks, and returns it once. The previous secret also signs for `overlapHours`. Requires a registered callback URL.',
      },
    },
    schema: { body: secretRotation, response: { 200: answerSchema(callbackSecret) } },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) => {
      const owner = request.integrator!;
      reply.header('cache-control', 'no-store');
      return callbackSecretOf(await callbacks.issueSecret(owner, SERVES, request.body.overlapHours * 3_600));
    },
  });
}
