import { historyQuery } from '#schemas/console-history';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

/** What the switches did until now, for the charts of the console. The page asks again while it is open. */
export function registerConsoleHistory(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'GET',
    url: '/ops/data/history',
    config: { facts: { summary: 'Show past figures in the console', section: 'extension', takes: [], isAsset: true } },
    schema: { querystring: historyQuery },
    onRequest: consoleGuards(parts).watches,
    handler: async (request, reply) =>
      reply.header('cache-control', 'no-store').send(await parts.history(request.operator!, request.query)),
  });
}
