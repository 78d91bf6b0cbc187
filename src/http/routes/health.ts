import { health, liveness, readiness } from '#schemas/health';
import type { Health } from '../../ops/health.ts';
import type { RouteFacts } from '../route-facts.ts';
import { answerSchema, type Server } from '../server.ts';

/**
 * `/livez`: the process turns. `/readyz`: it can take taps; 503 with what is missing otherwise. `/healthz`: the same with
 * what each switch's lines have seen, for people; always 200.
 */
export function registerHealthRoutes(server: Server, checks: Pick<Health, 'readiness' | 'switchStats'>): void {
  const alive = {
    config: open('getLiveness', 'Tell that the process turns'),
    schema: { response: { 200: answerSchema(liveness) } },
  };
  server.get('/livez', alive, async () => ({ status: 'ok' }));

  const isReady = answerSchema(readiness);
  const ready = {
    config: open(
      'getReadiness',
      'Tell whether taps can be taken',
      '503 with what is missing otherwise. A switch that is down does not count.',
    ),
    schema: { response: { 200: isReady, 503: isReady } },
  };
  server.get('/readyz', ready, async (_request, reply) => {
    const { isReady, ...rest } = await checks.readiness();
    reply.code(isReady ? 200 : 503);
    return { status: isReady ? 'ok' : 'unready', ...rest };
  });

  const healthy = { config: open('getHealth', 'Show the health'), schema: { response: { 200: answerSchema(health) } } };
  server.get('/healthz', healthy, async () => {
    const { isReady, ...rest } = await checks.readiness();
    return { status: isReady ? 'ok' : 'unready', ...rest, switches: checks.switchStats() };
  });
}

function open(name: string, summary: string, description?: string): { facts: RouteFacts } {
  return {
    facts: { name, summary, section: 'extension', takes: [], ...(description !== undefined && { description }) },
  };
}
