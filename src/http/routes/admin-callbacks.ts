import { z } from 'zod';
import { integratorPath } from '#schemas/admin';
import { callback, callbackRegistration, callbackSecret, secretRotation } from '#schemas/webhook';
import { NotFound } from '../../basics/errors.ts';
import type { Change } from '../../store/settings/admin-commit.ts';
import type { CallbackRegistry } from '../../webhooks/callback-registry.ts';
import { callbackOf, callbackSecretOf, overlapOf, refuseUrl } from '../callbacks-view.ts';
import type { RouteGuards } from '../idempotency.ts';
import { responseSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';
import { adminFacts, identifyAdministrator } from './admin-settings.ts';

/**
 * Integrators register their own callbacks for taps of the SDK (4.9). These callbacks are for links and intents, and
 * the operator sets them.
 */
const SERVES = 'links';
const SCOPE = 'webhooks:manage';
const ADDRESS = '/acquirers/:acquirerId/integrators/:id/callbacks/links';

/** Callbacks that inform integrators about links and intents (interface 4.10). */
export function registerAdminCallbackRoutes(
  server: Server,
  { authenticator, idempotent }: RouteGuards,
  callbacksOf: (actor: string) => CallbackRegistry,
): void {
  const onRequest = identifyAdministrator(authenticator, SCOPE);
  const facts = (summary: string, description: string, name?: string) =>
    adminFacts(summary, { scope: SCOPE }, { description, ...(name !== undefined && { name }) });
  const ofIntegrator = ({ acquirerId, actor }: Change, integratorId: number) => ({
    callbacks: callbacksOf(actor),
    owner: { acquirerId, integratorId },
  });

  withZod(server).route({
    method: 'GET',
    url: ADDRESS,
    config: facts(
      'Get the callback URL of links',
      'Returns the URL that receives the outcomes of link and intent payments of the integrator.',
    ),
    schema: { params: integratorPath, response: { 200: responseSchema(callback) } },
    onRequest,
    handler: async (request) => {
      const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
      return callbackOf(await callbacks.find(owner, SERVES));
    },
  });

  withZod(server).route({
    method: 'PUT',
    url: ADDRESS,
    config: facts(
      'Set the callback URL of links',
      'Sets the URL that receives the outcomes of link and intent payments of the integrator. Enables deliveries again if the receiver stopped them with 410.',
    ),
    schema: { params: integratorPath, body: callbackRegistration, response: { 200: responseSchema(z.object({})) } },
    onRequest,
    handler: async (request) => {
      const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
      refuseUrl(await callbacks.register(owner, SERVES, request.body.callbackUrl));
      return {};
    },
  });

  withZod(server).route({
    method: 'DELETE',
    url: ADDRESS,
    config: facts(
      'Remove the callback URL of links',
      'Removes the URL. The gateway then sends no webhooks for link and intent payments of the integrator.',
    ),
    schema: { params: integratorPath, response: { 204: responseSchema(z.null()) } },
    onRequest,
    handler: async (request, reply) => {
      const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
      if (!(await callbacks.disable(owner, SERVES))) throw new NotFound();
      return reply.code(204).send(null);
    },
  });

  withZod(server).route({
    method: 'POST',
    url: `${ADDRESS}/secret`,
    config: facts(
      'Create a webhook secret for links',
      'Creates a new signing secret and returns it once. The previous secret also signs for `overlapHours`. Refused with 409 while the secret before the current one still signs, unless `isCompromised` ends all earlier secrets.',
      'makeSecretForWebhooksOfLinks',
    ),
    schema: { params: integratorPath, body: secretRotation, response: { 200: responseSchema(callbackSecret) } },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
      reply.header('cache-control', 'no-store');
      return callbackSecretOf(await callbacks.issueSecret(owner, SERVES, overlapOf(request.body)));
    },
  });
}
