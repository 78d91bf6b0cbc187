import { consoleAct } from '#schemas/console';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

/** The actions of operators share one route, because each is recorded, confirmed and guarded in the same way. */
export function registerConsoleActs(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'POST',
    url: '/ops/acts',
    config: { facts: { summary: 'Run a console action', section: 'extension', takes: [], isAsset: true } },
    schema: { body: consoleAct },
    onRequest: consoleGuards(parts).acts,
    handler: async (request, reply) => {
      await parts.acts.do(request.operator!, request.body);
      return reply.code(204).send();
    },
  });
}
