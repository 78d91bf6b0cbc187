import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { browserModules } from '../../http/browser-modules.ts';
import { pageHeaders } from '../../http/page-headers.ts';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { registerConsoleAccount } from './console-account.ts';
import { registerConsoleActs } from './console-acts.ts';
import { registerConsoleCells } from './console-cells.ts';
import type { ConsoleParts } from './console-guard.ts';
import { registerConsoleHistory } from './console-history.ts';
import { registerConsoleRefunds } from './console-refunds.ts';
import { registerConsoleSession } from './console-session.ts';
import { registerConsoleSignIn } from './console-sign-in.ts';
import { registerConsoleSpecs } from './console-specs.ts';
import { registerConsoleStream } from './console-stream.ts';
import { registerConsoleTransactions } from './console-transactions.ts';
import { registerConsoleWork } from './console-work.ts';

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
  'form-id.js': [OWN, SCRIPT],
  'history.js': [OWN, SCRIPT],
  'list-filter.js': [OWN, SCRIPT],
  'list-row.js': [OWN, SCRIPT],
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
  ...WORK,
];

/** The codecs, which the page runs in the browser: what a person pastes there must not leave it. */
const CODEC = browserModules('codecs/iso8583/message-tool.ts', {
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
}
