import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { OPERATIONS } from '#schemas/operations';
import type { callback, callbackSecret, secretRotation } from '#schemas/webhook';
import { invalidValue, NotFound } from '../../basics/errors.ts';
import type { Change } from '../../store/settings/admin-commit.ts';
import type { CallbackRegistry, IssuedSecret } from '../../webhooks/callback-registry.ts';
import type { RegisteredCallback, SecretOverlap } from '../../webhooks/ports.ts';
import type { RouteGuards } from '../idempotency.ts';
import type { Server } from '../server.ts';
import { routeOf, withZod } from '../with-zod.ts';
import { adminFacts, identifyAdministrator } from './admin-settings.ts';

/** A callback as the API shows it (4.10). */
function callbackOf(registered: RegisteredCallback | undefined): z.output<typeof callback> {
  if (!registered) return { callbackUrl: null };
  const { url, disabledAtMs } = registered;
  return { callbackUrl: url, ...(disabledAtMs !== null && { disabledAt: new Date(disabledAtMs).toISOString() }) };
}

function overlapOf({ overlapHours, isCompromised }: z.output<typeof secretRotation>): SecretOverlap {
  return { overlapSeconds: overlapHours * 3_600, isCompromised };
}

/** @throws NotFound if no callback is registered whose secret could sign */
function callbackSecretOf(issued: IssuedSecret | undefined): z.output<typeof callbackSecret> {
  if (!issued) throw new NotFound();
  const { secret, previousEndsAtMs } = issued;
  const previousValidUntil = previousEndsAtMs === null ? null : new Date(previousEndsAtMs).toISOString();
  return { secret: secret.reveal(), previousValidUntil };
}

/** @param fault reason for the refusal; if undefined, nothing is thrown */
function refuseUrl(fault: string | undefined): void {
  if (fault) throw invalidValue('callbackUrl', fault);
}

/** Key and token together (4.9, 4.10), both of the same integrator. */
const BOTH = { scope: 'webhooks:manage', needsBearer: true } as const;
/** Every route here requires a key and a token of the integrator. */
const OWN = {
  takes: ['integratorKey', 'merchantToken', 'loginToken'],
  scope: BOTH.scope,
  takesBoth: true,
  under: 'app',
} as const;
/** Integrators register callbacks for taps of the SDK. The operator sets those for links and intents. */
const TAPS = 'taps';

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
    ...routeOf(OPERATIONS.registerCallbackUrl, 200),
    config: {
      facts: {
        summary: 'Register the callback URL',
        description:
          'Registers the URL that receives the outcome of each SDK transaction as a webhook, and replaces a registered URL. The operator configures the URL for links and intents. Enables deliveries again if the receiver stopped them with 410. A login token must be that of a user of the integrator itself, with the role `admin` or the right `webhooks:manage`.',
        section: '4.9',
        ...OWN,
      },
    },
    onRequest: identify,
    handler: async (request) => {
      const owner = request.integrator!;
      refuseUrl(await callbacks.register(owner, TAPS, request.body.callbackUrl));
      return {};
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.getCallbackUrl, 200),
    config: {
      facts: {
        summary: 'Get the callback URL',
        description: 'Returns the registered URL for SDK transactions.',
        section: '4.10',
        ...OWN,
      },
    },
    onRequest: identify,
    handler: async (request) => callbackOf(await callbacks.find(request.integrator!, TAPS)),
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.makeSecretForWebhooks, 200),
    config: {
      facts: {
        summary: 'Create a webhook secret',
        section: 'extension',
        ...OWN,
        description:
          'Creates a new secret that signs webhooks, and returns it once. The previous secret also signs for `overlapHours`. Requires a registered callback URL. Refused with 409 while the secret before the current one still signs, unless `isCompromised` ends all earlier secrets.',
        problems: { 409: [134] },
      },
    },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) => {
      const owner = request.integrator!;
      reply.header('cache-control', 'no-store');
      return callbackSecretOf(await callbacks.issueSecret(owner, TAPS, overlapOf(request.body)));
    },
  });
}

/**
 * Integrators register their own callbacks for taps of the SDK (4.9). These callbacks are for links and intents, and
 * the operator sets them.
 */
const LINKS = 'links';
const SCOPE = 'webhooks:manage';

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
    ...routeOf(OPERATIONS.getCallbackUrlOfLinks, 200),
    config: facts(
      'Get the callback URL of links',
      'Returns the URL that receives the outcomes of link and intent payments of the integrator.',
    ),
    onRequest,
    handler: async (request) => {
      const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
      return callbackOf(await callbacks.find(owner, LINKS));
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.setCallbackUrlOfLinks, 200),
    config: facts(
      'Set the callback URL of links',
      'Sets the URL that receives the outcomes of link and intent payments of the integrator. Enables deliveries again if the receiver stopped them with 410.',
    ),
    onRequest,
    handler: async (request) => {
      const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
      refuseUrl(await callbacks.register(owner, LINKS, request.body.callbackUrl));
      return {};
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.removeCallbackUrlOfLinks, 204),
    config: facts(
      'Remove the callback URL of links',
      'Removes the URL. The gateway then sends no webhooks for link and intent payments of the integrator.',
    ),
    onRequest,
    handler: async (request, reply) => {
      const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
      if (!(await callbacks.disable(owner, LINKS))) throw new NotFound();
      return reply.code(204).send(null);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.makeSecretForWebhooksOfLinks, 200),
    config: facts(
      'Create a webhook secret for links',
      'Creates a new signing secret and returns it once. The previous secret also signs for `overlapHours`. Refused with 409 while the secret before the current one still signs, unless `isCompromised` ends all earlier secrets.',
      'makeSecretForWebhooksOfLinks',
    ),
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
      reply.header('cache-control', 'no-store');
      return callbackSecretOf(await callbacks.issueSecret(owner, LINKS, overlapOf(request.body)));
    },
  });

  for (const [serves, operation] of [
    [LINKS, OPERATIONS.checkCallbackUrlOfLinks],
    [TAPS, OPERATIONS.checkCallbackUrlOfTaps],
  ] as const)
    withZod(server).route({
      ...routeOf(operation, 200),
      config: facts(
        `Check the callback URL of ${serves}`,
        'Sends one signed request of the type `endpoint.test` to the URL and returns the response of the receiver. It concerns no transaction, and is not repeated. Returns an empty list if no URL is registered.',
      ),
      onRequest,
      handler: async (request) => {
        const { callbacks, owner } = ofIntegrator(request.change!, request.params.id);
        const attempt = await callbacks.test(owner, serves);
        if (!attempt) return [];
        const { url, status, error, durationMs, response } = attempt;
        const wasTaken = status !== null && status >= 200 && status < 300;
        return [
          { verdict: wasTaken ? ('good' as const) : ('fault' as const), url, status, error, durationMs, response },
        ];
      },
    });
}
