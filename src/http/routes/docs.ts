import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFound } from '../../errors.ts';
import { errorsPage } from '../docs/errors-page.ts';
import { operationPage } from '../docs/operation-page.ts';
import { overviewPage, schemaPage } from '../docs/other-pages.ts';
import { type PageContent, pageOf } from '../docs/page-layout.ts';
import { postmanCollection } from '../docs/postman-collection.ts';
import { Reference } from '../docs/reference.ts';
import { searchIndex } from '../docs/search-index.ts';
import { isKnown } from '../entity-tag.ts';
import { withoutTypes } from '../module-without-types.ts';
import type { ApiDocument } from '../openapi/document.ts';
import { type LiveExamples, withLiveExamples } from '../openapi/live-examples.ts';
import { pageHeaders } from '../page-headers.ts';
import type { RouteFacts } from '../route-facts.ts';
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
    const content = text();
    server.get(`/docs/${name}`, { config: { facts: { ...PART, summary: `Get ${name}` } } }, async (request, reply) =>
      sendFile(request, reply.type(type), content),
    );
  }
}

/** Arranges the document for the caller: with live examples on this machine, else once for everyone. */
function referenceOf({ document, examples }: DocsRoutesOptions): (request: FastifyRequest) => Promise<Reference> {
  let shared: Reference | undefined;
  return async (request) => {
    if (examples === undefined || !isOnThisMachine(request)) {
      shared ??= new Reference(document());
      return shared;
    }
    const origin = `${request.protocol}://${request.host}`;
    return new Reference(withLiveExamples(document(), await examples()), origin);
  };
}

function registerPages(server: Server, referenceFor: (request: FastifyRequest) => Promise<Reference>): void {
  const page = (
    url: string,
    facts: Pick<RouteFacts, 'summary' | 'description' | 'name' | 'isAsset'>,
    contentOf: (reference: Reference, key: string) => PageContent | undefined,
  ) => {
    const config = { facts: { section: 'extension', takes: [], mediaType: 'text/html', ...facts } } as const;
    server.get<{ Params: { key?: string } }>(url, { config }, async (request, reply) => {
      const reference = await referenceFor(request);
      const content = contentOf(reference, request.params.key ?? '');
      if (content === undefined) throw new NotFound();
      // Not stored by caches: a page may contain the credentials of a demo.
      return reply.type(HTML).headers(HEADERS).send(pageOf(reference, content));
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
  referenceFor: (request: FastifyRequest) => Promise<Reference>,
): void {
  const description = { config: { facts: { ...PART, summary: 'Get the description for the page' } } };
  server.get('/docs/openapi.json', description, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return examples !== undefined && isOnThisMachine(request)
      ? withLiveExamples(document(), await examples())
      : { ...document(), servers: HERE };
  });

  const collection = { config: { facts: { ...PART, summary: 'Get the operations as a Postman collection' } } };
  server.get('/docs/postman.json', collection, async (request, reply) => {
    reply.header('content-disposition', 'attachment; filename="tapwire.postman_collection.json"');
    return postmanCollection(await referenceFor(request));
  });

  let index: string | undefined;
  const search = { config: { facts: { ...PART, summary: 'Get the search index of the reference' } } };
  server.get('/docs/search.json', search, async (request, reply) => {
    index ??= JSON.stringify(searchIndex(new Reference(document())));
    return sendFile(request, reply.type('application/json; charset=utf-8'), index);
  });
}

/** Browsers revalidate each file, so that all parts are of one release. */
function sendFile(request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply {
  const tag = `"${hash('sha256', text, 'base64url')}"`;
  reply.header('cache-control', 'private, no-cache').header('etag', tag).header('x-content-type-options', 'nosniff');
  return isKnown(request.headers['if-none-match'], tag) ? reply.code(304).send() : reply.send(text);
}
