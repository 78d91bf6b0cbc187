import { accountAct } from '#schemas/console-account';
import { SESSION_SECONDS } from '../../auth/portal/portal-session.ts';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type ConsoleParts, consoleGuards, originOf } from './console-guard.ts';

/** The own account of a person, and the sessions of others for administrators. */
export function registerConsoleAccount(server: Server, parts: ConsoleParts): void {
  const { accounts, sessions, cookie } = parts;
  const { owns, ownActs, looks } = consoleGuards(parts);
  const facts = (summary: string) => ({ facts: { summary, section: 'extension', takes: [], isAsset: true } }) as const;

  server.get('/ops/data/account', { config: facts('Get the own account'), onRequest: owns }, async (request, reply) =>
    reply.header('cache-control', 'no-store').send(await accounts.show(request.operator!)),
  );

  server.get(
    '/ops/data/sessions',
    { config: facts('List sessions of users'), onRequest: looks },
    async (request, reply) =>
      reply.header('cache-control', 'no-store').send({ sessions: await accounts.listAll(request.operator!) }),
  );

  withZod(server).route({
    method: 'POST',
    url: '/ops/account/acts',
    config: facts('Change the own account'),
    schema: { body: accountAct },
    onRequest: ownActs,
    handler: async (request, reply) => {
      const { user } = request.operator!;
      const result = await accounts.do(request.operator!, request.body, request.ip);
      // A change of the second factor has ended all sessions: the person continues in a new one.
      if (request.body.act === 'confirmTotp' || request.body.act === 'removeTotp')
        cookie.set(reply, await sessions.begin(user, originOf(request)), SESSION_SECONDS);
      return reply.header('cache-control', 'no-store').send(result);
    },
  });
}
