import type { FastifyRequest } from 'fastify';
import { health, liveness, readiness } from '#schemas/health';
import { AuthError, NotFound } from '../../basics/errors.ts';
import { isSameSecret } from '../../codecs/crypto/mac.ts';
import type { Readiness } from '../../observe/health.ts';
import type { RouteFacts } from '../route-table.ts';
import { responseSchema, type Server } from '../server.ts';

/**
 * `/livez`: the event loop runs. `/readyz`: the process can take taps; otherwise 503 with what is missing.
 * `/healthz`: the same with the state of each processor's connections, for people; always 200. Only the operator may
 * know which acquirers exist and how much traffic they have, so other callers see the state of the process only.
 */
export function registerHealthRoutes(
  server: Server,
  {
    checks,
    token,
    isOpen,
  }: {
    readonly checks: {
      readiness(): Promise<Readiness>;
      switchStats(): Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
    };
    /** METRICS_TOKEN: a caller with this token sees the health of each switch. */
    readonly token: string | undefined;
    /** dev: every caller sees it. */
    readonly isOpen: boolean;
  },
): void {
  const sees = ({ headers }: FastifyRequest) =>
    isOpen || (token !== undefined && isMetricsToken(headers.authorization, token));
  const alive = {
    config: open('getLiveness', 'Check liveness', 'Returns 200 while the process runs.'),
    schema: { response: { 200: responseSchema(liveness) } },
  };
  server.get('/livez', alive, async () => ({ status: 'ok' }));

  const isReady = responseSchema(readiness);
  const ready = {
    config: open(
      'getReadiness',
      'Check readiness',
      `Returns 200 if the process can take taps, otherwise 503 with the cause. The state of switches and HSM devices has no effect on the status. ${WITH_TOKEN}`,
    ),
    schema: { response: { 200: isReady, 503: isReady } },
  };
  server.get('/readyz', ready, async (request, reply) => {
    const { isReady, switches, hsm, ...rest } = await checks.readiness();
    reply.code(isReady ? 200 : 503);
    return { status: isReady ? 'ok' : 'unready', ...rest, ...(sees(request) && { switches, hsm }) };
  });

  const healthy = {
    config: open(
      'getHealth',
      'Get health details',
      `Returns the readiness of the process and the connection statistics of each switch. ${WITH_TOKEN}`,
    ),
    schema: { response: { 200: responseSchema(health) } },
  };
  server.get('/healthz', healthy, async (request) => {
    const { isReady, switches: _availability, hsm, ...rest } = await checks.readiness();
    const shown = sees(request) ? { switches: await checks.switchStats(), hsm } : {};
    return { status: isReady ? 'ok' : 'unready', ...rest, ...shown };
  });
}

const WITH_TOKEN =
  'Outside dev, the response contains the switches only if the request has METRICS_TOKEN as Bearer token.';

function open(name: string, summary: string, description: string): { facts: RouteFacts } {
  return { facts: { name, summary, section: 'extension', takes: [], description } };
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** `/metrics`: the metrics of this process for Prometheus. */
export function registerMetricsRoute(
  server: Server,
  {
    metrics,
    token,
    isOpen,
  }: {
    readonly metrics: { text(): Promise<string> };
    /** The scraper sends it as Bearer. */
    readonly token: string | undefined;
    /** dev: the route is open without a token. In other environments the route then does not exist. */
    readonly isOpen: boolean;
  },
): void {
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

const BEARER = 'Bearer ';

/** Whether a header contains METRICS_TOKEN. */
function isMetricsToken(header: string | undefined, token: string): boolean {
  const given = header?.startsWith(BEARER) ? header.slice(BEARER.length) : '';
  return isSameSecret(given, token);
}
