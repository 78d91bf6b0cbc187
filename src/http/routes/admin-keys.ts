import type { FastifyReply, FastifyRequest } from 'fastify';
import { ADMIN_OPERATIONS, SETTINGS } from '#schemas/admin-operations';
import { type ApiKeyPrincipal, checkGrant } from '../../auth/api-key.ts';
import type { Authenticator } from '../../auth/authenticator.ts';

import { AuthError, NotFound } from '../../basics/errors.ts';
import type { Change } from '../../store/settings/admin-commit.ts';
import type { ApiKeySettings, IssuedKey } from '../../store/settings/credential-settings.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';
import {
  type AdminGuard,
  type AdminRoutes,
  adminFacts,
  locationOf,
  registerReadRoutes,
  registerRemoveRoute,
  urlOf,
} from './admin-settings.ts';

const keys = {
  operations: SETTINGS.apiKeys,
  one: 'an API key',
  many: 'API keys',
  scope: 'credentials:manage',
  takes: ['operatorKey', 'acquirerKey', 'integratorKey'],
  notes: {
    list: 'The list includes revoked keys.',
    remove: 'Revokes an API key. The key stops working within 5 s.',
  },
} as const;

const { makeApiKey, rotateApiKey } = ADMIN_OPERATIONS;

/**
 * The API keys of an acquirer. An acquirer creates them for itself, its integrators and its merchants, an integrator
 * for its merchants. A caller can grant only its own scopes. The key is returned only by the request that creates it.
 */
export function registerKeyRoutes(
  server: Server,
  { authenticator, idempotent, apiKeys }: AdminRoutes & { readonly apiKeys: ApiKeySettings },
): void {
  const onRequest = identifyKeyHolder(authenticator);
  registerReadRoutes(server, onRequest, keys, apiKeys);
  registerRemoveRoute(server, onRequest, keys, apiKeys);

  withZod(server).route({
    method: makeApiKey.method,
    url: urlOf(makeApiKey),
    config: adminFacts('Create an API key', keys, {
      name: 'makeApiKey',
      description:
        'Creates an API key for the acquirer, or for one of its integrators or merchants, and returns the key text once. The ' +
        'new key cannot have scopes that the calling key lacks.',
    }),
    schema: {
      params: makeApiKey.params,
      body: makeApiKey.body,
      response: { 201: answerSchema(makeApiKey.answer) },
    },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      checkGrant(request.keyHolder!, request.body.scopes);
      const issued = await apiKeys.add(request.change!, request.body);
      return created(reply, issued, locationOf(request, issued.stored.id));
    },
  });

  withZod(server).route({
    method: rotateApiKey.method,
    url: urlOf(rotateApiKey),
    config: adminFacts('Rotate an API key', keys, {
      description:
        'Creates a new key with the owner, scopes and lifetime of the old key, and returns the key text once. The old key ' +
        'remains valid for `overlapHours`. Refused with 409 if the old key has expired or is revoked.',
    }),
    schema: {
      params: rotateApiKey.params,
      body: rotateApiKey.body,
      response: { 201: answerSchema(rotateApiKey.answer) },
    },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const { acquirerId, id } = request.params;
      const old = await apiKeys.find(request.change!, id);
      checkGrant(request.keyHolder!, old.scopes);
      const issued = await apiKeys.rotate(request.change!, id, request.body.overlapHours);
      return created(reply, issued, `/acquirers/${acquirerId}/keys/${issued.stored.id}`);
    },
  });
}

/** Accepts the operator, the acquirer, or one of its integrators, which sees only its own keys. */
function identifyKeyHolder(authenticator: Authenticator): AdminGuard {
  return async (request: FastifyRequest) => {
    const { acquirerId } = request.params as { acquirerId: string };
    const holder = await authenticator.keyAlone(request.headers, keys.scope);
    request.change = { ...reachOf(holder, acquirerId), actor: `key ${holder.keyId}` };
    request.keyHolder = holder;
  };
}

/**
 * @throws AuthError for a merchant's key; NotFound for a key of another acquirer, as if that acquirer did not exist
 */
function reachOf({ owner }: ApiKeyPrincipal, acquirerId: string): Omit<Change, 'actor'> {
  if (owner === 'operator') return { acquirerId: Number(acquirerId) };
  if (owner.merchantId !== undefined) throw new AuthError('FORBIDDEN', 'owner');
  if (String(owner.acquirerId) !== acquirerId) throw new NotFound();
  return { acquirerId: owner.acquirerId, integratorId: owner.integratorId };
}

function created(reply: FastifyReply, { stored, text }: IssuedKey, location: string) {
  reply.code(201).header('location', location).header('cache-control', 'no-store');
  return { ...stored, key: text.reveal() };
}
