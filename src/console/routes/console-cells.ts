import { AuthError } from '../../basics/errors.ts';
import type { Server } from '../../http/server.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

/** The cells of the operator: only for operators of the installation, because faults name its databases. */
export function registerConsoleCells(server: Server, parts: ConsoleParts): void {
  const facts = { summary: 'Show the cells in the console', section: 'extension', takes: [], isAsset: true } as const;
  server.get(
    '/ops/data/cells',
    { config: { facts }, onRequest: consoleGuards(parts).follows },
    async (request, reply) => {
      const { acquirerId, mayAct } = request.operator!;
      if (acquirerId !== undefined || !mayAct) throw new AuthError('FORBIDDEN', 'owner');
      reply.header('cache-control', 'no-store');
      return parts.readCells();
    },
  );
}
