import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorsPage } from '../docs/errors-page.ts';
import type { ApiDocument } from '../openapi/document.ts';
import { type LiveExamples, withLiveExamples } from '../openapi/live-examples.ts';
import { pageHeaders } from '../page-headers.ts';
import type { Server } from '../server.ts';

export interface DocsRoutesOptions {
  readonly document: () => ApiDocument;
  /** Values that make the examples of a local demo work. They are given only to callers on the same machine. */
  readonly examples?: (() => Promise<LiveExamples>) | undefined;
}

const OWN = new URL('../docs/', import.meta.url);
const SWAGGER_UI = new URL('./', import.meta.resolve('swagger-ui-dist/package.json'));

/** All files of the page. */
const FILES: Readonly<Record<string, readonly [folder: URL, type: string]>> = {
  'reference.css': [OWN, 'text/css; charset=utf-8'],
  'reference.js': [OWN, 'text/javascript; charset=utf-8'],
  'swagger-ui.css': [SWAGGER_UI, 'text/css; charset=utf-8'],
  'swagger-ui-bundle.js': [SWAGGER_UI, 'text/javascript; charset=utf-8'],
  'favicon-32x32.png': [SWAGGER_UI, 'image/png'],
};
/** The files change only with a release. */
const CACHE = 'public, max-age=3600';
const HTML = 'text/html; charset=utf-8';

/** Swagger UI has icons in its style sheet. */
const HEADERS = pageHeaders({ 'img-src': "'self' data:" });

/** The page calls the server that served it, under any host name. */
const HERE = [{ url: '/' }];

/** The page of another site whose host name resolves to this machine would send that name. */
const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);
/** A remote client can send any host name, so the peer address is checked too. */
const LOOPBACK_PEER = /^(::ffff:)?127\.|^::1$/;
/** A client on this machine may be a proxy whose caller is remote. */
const PROXY_HEADERS = ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via'];

function isOnThisMachine({ hostname, socket, headers }: FastifyRequest): boolean {
  const isProxied = PROXY_HEADERS.some((name) => name in headers);
  return !isProxied && LOOPBACK_NAMES.has(hostname) && LOOPBACK_PEER.test(socket.remoteAddress ?? '');
}

/**
 * `/docs`: the API reference for people, and `/docs/errors`: every code. All files are served from here, so it works
 * offline.
 */
export function registerDocsRoutes(server: Server, { document, examples }: DocsRoutesOptions): void {
  const html = (summary: string, description: string, name?: string) => ({
    config: {
      facts: {
        summary,
        description,
        section: 'extension',
        takes: [],
        mediaType: 'text/html',
        ...(name !== undefined && { name }),
      } as const,
    },
  });
  server.get(
    '/docs',
    html('Get the API reference', 'Returns the API reference as a web page.', 'readApiReference'),
    async (_request, reply) => page(reply).send(await readFile(new URL('reference.html', OWN))),
  );
  server.get(
    '/docs/errors',
    html(
      'Get the list of codes',
      'Returns a web page with every error code and value and its meaning.',
      'readWhatCodesMean',
    ),
    async (_request, reply) => page(reply).send(errorsPage()),
  );

  const description = {
    config: { facts: { summary: 'Get the description for the page', section: 'extension', takes: [], isAsset: true } },
  } as const;
  server.get('/docs/openapi.json', description, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return examples !== undefined && isOnThisMachine(request)
      ? withLiveExamples(document(), await examples())
      : { ...document(), servers: HERE };
  });

  for (const [name, [folder, type]] of Object.entries(FILES)) {
    const facts = { summary: `Get ${name}`, section: 'extension', takes: [], isAsset: true } as const;
    server.get(`/docs/${name}`, { config: { facts } }, async (_request, reply) =>
      reply
        .header('cache-control', CACHE)
        .type(type)
        .send(await readFile(new URL(name, folder))),
    );
  }
}

function page(reply: FastifyReply): FastifyReply {
  return reply.type(HTML).headers(HEADERS);
}
