import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { ApiKeyPrincipal } from '../auth/api-key.ts';
import type { MerchantPrincipal } from '../auth/issuers/verify-merchant-token.ts';
import type { Change } from '../store/settings/admin-commit.ts';
import type { Principal } from '../transactions/model/principal.ts';
import type { IntentClaims, IntentSession } from '../transactions/ports/link-ports.ts';
import type { Tenant } from '../transactions/ports/store-ports.ts';
import type { Integrator } from '../webhooks/ports.ts';
import type { Server } from './server.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** As whom the request's token speaks; set by the route's `onRequest`. */
    principal?: MerchantPrincipal;
    /** As whom the request submits a tap, or what follows one; set by the route's `onRequest`. */
    submitter?: Principal;
    /** The link or intent whose own token the request has; set by the route's `onRequest`. */
    intent?: IntentClaims;
    /** As whom an app makes intents by itself; set by the route's `onRequest`. */
    session?: IntentSession;
    /** Whose transactions the request may see or give back; set by the route's `onRequest`. */
    owner?: Tenant;
    /** For which integrator the request speaks; set by the route's `onRequest`. */
    integrator?: Integrator;
    /** Who is changing which acquirer's settings; set by the route's `onRequest`. */
    change?: Change;
    /** By whose key; set by the route's `onRequest`. */
    keyHolder?: ApiKeyPrincipal;
  }
}

/** The server with request types taken from its zod schemas. */
export function withZod(server: Server) {
  return server.withTypeProvider<ZodTypeProvider>() as FastifyInstance<
    Server['server'],
    import('node:http').IncomingMessage,
    import('node:http').ServerResponse,
    Server['log'],
    ZodTypeProvider
  >;
}
