import { workRequest } from '#schemas/console-work';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

/** The lists of the work view share one route: each is read by a person, page by page, with a filter. */
export function registerConsoleWork(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'POST',
    url: '/ops/data/work',
    config: { facts: { summary: 'List work in the console', section: 'extension', takes: [], isAsset: true } },
    schema: { body: workRequest },
    onRequest: consoleGuards(parts).looks,
    handler: async (request, reply) =>
      reply.header('cache-control', 'no-store').send(await parts.work(request.operator!, request.body)),
  });
}
