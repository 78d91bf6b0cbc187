import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Operation } from '#schemas/operation';
import type { Administrator } from '../auth/api-key.ts';
import type { MerchantPrincipal } from '../auth/issuers/verify-merchant-token.ts';
import type { Principal } from '../payments/ports/directory-ports.ts';
import type { IntentClaims, IntentSession, Tenant } from '../payments/ports/store-ports.ts';
import type { Change } from '../store/settings/admin-commit.ts';
import type { Integrator } from '../webhooks/ports.ts';
import { responseSchema, type Server } from './server.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Identity in the request's token; set by the route's `onRequest`. */
    principal?: MerchantPrincipal;
    /** Identity that submits a tap or a request after one; set by the route's `onRequest`. */
    submitter?: Principal;
    /** The link or intent whose own token the request has; set by the route's `onRequest`. */
    intent?: IntentClaims;
    /** Identity of an app that creates intents itself; set by the route's `onRequest`. */
    session?: IntentSession;
    /** Tenant whose transactions the request may read or refund; set by the route's `onRequest`. */
    owner?: Tenant;
    /** Integrator that makes the request; set by the route's `onRequest`. */
    integrator?: Integrator;
    /** Actor and acquirer of a change of settings; set by the route's `onRequest`. */
    change?: Change;
    /** Who administers by the request; set by the route's `onRequest`. */
    administrator?: Administrator;
  }
}

/** The server with request types derived from its zod schemas. */
export function withZod(server: Server) {
  return server.withTypeProvider<ZodTypeProvider>() as FastifyInstance<
    Server['server'],
    import('node:http').IncomingMessage,
    import('node:http').ServerResponse,
    Server['log'],
    ZodTypeProvider
  >;
}

/**
 * Returns a page of a list. If the page is full, the header Link has the URL of the next one: `<…>; rel="next"` (RFC
 * 8288), the same list after the last of these rows.
 *
 * @param nameOf the value of a row for the parameter `after`
 */
export function withNextPage<Row>(
  { url, query }: FastifyRequest,
  reply: FastifyReply,
  rows: readonly Row[],
  nameOf: (row: Row) => number | string,
): readonly Row[] {
  const last = rows.at(-1);
  const { limit } = query as { readonly limit: number };
  if (last !== undefined && rows.length === limit) reply.header('link', nextPage(url, String(nameOf(last))));
  return rows;
}

function nextPage(url: string, after: string): string {
  const [path, search = ''] = url.split('?', 2) as [string, string?];
  const parameters = new URLSearchParams(search);
  parameters.delete('offset');
  parameters.set('after', after);
  return `<${path}?${parameters}>; rel="next"`;
}

/**
 * Method, path and schemas of a route, as the table of operations describes them for clients.
 *
 * @param status of its response
 */
export function routeOf<const Described extends Operation, Status extends 200 | 201 | 202 | 204>(
  operation: Described,
  status: Status,
) {
  const { method, path, params, query, headers, body, response } = operation as Operation;
  return {
    method: method as Described['method'],
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(headers && { headers }),
      ...(body && { body }),
      response: { [status]: responseSchema(status === 204 ? z.null() : response) },
    } as {
      params: Described['params'];
      querystring: Described['query'];
      headers: Described['headers'];
      body: Described['body'];
      response: Record<Status, object>;
    },
  };
}
