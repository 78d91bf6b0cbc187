import { Readable } from 'node:stream';
import { consoleAct, consoleRefund, merchantSuggestions } from '#schemas/console';
import {
  consoleTransactionId,
  transactionChangesRequest,
  transactionCountRequest,
  transactionListRequest,
} from '#schemas/console-transactions';
import { CSRF_HEADER, checkToken } from '../../auth/portal/portal-session.ts';
import { NotFound } from '../../basics/errors.ts';
import { recordWhenFlushed } from '../../http/respond-to-phone.ts';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type DispositionId, dispositionName } from '../../payments/model/disposition.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

const facts = (summary: string) => ({ summary, section: 'extension', takes: [], isAsset: true }) as const;
/** How many rows the file will have, if no transaction is added meanwhile. */
const EXPORTED_ROWS = 'x-rows';
const NOT_STORED = { 'cache-control': 'no-store' };

/**
 * The data of the console's list of transactions and of one transaction. Filters are in the body: a search term may be a
 * card number, which must not be in a URL.
 */
export function registerConsoleTransactions(server: Server, parts: ConsoleParts): void {
  const { transactions } = parts;
  const { forReading, forFollowing } = consoleGuards(parts);
  const routes = withZod(server);

  routes.route({
    method: 'POST',
    url: '/ops/data/transactions',
    config: { facts: facts('List transactions in the console') },
    schema: { body: transactionListRequest },
    onRequest: forReading,
    handler: async (request, reply) => {
      const { filter, after, rows } = request.body;
      return reply.headers(NOT_STORED).send(await transactions.page(request.operator!, filter, after, rows));
    },
  });

  routes.route({
    method: 'POST',
    url: '/ops/data/transactions/count',
    config: { facts: facts('Count transactions in the console') },
    schema: { body: transactionCountRequest },
    onRequest: forFollowing,
    handler: async (request, reply) =>
      reply.headers(NOT_STORED).send({ total: await transactions.count(request.operator!, request.body.filter) }),
  });

  routes.route({
    method: 'POST',
    url: '/ops/data/transactions/changes',
    config: { facts: facts('Get changes of listed transactions') },
    schema: { body: transactionChangesRequest },
    onRequest: forFollowing,
    handler: async (request, reply) => {
      const { filter, newest, shown } = request.body;
      return reply.headers(NOT_STORED).send(await transactions.changes(request.operator!, filter, newest, shown));
    },
  });

  routes.route({
    method: 'POST',
    url: '/ops/data/transactions/export',
    config: { facts: { ...facts('Export transactions from the console'), isEndless: true } },
    schema: { body: transactionCountRequest },
    onRequest: forReading,
    handler: async (request, reply) => {
      checkToken(request.operator!, request.headers[CSRF_HEADER]);
      const { rows, lines } = await transactions.export(request.operator!, request.body.filter);
      reply
        .headers(NOT_STORED)
        .header(EXPORTED_ROWS, rows)
        .header('content-disposition', 'attachment; filename="transactions.csv"');
      // A file that breaks off ends with an error and not as if it were complete.
      return reply.type('text/csv; charset=utf-8').send(Readable.from(lines));
    },
  });

  registerOne(server, parts);
}

function registerOne(server: Server, parts: ConsoleParts): void {
  const { forReading, forFollowing } = consoleGuards(parts);
  const routes = withZod(server);
  const show = async (acquirerId: number | undefined, id: string) => {
    const story = await parts.tell(acquirerId, id);
    if (!story) throw new NotFound();
    return story;
  };

  routes.route({
    method: 'GET',
    url: '/ops/data/transactions/:id',
    config: { facts: facts('Show a transaction in the console') },
    schema: { params: consoleTransactionId },
    onRequest: forReading,
    handler: async (request, reply) =>
      reply.headers(NOT_STORED).send(await show(request.operator!.acquirerId, request.params.id)),
  });

  routes.route({
    method: 'GET',
    url: '/ops/data/transactions/:id/present',
    config: { facts: facts('Follow a transaction in the console') },
    schema: { params: consoleTransactionId },
    onRequest: forFollowing,
    handler: async (request, reply) =>
      reply.headers(NOT_STORED).send(await show(request.operator!.acquirerId, request.params.id)),
  });

  server.get(
    '/ops/data/names',
    { config: { facts: facts('List names for the console') }, onRequest: consoleGuards(parts).forPolling },
    async (request, reply) => reply.headers(NOT_STORED).send(await parts.names(request.operator!.acquirerId)),
  );

  routes.route({
    method: 'POST',
    url: '/ops/data/merchants',
    config: { facts: facts('Suggest merchants in the console') },
    schema: { body: merchantSuggestions },
    onRequest: forReading,
    handler: async (request, reply) =>
      reply.headers(NOT_STORED).send(await parts.suggestMerchants(request.operator!.acquirerId, request.body.text)),
  });
}

/** The actions of operators share one route, because each is recorded, confirmed and guarded in the same way. */
export function registerConsoleActs(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'POST',
    url: '/ops/acts',
    config: { facts: { summary: 'Run a console action', section: 'extension', takes: [], isAsset: true } },
    schema: { body: consoleAct },
    onRequest: consoleGuards(parts).forActing,
    handler: async (request, reply) => {
      await parts.acts.do(request.operator!, request.body);
      return reply.code(204).send();
    },
  });
}

/** A refund has a route of its own, because its response has the time and the limits of a request that waits for a switch. */
export function registerConsoleRefunds(server: Server, parts: ConsoleParts): void {
  const facts = {
    summary: 'Refund a sale in the console',
    section: 'extension',
    takes: [],
    isAsset: true,
    waitsForSwitch: true,
  } as const;
  withZod(server).route({
    method: 'POST',
    url: '/ops/refunds',
    config: { facts },
    schema: { body: consoleRefund },
    onRequest: consoleGuards(parts).forActing,
    handler: async (request, reply) => {
      const refunded = await parts.acts.refundSale(request.operator!, request.body, request.correlationId);
      recordWhenFlushed(parts.outcomes, refunded, reply);
      const { id, disposition } = refunded;
      return reply
        .header('cache-control', 'no-store')
        .send({ id, disposition: dispositionName(disposition as DispositionId) });
    },
  });
}
