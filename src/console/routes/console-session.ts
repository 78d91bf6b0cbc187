import { login, MAX_LOGIN_BYTES } from '#schemas/login';
import { type PortalSession, SESSION_SECONDS } from '../../auth/portal/portal-session.ts';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type ConsoleParts, consoleGuards, originOf, refuseOtherSites } from './console-guard.ts';

/** Login, the current user, logout, and whether the database that these need is available. */
export function registerConsoleSession(server: Server, parts: ConsoleParts): void {
  const { checkLogin, sessions, cookie, provider } = parts;
  const facts = (summary: string) => ({ facts: { summary, section: 'extension', takes: [], isAsset: true } }) as const;

  withZod(server).route({
    method: 'POST',
    url: '/ops/session',
    bodyLimit: MAX_LOGIN_BYTES,
    config: facts('Start a console session'),
    schema: { body: login },
    onRequest: async (request) => refuseOtherSites(request),
    handler: async (request, reply) => {
      const user = await checkLogin({ ...request.body, ip: request.ip });
      const secret = await sessions.begin(user, originOf(request));
      await sessions.end(cookie.read(request));
      cookie.set(reply, secret, SESSION_SECONDS);
      reply.header('cache-control', 'no-store');
      return shown(await sessions.find(secret, 'watch'));
    },
  });

  server.get(
    '/ops/session',
    { config: facts('Get the console session'), onRequest: consoleGuards(parts).isIn },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return shown(request.operator!);
    },
  );

  server.get(
    '/ops/availability',
    { config: facts('Get the availability of the database') },
    async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return parts.feed.availability();
    },
  );

  server.delete(
    '/ops/session',
    { config: facts('End the console session'), onRequest: async (request) => refuseOtherSites(request) },
    async (request, reply) => {
      const { isOfProvider } = await sessions.end(cookie.read(request));
      cookie.clear(reply);
      // Without it, the next person at this screen would be signed in by the provider, unasked.
      const providerUrl = isOfProvider ? await provider?.signIns.endUrl() : undefined;
      return providerUrl === undefined ? reply.code(204).send() : { providerUrl };
    },
  );
}

function shown({ user, acquirerId, mayAct, csrfToken, secondsLeft, mustEnrol }: PortalSession) {
  const { username, role } = user;
  const own = { username, role, acquirerId: acquirerId ?? null, mayAct, mustEnrol };
  return { ...own, csrfToken, secondsLeft: Math.floor(secondsLeft) };
}
