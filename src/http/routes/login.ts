import { login, loginAnswer, MAX_LOGIN_BYTES } from '#schemas/login';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { LogIn } from '../../auth/portal/log-in.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

export interface LoginRouteOptions {
  readonly authenticator: Authenticator;
  readonly logIn: LogIn;
}

/** 4.15: exchanges a portal user's name and password for a token. */
export function registerLoginRoute(server: Server, { authenticator, logIn }: LoginRouteOptions): void {
  withZod(server).route({
    method: 'POST',
    url: '/login',
    bodyLimit: MAX_LOGIN_BYTES,
    schema: { body: login, response: { 200: answerSchema(loginAnswer) } },
    config: {
      facts: {
        summary: 'Log in',
        description:
          'Issues a JWT for a portal user. The gateway limits login attempts by user and by address (429 with `Retry-After`).',
        section: '4.15',
        takes: [],
        under: 'auth',
        problems: { 401: [100, 102, 117, 118], 403: [101], 429: [132] },
      },
    },
    onRequest: (request) => authenticator.refuseDevices(request.headers),
    handler: async (request, reply) => {
      const { token, expiresIn } = await logIn({ ...request.body, ip: request.ip });
      reply.header('cache-control', 'no-store');
      return { token, tokenType: 'Bearer' as const, expiresIn };
    },
  });
}
