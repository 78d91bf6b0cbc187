import { consoleSearch, consoleTransaction } from '#schemas/console';
import { NotFound } from '../../errors.ts';
import { readWanted } from '../../ops/console/read-wanted.ts';
import { foundLine } from '../../ops/console/transaction-story.ts';
import { MOST_FOUND } from '../../store/console/console-search.ts';
import type { Server } from '../server.ts';
import { withZod } from '../with-zod.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

const HOUR_MS = 3_600_000;

/** Finds a transaction by any known detail, and shows all data of one transaction. */
export function registerConsoleSearch(server: Server, parts: ConsoleParts): void {
  const { looks } = consoleGuards(parts);
  const facts = (summary: string) => ({ facts: { summary, section: 'extension', takes: [], isAsset: true } }) as const;

  withZod(server).route({
    method: 'POST',
    url: '/ops/search',
    config: facts('Search transactions in the console'),
    schema: { body: consoleSearch },
    onRequest: looks,
    handler: async (request, reply) => {
      const { query, hours } = request.body;
      const since = new Date(Date.now() - hours * HOUR_MS);
      const found = new Map<string, ReturnType<typeof foundLine>>();
      const by: string[] = [];
      for (const wanted of readWanted(query, parts.panHashes)) {
        const rows = await parts.search(request.operator!.acquirerId, wanted, since);
        if (rows.length > 0) by.push(wanted.by);
        for (const row of rows) found.set(`${row.acquirerId} ${row.id}`, foundLine(row as never));
      }
      reply.header('cache-control', 'no-store');
      return { by, found: [...found.values()].slice(0, MOST_FOUND) };
    },
  });

  withZod(server).route({
    method: 'GET',
    url: '/ops/transactions/:acquirerId/:id',
    config: facts('Show a transaction in the console'),
    schema: { params: consoleTransaction },
    onRequest: looks,
    handler: async (request, reply) => {
      const { acquirerId: own } = request.operator!;
      const { acquirerId, id } = request.params;
      const story = own === undefined || own === acquirerId ? await parts.tell({ acquirerId, id }) : undefined;
      if (!story) throw new NotFound();
      reply.header('cache-control', 'no-store');
      return story;
    },
  });
}
