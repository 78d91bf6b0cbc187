import { readFileSync } from 'node:fs';
import type { FastifyRequest } from 'fastify';
import { ENUMS } from '#schemas/enums';
import { OPERATIONS } from '#schemas/operations';
import { NotFound } from '../../basics/errors.ts';
import { errorsPage, guidePage, operationPage, overviewPage, schemaPage } from '../docs/pages.ts';
import { postmanCollection } from '../docs/postman-collection.ts';
import { Reference } from '../docs/reference.ts';
import { searchIndex } from '../docs/search-index.ts';
import type { ApiDocument } from '../openapi/document.ts';
import { type LiveExamples, withLiveExamples } from '../openapi/live-examples.ts';
import type { RouteFacts } from '../route-table.ts';
import type { Server } from '../server.ts';
import { pageHeaders, type ServedFile, sendFile, servedFile, withoutTypes } from '../static-files.ts';
import { routeOf } from '../with-zod.ts';

const FOLDER = new URL('../docs/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');
const SCRIPT = 'text/javascript; charset=utf-8';

/** All files of the pages. They change only with a release. */
const FILES: Readonly<Record<string, readonly [type: string, text: () => string]>> = {
  'reference.css': ['text/css; charset=utf-8', () => read('reference.css')],
  'theme.js': [SCRIPT, () => read('theme.js')],
  'reference.js': [SCRIPT, () => read('reference.js')],
  'try-it.js': [SCRIPT, () => read('try-it.js')],
  'code-samples.js': [SCRIPT, () => withoutTypes(new URL('code-samples.ts', FOLDER))],
  'icon.svg': ['image/svg+xml', () => read('icon.svg')],
};
const HTML = 'text/html; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const ASSET = { section: 'extension', takes: [], isAsset: true } as const;
const PAGE = { section: 'extension', takes: [], mediaType: 'text/html', hasEntityTag: true } as const;

/** No text can become markup in the browser. */
const HEADERS = pageHeaders({ 'require-trusted-types-for': "'script'", 'trusted-types': "'none'" });

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

/** What is made of the reference, for one key of a path such as `:key`. Undefined if the reference does not have it. */
interface Rendered {
  readonly url: string;
  readonly facts: RouteFacts;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly textOf: (reference: Reference, key: string) => string | undefined;
}

const RENDERED: readonly Rendered[] = [
  {
    ...page('/docs', overviewPage),
    facts: {
      ...PAGE,
      summary: 'Get the API reference',
      description: 'Returns the first page of the API reference. It links to a page for each operation and schema.',
      name: 'readApiReference',
    },
  },
  {
    ...page('/docs/errors', errorsPage),
    facts: {
      ...PAGE,
      summary: 'Get the list of codes',
      description: 'Returns a web page with every error code and value and its meaning.',
      name: 'readWhatCodesMean',
    },
  },
  {
    ...page('/docs/guides/:key', guidePage),
    facts: { ...PAGE, summary: 'Get the page of a guide', isAsset: true },
  },
  {
    ...page('/docs/operations/:key', operationPage),
    facts: { ...PAGE, summary: 'Get the page of an operation', isAsset: true },
  },
  {
    ...page('/docs/schemas/:key', schemaPage),
    facts: { ...PAGE, summary: 'Get the page of a schema', isAsset: true },
  },
  {
    url: '/docs/openapi.json',
    facts: { ...ASSET, summary: 'Get the description for the page' },
    type: JSON_TYPE,
    // The page calls the server that served it, under any host name.
    textOf: ({ document }) => JSON.stringify({ ...document, servers: [{ url: '/' }] }),
  },
  {
    url: '/docs/postman.json',
    facts: { ...ASSET, summary: 'Get the operations as a Postman collection' },
    type: JSON_TYPE,
    headers: { 'content-disposition': 'attachment; filename="tapwire.postman_collection.json"' },
    textOf: (reference) => JSON.stringify(postmanCollection(reference)),
  },
  {
    url: '/docs/search.json',
    facts: { ...ASSET, summary: 'Get the search index of the reference' },
    type: JSON_TYPE,
    textOf: (reference) => JSON.stringify(searchIndex(reference)),
  },
];

function page(url: string, textOf: Rendered['textOf']) {
  return { url, type: HTML, headers: HEADERS, textOf };
}

/**
 * `/docs`: the API reference for people, made from the API document, and `/docs/errors`: every code. All files are
 * served from here, so it works offline.
 */
export function registerDocsRoutes(
  server: Server,
  {
    document,
    examples,
  }: {
    readonly document: () => ApiDocument;
    /** Values that make the examples of a local demo work. They are given only to callers on the same machine. */
    readonly examples?: (() => Promise<LiveExamples>) | undefined;
  },
): void {
  let shared: Reference | undefined;
  // What everyone but a reader on this machine gets: as many as there are operations and schemas.
  const kept = new Map<string, ServedFile>();
  for (const { url, facts, type, headers = {}, textOf } of RENDERED) {
    const render = (reference: Reference, key: string) => {
      const text = textOf(reference, key);
      if (text === undefined) throw new NotFound();
      return text;
    };
    server.get<{ Params: { key?: string } }>(url, { config: { facts } }, async (request, reply) => {
      const { key = '' } = request.params;
      reply.headers(headers);
      if (examples !== undefined && isOnThisMachine(request)) {
        const origin = `${request.protocol}://${request.host}`;
        const live = new Reference(withLiveExamples(document(), await examples()), origin);
        // Not stored by caches: it contains the credentials of a demo.
        return reply.type(type).send(render(live, key));
      }
      shared ??= new Reference(document());
      const name = `${url} ${key}`;
      const file = kept.get(name) ?? servedFile(render(shared, key), type);
      kept.set(name, file);
      return sendFile(request, reply, file);
    });
  }
  for (const [name, [type, text]] of Object.entries(FILES)) {
    const file = servedFile(text(), type);
    server.get(`/docs/${name}`, { config: { facts: { ...ASSET, summary: `Get ${name}` } } }, async (request, reply) =>
      sendFile(request, reply, file),
    );
  }
}

/** `/openapi.json`: the description of every route of this server (OpenAPI 3.1). */
export function registerOpenApiRoute(server: Server, document: () => ApiDocument): void {
  let file: ServedFile | undefined;
  server.route({
    method: 'GET',
    url: '/openapi.json',
    config: {
      facts: {
        summary: 'Get the API description',
        description: 'Returns this document (OpenAPI 3.1).',
        section: 'extension',
        takes: [],
        hasEntityTag: true,
      },
    },
    handler: async (request, reply) => {
      file ??= servedFile(JSON.stringify(document()), 'application/json; charset=utf-8');
      return sendFile(request, reply, file);
    },
  });
}

/** The values change only with a release. */
const CACHE = 'public, max-age=3600';

/** Every status, disposition, type, state and code with its meaning (extension). */
export function registerEnumsRoute(server: Server): void {
  server.route({
    ...routeOf(OPERATIONS.listEnums, 200),
    config: {
      facts: {
        summary: 'List enums',
        description: 'Lists every status, disposition, type, state and code with its meaning.',
        section: 'extension',
        takes: [],
      },
    },
    handler: async (_request, reply) => {
      reply.header('cache-control', CACHE);
      return ENUMS;
    },
  });
}
