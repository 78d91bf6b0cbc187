import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { SIGN_IN_SECONDS } from '../../auth/oidc/pending-sign-in.ts';
import { CALLBACK_PATH } from '../../auth/oidc/sign-in.ts';
import { SESSION_SECONDS } from '../../auth/portal/portal-session.ts';
import { AuthError, NotFound, Overloaded, SignInError, StoreUnavailable } from '../../basics/errors.ts';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type ConsoleParts, originOf, type ProviderParts } from './console-guard.ts';

/**
 * How people can sign in, and the two navigations of the sign-in with the provider. They answer with redirects, because a
 * person sees them: a failure leads to the page of the console, which says what is wrong.
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
      answer(provider, reply, async () => {
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
      answer(provider, reply, async () => {
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

async function answer(
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
