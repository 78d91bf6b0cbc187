import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { accountAct } from '#schemas/console';
import { login, MAX_LOGIN_BYTES } from '#schemas/login';
import { SIGN_IN_SECONDS } from '../../auth/oidc/pending-sign-in.ts';
import { CALLBACK_PATH } from '../../auth/oidc/sign-in.ts';
import { administratorOf, type PortalSession, SESSION_SECONDS } from '../../auth/portal/portal-session.ts';
import { includesAdministration } from '../../auth/portal/portal-user.ts';
import { AuthError, NotFound, Overloaded, SignInError, StoreUnavailable } from '../../basics/errors.ts';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type ConsoleParts, consoleGuards, originOf, type ProviderParts, refuseOtherSites } from './console-guard.ts';

/** Login, the current user, logout, and whether the database that these need is available. */
export function registerConsoleSession(server: Server, parts: ConsoleParts): void {
  const { checkLogin, sessions, cookie, provider, environment } = parts;
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
      return { ...shown(await sessions.find(secret, 'watch')), environment };
    },
  });

  server.get(
    '/ops/session',
    { config: facts('Get the console session'), onRequest: consoleGuards(parts).forOwnPolling },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return { ...shown(request.operator!), environment };
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

function shown(session: PortalSession) {
  const { user, acquirerId, mayAct, csrfToken, secondsLeft, mustEnrol } = session;
  const { username, role } = user;
  const administers = includesAdministration(administratorOf(session).scopes);
  const own = { username, role, acquirerId: acquirerId ?? null, mayAct, administers, mustEnrol };
  return { ...own, csrfToken, secondsLeft: Math.floor(secondsLeft) };
}

/** The own account of a person, and the sessions of others for administrators. */
export function registerConsoleAccount(server: Server, parts: ConsoleParts): void {
  const { accounts, sessions, cookie } = parts;
  const { forOwnReading, forOwnActing, forReading, forFollowing } = consoleGuards(parts);
  const facts = (summary: string) => ({ facts: { summary, section: 'extension', takes: [], isAsset: true } }) as const;

  server.get(
    '/ops/data/account',
    { config: facts('Get the own account'), onRequest: forOwnReading },
    async (request, reply) => reply.header('cache-control', 'no-store').send(await accounts.show(request.operator!)),
  );

  server.get(
    '/ops/data/sessions',
    { config: facts('List sessions of users'), onRequest: forReading },
    async (request, reply) =>
      reply.header('cache-control', 'no-store').send({ sessions: await accounts.listAll(request.operator!) }),
  );

  server.get(
    '/ops/data/views',
    { config: facts('List saved views'), onRequest: forFollowing },
    async (request, reply) => reply.header('cache-control', 'no-store').send(await accounts.views(request.operator!)),
  );

  withZod(server).route({
    method: 'POST',
    url: '/ops/account/acts',
    config: facts('Change the own account'),
    schema: { body: accountAct },
    onRequest: forOwnActing,
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

/**
 * How people can sign in, and the two navigations of the sign-in with the provider. They respond with redirects,
 * because a person sees them: a failure leads to the page of the console, which says what is wrong.
 */
export function registerConsoleSignIn(server: Server, { provider, cookie }: ConsoleParts): void {
  const facts = (summary: string) => ({ facts: { summary, section: 'extension', takes: [], isAsset: true } }) as const;

  server.get('/ops/sign-in', { config: facts('Get the ways to sign in') }, async (_request, reply) => {
    reply.header('cache-control', 'no-store');
    return { provider: provider?.signIns.providerName ?? null };
  });
  if (!provider) return;
  const { signIns, pending } = provider;

  withZod(server).route({
    method: 'GET',
    url: '/ops/oidc',
    config: facts('Sign in with the provider'),
    schema: { querystring: z.unknown() },
    onRequest: async (request) => refuseOtherStarts(request),
    handler: (request, reply) =>
      respond(provider, reply, async () => {
        const { to } = request.query as { to?: unknown };
        const { url, sealed } = await signIns.start(to, cookie.read(request));
        pending.set(reply, sealed, SIGN_IN_SECONDS);
        return url;
      }),
  });

  withZod(server).route({
    method: 'GET',
    url: CALLBACK_PATH,
    config: facts('Finish a sign-in'),
    schema: { querystring: z.unknown() },
    handler: (request, reply) =>
      respond(provider, reply, async () => {
        const sealed = pending.read(request);
        pending.clear(reply);
        const search = request.raw.url!.replace(/^[^?]*/, '');
        const { secret, returnTo } = await signIns.finish(sealed, search, originOf(request));
        cookie.set(reply, secret, SESSION_SECONDS);
        return returnTo;
      }),
  });
}

/** Another site must not sign a person in unasked. `none` is an address that the person typed. */
function refuseOtherStarts({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new AuthError('FORBIDDEN', 'site');
}

async function respond(
  { onFailure }: ProviderParts,
  reply: FastifyReply,
  next: () => Promise<string>,
): Promise<FastifyReply> {
  reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
  try {
    return reply.redirect(await next(), 303);
  } catch (error) {
    if (error instanceof SignInError) onFailure(error);
    return reply.redirect(`/ops?sign-in=${reasonOf(error)}`, 303);
  }
}

/** The reason as the page knows it. @throws the error if it is a fault */
function reasonOf(error: unknown): string {
  if (error instanceof SignInError) return error.code;
  if (error instanceof StoreUnavailable) return 'DATABASE_UNAVAILABLE';
  if (error instanceof Overloaded) return 'OVERLOADED';
  // The mapping of roles names an acquirer that does not exist.
  if (error instanceof NotFound) return 'NO_ROLE';
  throw error;
}
