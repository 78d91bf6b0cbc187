import { ADMIN_OPERATIONS, SETTINGS } from '#schemas/admin-operations';
import { checkGrant } from '../../auth/api-key.ts';
import { scopesOfUser } from '../../auth/portal/portal-user.ts';
import type { UserSettings } from '../../store/settings/credential-settings.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';
import {
  type AdminRoutes,
  adminFacts,
  identifyAdministrator,
  locationOf,
  registerReadRoutes,
  registerRemoveRoute,
  urlOf,
} from './admin-settings.ts';

const users = {
  operations: SETTINGS.users,
  one: 'a portal user',
  many: 'portal users',
  scope: 'credentials:manage',
} as const;

const { addPortalUser, changePortalUser, resetPasswordOfPortalUser } = ADMIN_OPERATIONS;

/**
 * The portal users of an acquirer, its integrators and merchants. A caller cannot create a user with more rights than
 * its own.
 */
export function registerUserRoutes(
  server: Server,
  { authenticator, idempotent, settings }: AdminRoutes & { readonly settings: UserSettings },
): void {
  const onRequest = identifyAdministrator(authenticator, users.scope);
  registerReadRoutes(server, onRequest, users, settings);
  registerRemoveRoute(server, onRequest, users, settings);

  withZod(server).route({
    method: addPortalUser.method,
    url: urlOf(addPortalUser),
    config: adminFacts('Add a portal user', users, {
      description:
        'Adds a portal user. Without a password in the body, the gateway generates one and returns it once. The user cannot ' +
        'have rights that the calling key lacks.',
    }),
    schema: {
      params: addPortalUser.params,
      body: addPortalUser.body,
      response: { 201: answerSchema(addPortalUser.answer) },
    },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      checkGrant(request.keyHolder!, scopesOfUser(request.body));
      const { stored, password } = await settings.add(request.change!, request.body);
      reply.code(201).header('location', locationOf(request, stored.id)).header('cache-control', 'no-store');
      return { ...stored, password };
    },
  });

  withZod(server).route({
    method: changePortalUser.method,
    url: urlOf(changePortalUser),
    config: adminFacts('Change a portal user', users, {
      description:
        'Changes the fields in the body; all other fields keep their values. The user cannot have rights that the calling key ' +
        'lacks. With `blocked` false, a lockout by wrong logins ends, too.',
    }),
    schema: {
      params: changePortalUser.params,
      body: changePortalUser.body,
      response: { 200: answerSchema(changePortalUser.answer) },
    },
    onRequest,
    handler: async (request) => {
      const { id } = request.params;
      const { role, permissions, blocked } = request.body;
      const before = await settings.find(request.change!, id);
      const givesRights = role !== undefined || permissions !== undefined || blocked === false;
      if (givesRights) checkGrant(request.keyHolder!, scopesOfUser({ ...before, ...request.body }));
      return settings.change(request.change!, id, request.body);
    },
  });

  withZod(server).route({
    method: resetPasswordOfPortalUser.method,
    url: urlOf(resetPasswordOfPortalUser),
    config: adminFacts('Reset the password of a portal user', users, {
      description:
        'Sets a new password, ends the sessions of the user and lifts a lockout by wrong logins. Without a password in the body, the gateway generates one and ' +
        'returns it once.',
    }),
    schema: {
      params: resetPasswordOfPortalUser.params,
      body: resetPasswordOfPortalUser.body,
      response: { 200: answerSchema(resetPasswordOfPortalUser.answer) },
    },
    onRequest,
    ...idempotent,
    handler: async (request, reply) => {
      const { id } = request.params;
      // A caller that sets a user's password can log in as that user.
      checkGrant(request.keyHolder!, scopesOfUser(await settings.find(request.change!, id)));
      reply.header('cache-control', 'no-store');
      return { password: await settings.resetPassword(request.change!, id, request.body.password) };
    },
  });
}
