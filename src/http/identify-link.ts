import type { FastifyRequest } from 'fastify';
import { bearerToken } from '../auth/bearer.ts';
import type { AppTokens } from '../auth/tokens/app-tokens.ts';
import { AuthError } from '../basics/errors.ts';
import { linkExpired } from '../payments/taps/link-of-tap.ts';

/** Makes an `onRequest` that accepts the token of a link or intent, and sets `intent` from it. */
export function identifyLink(appTokens: AppTokens): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const token = bearerToken(request.headers.authorization);
    request.intent = await appTokens.open(token).catch((error) => {
      // The token expires with its link, so an expired token means an expired link.
      throw error instanceof AuthError && error.code === 'JWT_EXPIRED' ? linkExpired() : error;
    });
  };
}
