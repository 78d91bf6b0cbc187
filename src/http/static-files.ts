import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Sends `response` with its entity tag, or 304 if the caller already has this version (RFC 9110 13.1.2). The tag is
 * computed from the content, so it is the same in every process.
 */
export function sendUnlessKnown(request: FastifyRequest, reply: FastifyReply, response: object): FastifyReply {
  const tag = `"${hash('sha256', JSON.stringify(response), 'base64url')}"`;
  // Caches may keep the response, and must revalidate it for each use.
  reply.header('etag', tag).header('cache-control', 'private, no-cache');
  return isKnown(request.headers['if-none-match'], tag) ? reply.code(304).send() : reply.send(response);
}

/** Weak comparison: a proxy that compresses makes the tag weak, and the content is still the same. */
function isKnown(header: string | undefined, tag: string): boolean {
  return header?.split(',').some((given) => ['*', tag].includes(given.trim().replace(/^W\//, ''))) ?? false;
}

/** A public file, with its entity tag. It is made once and kept. */
export interface ServedFile {
  /** Sent as it is: Node copies a text for each client, and keeps the copy until a slow client has read it. */
  readonly body: Buffer;
  readonly type: string;
  readonly entityTag: string;
}

/** @param type media type, with its charset */
export function servedFile(text: string, type: string): ServedFile {
  return { body: Buffer.from(text), type, entityTag: `"${hash('sha256', text, 'base64url')}"` };
}

/** Browsers revalidate each file, so that all parts of a page are of one release. */
export function sendFile(request: FastifyRequest, reply: FastifyReply, file: ServedFile): FastifyReply {
  reply.header('cache-control', 'no-cache').header('etag', file.entityTag).header('x-content-type-options', 'nosniff');
  const isSame = reply.statusCode === 200 && isKnown(request.headers['if-none-match'], file.entityTag);
  return isSame ? reply.code(304).send() : reply.type(file.type).send(file.body);
}

/**
 * The page loads nothing from other origins, sends nothing to them, contains no inline code, and cannot be framed.
 */
const POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/** Headers of every HTML page. `directives` extends or narrows the policy for one page. */
export function pageHeaders(directives: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const policy = Object.entries({ ...POLICY, ...directives }).map(([name, sources]) => `${name} ${sources}`);
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}

/** Reads a TypeScript module for browsers. Stripping replaces types by spaces; this removes the spaces. */
export function withoutTypes(module: URL): string {
  const source = readFileSync(module, 'utf8');
  const { emitWarning } = process;
  // Node's warning that the function is experimental does not help an operator: the whole gateway runs on the same
  // type stripping.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source)
      .replace(/[ \t]+$/gm, '')
      .replace(/\n{3,}/g, '\n\n');
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The folder whose modules are served under their own paths, so that their relative imports work in a browser. */
const SOURCES = new URL('../', import.meta.url);

const IMPORT = /^(?:import|export)\s(?!type\b)[^;]*?from '(\.[^']+)'/gm;

export interface BrowserModule {
  /** Path below `src`. */
  readonly path: string;
  readonly type: string;
  readonly text: () => string;
}

/**
 * A TypeScript module of `src` and all that it imports, for browsers: the same code that runs in the gateway, without its
 * types. Each is converted when a browser first asks for it.
 *
 * @param replaced files that browsers get in place of modules that need Node
 */
export function browserModules(entry: string, replaced: Readonly<Record<string, URL>>): readonly BrowserModule[] {
  const found = new Map<string, BrowserModule>();
  const visit = (path: string) => {
    if (found.has(path)) return;
    found.set(path, moduleOf(path, replaced[path]));
    if (replaced[path] !== undefined || !path.endsWith('.ts')) return;
    const module = new URL(path, SOURCES);
    for (const [, imported] of readFileSync(module, 'utf8').matchAll(IMPORT))
      visit(new URL(imported!, module).href.slice(SOURCES.href.length));
  };
  visit(entry);
  return [...found.values()];
}

function moduleOf(path: string, replacement: URL | undefined): BrowserModule {
  const isData = path.endsWith('.json');
  let text: string | undefined;
  return {
    path,
    type: isData ? 'application/json; charset=utf-8' : 'text/javascript; charset=utf-8',
    text: () => {
      const file = replacement ?? new URL(path, SOURCES);
      text ??= replacement || isData ? readFileSync(file, 'utf8') : withoutTypes(file);
      return text;
    },
  };
}
