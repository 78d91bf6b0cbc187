import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { auditVerdictQuery, historyQuery } from '#schemas/console';
import { workRequest } from '#schemas/console-work';
import { AuthError } from '../../basics/errors.ts';
import type { Server } from '../../http/server.ts';
import { browserModules, pageHeaders } from '../../http/static-files.ts';
import { withZod } from '../../http/with-zod.ts';
import { OperationDescriptions } from '../describe-operations.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';
import { registerConsoleAccount, registerConsoleSession, registerConsoleSignIn } from './console-session.ts';
import { registerConsoleStream } from './console-stream.ts';
import { registerConsoleActs, registerConsoleRefunds, registerConsoleTransactions } from './console-transactions.ts';

/** The cells of the operator: only for operators of the installation, because faults name its databases. */
function registerConsoleCells(server: Server, parts: ConsoleParts): void {
  const facts = { summary: 'Show the cells in the console', section: 'extension', takes: [], isAsset: true } as const;
  server.get(
    '/ops/data/cells',
    { config: { facts }, onRequest: consoleGuards(parts).forFollowing },
    async (request, reply) => {
      const { acquirerId, mayAct } = request.operator!;
      if (acquirerId !== undefined || !mayAct) throw new AuthError('FORBIDDEN', 'owner');
      reply.header('cache-control', 'no-store');
      return parts.readCells();
    },
  );
}

/** What the switches did until now, for the charts of the console. The page asks again while it is open. */
function registerConsoleHistory(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'GET',
    url: '/ops/data/history',
    config: { facts: { summary: 'Show past figures in the console', section: 'extension', takes: [], isAsset: true } },
    schema: { querystring: historyQuery },
    onRequest: consoleGuards(parts).forPolling,
    handler: async (request, reply) =>
      reply.header('cache-control', 'no-store').send(await parts.history(request.operator!, request.query)),
  });
}

/** The specs with which the page encodes and decodes messages. They can be those of an acquirer's own processor types. */
function registerConsoleSpecs(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'GET',
    url: '/ops/data/specs',
    config: { facts: { summary: 'List specs in the console', section: 'extension', takes: [], isAsset: true } },
    onRequest: consoleGuards(parts).forReading,
    handler: async (_request, reply) => reply.header('cache-control', 'no-store').send(parts.specs),
  });
}

/** What the person may administer. The page then uses the operations of the admin API, with the session as credential. */
function registerConsoleOperations(server: Server, parts: ConsoleParts): void {
  const descriptions = new OperationDescriptions(server.routeTable, parts.dependentSchemas);
  server.get(
    '/ops/data/operations',
    {
      config: { facts: { summary: 'List operations in the console', section: 'extension', takes: [], isAsset: true } },
      onRequest: consoleGuards(parts).forReading,
    },
    async (request, reply) => reply.header('cache-control', 'no-store').send(descriptions.for(request.operator!)),
  );
}

/** Whether the admin events are those that were written. */
function registerConsoleAudit(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'GET',
    url: '/ops/data/audit-verdict',
    config: { facts: { summary: 'Verify the audit in the console', section: 'extension', takes: [], isAsset: true } },
    schema: { querystring: auditVerdictQuery },
    onRequest: consoleGuards(parts).forReading,
    handler: async (request, reply) =>
      reply
        .header('cache-control', 'no-store')
        .send(await parts.verifyAudit(request.operator!, request.query.acquirer)),
  });
}

/** The lists of the work view share one route: each is read by a person, page by page, with a filter. */
function registerConsoleWork(server: Server, parts: ConsoleParts): void {
  withZod(server).route({
    method: 'POST',
    url: '/ops/data/work',
    config: { facts: { summary: 'List work in the console', section: 'extension', takes: [], isAsset: true } },
    schema: { body: workRequest },
    onRequest: consoleGuards(parts).forReading,
    handler: async (request, reply) =>
      reply.header('cache-control', 'no-store').send(await parts.work(request.operator!, request.body)),
  });
}

