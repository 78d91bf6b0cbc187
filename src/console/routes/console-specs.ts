import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

/** The specs with which the page encodes and decodes messages. They can be those of an acquirer's own processor types. */
export function registerConsoleSpecs(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'GET',
    url: '/ops/data/specs',
    config: { facts: { summary: 'List specs in the console', section: 'extension', takes: [], isAsset: true } },
    onRequest: consoleGuards(parts).looks,
    handler: async (_request, reply) => reply.header('cache-control', 'no-store').send(parts.specs),
  });
}
