import { readFileSync } from 'node:fs';
import type { FastifyRequest } from 'fastify';
import { NotFound } from '../../basics/errors.ts';
import { errorsPage } from '../docs/errors-page.ts';
import { operationPage } from '../docs/operation-page.ts';
import { overviewPage, schemaPage } from '../docs/other-pages.ts';
import { type PageContent, pageOf } from '../docs/page-layout.ts';
import { postmanCollection } from '../docs/postman-collection.ts';
import { Reference } from '../docs/reference.ts';
import { searchIndex } from '../docs/search-index.ts';
import { withoutTypes } from '../module-without-types.ts';
import type { ApiDocument } from '../openapi/document.ts';
import { type LiveExamples, withLiveExamples } from '../openapi/live-examples.ts';
import { pageHeaders } from '../page-headers.ts';
import type { RouteFacts } from '../route-facts.ts';
import { type ServedFile, sendFile, servedFile } from '../served-file.ts';
import type { Server } from '../server.ts';

export interface DocsRoutesOptions {
  readonly document: () => ApiDocument;
  /** Values that make the examples of a local demo work. They are given only to callers on the same machine. */
  readonly examples?: (() => Promise<LiveExamples>) | undefined;
}

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

/** No text can become markup in the browser. */
const HEADERS = pageHeaders({ 'require-trusted-types-for': "'script'", 'trusted-types': "'none'" });

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

const PART = { section: 'extension', takes: [], isAsset: true } as const;

/**
 * `/docs`: the API reference for people, made from the API document, and `/docs/errors`: every code. All files are
 * served from here, so it works offline.
 */
export function registerDocsRoutes(server: Server, options: DocsRoutesOptions): void {
  const referenceFor = referenceOf(options);
  registerPages(server, referenceFor);
  registerData(server, options, referenceFor);
  for (const [name, [type, text]] of Object.entries(FILES)) {
    const file = servedFile(text(), type);
    server.get(`/docs/${name}`, { config: { facts: { ...PART, summary: `Get ${name}` } } }, async (request, reply) =>
      sendFile(request, reply, file),
    );
  }
}

/** The reference as one caller sees it. */
interface SeenReference {
  readonly reference: Reference;
  /** The same for everyone, so what is made of it can be kept. */
  readonly isShared: boolean;
}

/** Arranges the document for the caller: with live examples on this machine, else once for everyone. */
function referenceOf({ document, examples }: DocsRoutesOptions): (request: FastifyRequest) => Promise<SeenReference> {
  let shared: Reference | undefined;
  return async (request) => {
    if (examples === undefined || !isOnThisMachine(request)) {
      shared ??= new Reference(document());
      return { reference: shared, isShared: true };
    }
    const origin = `${request.protocol}://${request.host}`;
    return { reference: new Reference(withLiveExamples(document(), await examples()), origin), isShared: false };
  };
}

function registerPages(server: Server, referenceFor: (request: FastifyRequest) => Promise<SeenReference>): void {
  // As many as there are operations and schemas.
  const pages = new Map<string, ServedFile>();
  const page = (
    url: string,
    facts: Pick<RouteFacts, 'summary' | 'description' | 'name' | 'isAsset'>,
    contentOf: (reference: Reference, key: string) => PageContent | undefined,
  ) => {
    const config = {
      facts: { section: 'extension', takes: [], mediaType: 'text/html', hasEntityTag: true, ...facts },
    } as const;
    server.get<{ Params: { key?: string } }>(url, { config }, async (request, reply) => {
      const { reference, isShared } = await referenceFor(request);
      const key = request.params.key ?? '';
      const kept = isShared ? pages.get(`${url} ${key}`) : undefined;
      reply.headers(HEADERS);
      if (kept) return sendFile(request, reply, kept);
      const content = contentOf(reference, key);
      if (content === undefined) throw new NotFound();
      const text = pageOf(reference, content);
      // Not stored by caches: the page may contain the credentials of a demo.
      if (!isShared) return reply.type(HTML).send(text);
      const file = servedFile(text, HTML);
      pages.set(`${url} ${key}`, file);
      return sendFile(request, reply, file);
    });
  };
  page(
    '/docs',
    {
      summary: 'Get the API reference',
      description: 'Returns the first page of the API reference. It links to a page for each operation and schema.',
      name: 'readApiReference',
    },
    overviewPage,
  );
  page(
    '/docs/errors',
    {
      summary: 'Get the list of codes',
      description: 'Returns a web page with every error code and value and its meaning.',
      name: 'readWhatCodesMean',
    },
    errorsPage,
  );
  page('/docs/operations/:key', { summary: 'Get the page of an operation', isAsset: true }, (reference, id) => {
    const operation = reference.operation(id);
    return operation && operationPage(reference, operation);
  });
  page(
    '/docs/schemas/:key',
    { summary: 'Get the page of a schema', isAsset: true },
    (reference, name) => reference.schema(name) && schemaPage(reference, name),
  );
}

function registerData(
  server: Server,
  { document, examples }: DocsRoutesOptions,
  referenceFor: (request: FastifyRequest) => Promise<SeenReference>,
): void {
  let description: ServedFile | undefined;
  const describe = { config: { facts: { ...PART, summary: 'Get the description for the page' } } };
  server.get('/docs/openapi.json', describe, async (request, reply) => {
    if (examples !== undefined && isOnThisMachine(request)) {
      reply.header('cache-control', 'no-store');
      return withLiveExamples(document(), await examples());
    }
    description ??= servedFile(JSON.stringify({ ...document(), servers: HERE }), JSON_TYPE);
    return sendFile(request, reply, description);
  });

  let collection: ServedFile | undefined;
  const collect = { config: { facts: { ...PART, summary: 'Get the operations as a Postman collection' } } };
  server.get('/docs/postman.json', collect, async (request, reply) => {
    reply.header('content-disposition', 'attachment; filename="tapwire.postman_collection.json"');
    const { reference, isShared } = await referenceFor(request);
    if (!isShared) return postmanCollection(reference);
    collection ??= servedFile(JSON.stringify(postmanCollection(reference)), JSON_TYPE);
    return sendFile(request, reply, collection);
  });

  let index: ServedFile | undefined;
  const search = { config: { facts: { ...PART, summary: 'Get the search index of the reference' } } };
  server.get('/docs/search.json', search, async (request, reply) => {
    index ??= servedFile(JSON.stringify(searchIndex(new Reference(document()))), JSON_TYPE);
    return sendFile(request, reply, index);
  });
}
