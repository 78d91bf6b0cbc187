import { AuthError, NotFound } from '../../basics/errors.ts';
import { isMetricsToken } from '../metrics-token.ts';
import type { Server } from '../server.ts';

export interface MetricsRouteOptions {
  readonly metrics: { text(): Promise<string> };
  /** The scraper sends it as Bearer. */
  readonly token: string | undefined;
  /** dev: the route is open without a token. In other environments the route then does not exist. */
  readonly isOpen: boolean;
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** `/metrics`: the metrics of this process for Prometheus. */
export function registerMetricsRoute(server: Server, { metrics, token, isOpen }: MetricsRouteOptions): void {
  server.route({
    method: 'GET',
    url: '/metrics',
    config: {
      facts: {
        summary: 'Get metrics',
        description:
          'Returns the metrics of the process in the Prometheus text format. If METRICS_TOKEN is configured, the request needs it as Bearer token; without it, the operation exists only in dev.',
        section: 'extension',
        takes: [],
        mediaType: 'text/plain',
      },
    },
    onRequest: async (request) => {
      if (token === undefined && isOpen) return;
      if (token === undefined) throw new NotFound();
      if (!isMetricsToken(request.headers.authorization, token)) throw new AuthError('UNAUTHORISED', 'metrics token');
    },
    handler: async (_request, reply) => reply.type(CONTENT_TYPE).send(await metrics.text()),
  });
}
