import type { Readiness } from '../../ops/health.ts';
import type { Server } from '../server.ts';

/** `/livez`: the process turns. `/readyz`: it can take taps; 503 with what is missing otherwise. */
export function registerHealthRoutes(server: Server, health: { readiness(): Promise<Readiness> }): void {
  server.get('/livez', async () => ({ status: 'ok' }));
  server.get('/readyz', async (_request, reply) => {
    const { isReady, ...checks } = await health.readiness();
    reply.code(isReady ? 200 : 503);
    return { status: isReady ? 'ok' : 'unready', ...checks };
  });
}
