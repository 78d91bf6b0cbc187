import { readFileSync } from 'node:fs';
import type { FastifyReply } from 'fastify';
import type { Server } from '../server.ts';
import { registerConsoleActs } from './console-acts.ts';
import type { ConsoleParts } from './console-guard.ts';
import { registerConsoleSearch } from './console-search.ts';
import { registerConsoleSession } from './console-session.ts';
import { registerConsoleStream } from './console-stream.ts';

const OWN = new URL('../../ops/console/page/', import.meta.url);
const UPLOT = new URL('./dist/', import.meta.resolve('uplot/package.json'));
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/** All that the page consists of. */
const FILES: Readonly<Record<string, readonly [folder: URL, type: string]>> = {
  'console.css': [OWN, STYLE],
  'console.js': [OWN, SCRIPT],
  'acts.js': [OWN, SCRIPT],
  'ask.js': [OWN, SCRIPT],
  'charts.js': [OWN, SCRIPT],
  'dom.js': [OWN, SCRIPT],
  'live.js': [OWN, SCRIPT],
  'message.js': [OWN, SCRIPT],
  'panel.js': [OWN, SCRIPT],
  'search.js': [OWN, SCRIPT],
  'transaction.js': [OWN, SCRIPT],
  'icon.svg': [OWN, 'image/svg+xml'],
  'uPlot.esm.js': [UPLOT, SCRIPT],
  'uPlot.min.css': [UPLOT, STYLE],
};

/** Nothing comes from elsewhere, nothing goes elsewhere, nothing stands in the page itself, and no page has it in a frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `/ops`: what operators look at, and what it asks for. The page itself holds nothing and is for everyone; all else needs a session. */
export function registerConsoleRoutes(server: Server, parts: ConsoleParts): void {
  const facts = (summary: string) =>
    ({ config: { facts: { summary, section: 'extension', takes: [], isAsset: true } } }) as const;
  const page = readFileSync(new URL('console.html', OWN));
  server.get('/ops', facts('Open the console'), async (_request, reply) =>
    guarded(reply).header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(page),
  );
  for (const [name, [folder, type]] of Object.entries(FILES)) {
    const content = readFileSync(new URL(name, folder));
    server.get(`/ops/${name}`, facts(`Get ${name}`), async (_request, reply) =>
      guarded(reply).header('cache-control', 'no-cache').type(type).send(content),
    );
  }
  registerConsoleSession(server, parts);
  registerConsoleSearch(server, parts);
  registerConsoleStream(server, parts);
  registerConsoleActs(server, parts);
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-security-policy', CONTENT_SECURITY_POLICY)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin');
}
