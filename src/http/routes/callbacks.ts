import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callback, callbackRegistration, callbackSecret, secretRotation } from '#schemas/webhook';
import type { CallbackRegistry } from '../../webhooks/callback-registry.ts';
import { callbackOf, callbackSecretOf, overlapOf, refuseUrl } from '../callbacks-view.ts';
import type { RouteGuards } from '../idempotency.ts';
import { responseSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

/** Key and token together (4.9, 4.10), both of the same integrator. */
const BOTH = { scope: 'webhooks:manage', needsBearer: true } as const;
/** Every route here requires a key and a token of the integrator. */
const OWN = { takes: ['integratorKey', 'merchantToken'], scope: BOTH.scope, takesBoth: true, under: 'app' } as const;
/** Integrators register callbacks for taps of the SDK. The operator sets those for links and intents. */
const SERVES = 'taps';

/** 4.9 and 4.10, and the secret that signs webhooks (extension). */
export function registerCallbackRoutes(
  server: Server,
  { authenticator, idempotent }: RouteGuards,
  callbacks: CallbackRegistry,
): void {
  // Runs before the body is read: only the headers of an unknown caller are read.
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
    schema: { body: callbackRegistration, response: { 200: responseSchema(z.object({})) } },
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
    schema: { response: { 200: responseSchema(callback) } },
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
          'Creates a new secret that signs webhooks, and returns it once. The previous secret also signs for `overlapHours`. Requires a registered callback URL. Refused with 409 while the secret before the current one still signs, unless `isCompromised` ends all earlier secrets.',
        problems: { 409: [134] },
      },
    },
    schema: { body: secretRotation, response: { 200: responseSchema(callbackSecret) } },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) => {
      const owner = request.integrator!;
      reply.header('cache-control', 'no-store');
      return callbackSecretOf(await callbacks.issueSecret(owner, SERVES, overlapOf(request.body)));
    },
  });
}
