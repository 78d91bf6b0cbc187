import type { Health } from '../../ops/health.ts';
import type { Server } from '../server.ts';

/**
 * `/livez`: the process turns. `/readyz`: it can take taps; 503 with what is missing otherwise. `/healthz`: the same with
 * what each switch's lines have seen, for people; always 200.
 */
export function registerHealthRoutes(server: Server, health: Pick<Health, 'readiness' | 'switchStats'>): void {
  server.get('/livez', async () => ({ status: 'ok' }));
  server.get('/readyz', async (_request, reply) => {
    const { isReady, ...checks } = await health.readiness();
    reply.code(isReady ? 200 : 503);
    return { status: isReady ? 'ok' : 'unready', ...checks };
  });
  server.get('/healthz', async () => {
    const { isReady, ...checks } = await health.readiness();
    return { status: isReady ? 'ok' : 'unready', ...checks, switches: health.switchStats() };
  });
}