const OWN = new URL('../page/', import.meta.url);
const UPLOT = new URL('./dist/', import.meta.resolve('uplot/package.json'));
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** All files of the page. */
const FILES: Readonly<Record<string, readonly [folder: URL, type: string]>> = {
  'console.css': [OWN, STYLE],
  'console.js': [OWN, SCRIPT],
  'account.js': [OWN, SCRIPT],
  'acts.js': [OWN, SCRIPT],
  'ask.js': [OWN, SCRIPT],
  'backlog.js': [OWN, SCRIPT],
  'cancel-link.js': [OWN, SCRIPT],
  'cells.js': [OWN, SCRIPT],
  'charts.js': [OWN, SCRIPT],
  'codec.js': [OWN, SCRIPT],
  'copy.js': [OWN, SCRIPT],
  'dom.js': [OWN, SCRIPT],
  'export.js': [OWN, SCRIPT],
  'form-id.js': [OWN, SCRIPT],
  'history.js': [OWN, SCRIPT],
  'keys.js': [OWN, SCRIPT],
  'list-filter.js': [OWN, SCRIPT],
  'list-row.js': [OWN, SCRIPT],
  'list-views.js': [OWN, SCRIPT],
  'live.js': [OWN, SCRIPT],
  'may-be-card.js': [OWN, SCRIPT],
  'message.js': [OWN, SCRIPT],
  'names.js': [OWN, SCRIPT],
  'outage.js': [OWN, SCRIPT],
  'outcomes.js': [OWN, SCRIPT],
  'processes.js': [OWN, SCRIPT],
  'refund.js': [OWN, SCRIPT],
  'review.js': [OWN, SCRIPT],
  'router.js': [OWN, SCRIPT],
  'schema-form.js': [OWN, SCRIPT],
  'settings.js': [OWN, SCRIPT],
  'settings-form.js': [OWN, SCRIPT],
  'settings-kinds.js': [OWN, SCRIPT],
  'sign-in.js': [OWN, SCRIPT],
  'switches.js': [OWN, SCRIPT],
  'tiles.js': [OWN, SCRIPT],
  'time.js': [OWN, SCRIPT],
  'transaction.js': [OWN, SCRIPT],
  'transactions.js': [OWN, SCRIPT],
  'troubles.js': [OWN, SCRIPT],
  'work.js': [OWN, SCRIPT],
  'work-lists.js': [OWN, SCRIPT],
  'icon.svg': [OWN, 'image/svg+xml'],
  'uPlot.esm.js': [UPLOT, SCRIPT],
  'uPlot.min.css': [UPLOT, STYLE],
};

/** Addresses of the page. The page itself reads what they show, from the path and the query. */
const WORK = ['webhooks', 'links', 'jobs', 'processors', 'routes', 'users', 'audit'].map((list) => `/ops/work/${list}`);
const ADDRESSES = [
  '/ops',
  '/ops/transactions',
  '/ops/transactions/:id',
  '/ops/history',
  '/ops/cells',
  '/ops/account',
  '/ops/codec',
  '/ops/settings',
  '/ops/settings/:acquirer',
  '/ops/settings/:acquirer/:kind',
  '/ops/settings/:acquirer/:kind/:id',
  ...WORK,
];

/** The codecs, which the page runs in the browser: what a person pastes there must not leave it. */
const CODEC = browserModules('codecs/iso8583/message-inspection.ts', {
  'codecs/bytes/native-text.ts': new URL('native-text.js', OWN),
});

const HEADERS = pageHeaders();

/**
 * `/ops`: the operators' console and its requests. The page contains no data and is public; everything else requires
 * a session.
 */
export function registerConsoleRoutes(server: Server, parts: ConsoleParts): void {
  const facts = (summary: string) =>
    ({ config: { facts: { summary, section: 'extension', takes: [], isAsset: true } } }) as const;
  const page = readFileSync(new URL('console.html', OWN));
  for (const address of ADDRESSES)
    withZod(server).route({
      method: 'GET',
      url: address,
      ...facts(`Open ${address}`),
      schema: { querystring: z.unknown() },
      handler: async (_request, reply) =>
        reply.headers(HEADERS).header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(page),
    });
  for (const [name, [folder, type]] of Object.entries(FILES)) {
    const content = readFileSync(new URL(name, folder));
    server.get(`/ops/${name}`, facts(`Get ${name}`), async (_request, reply) =>
      reply.headers(HEADERS).header('cache-control', 'no-cache').type(type).send(content),
    );
  }
  for (const { path, type, text } of CODEC)
    server.get(`/ops/codec/${path}`, facts(`Get ${path}`), async (_request, reply) =>
      reply.headers(HEADERS).header('cache-control', 'no-cache').type(type).send(text()),
    );
  registerConsoleSpecs(server, parts);
  registerConsoleSession(server, parts);
  registerConsoleSignIn(server, parts);
  registerConsoleTransactions(server, parts);
  registerConsoleAccount(server, parts);
  registerConsoleStream(server, parts);
  registerConsoleActs(server, parts);
  registerConsoleRefunds(server, parts);
  registerConsoleCells(server, parts);
  registerConsoleHistory(server, parts);
  registerConsoleWork(server, parts);
  registerConsoleOperations(server, parts);
  registerConsoleAudit(server, parts);
}
