import { isUtf8 } from 'node:buffer';
import type { FastifyBodyParser, FastifyInstance } from 'fastify';
import { HttpError } from './http-error.ts';

/** The deepest body of the interface, a terminal profile's overrides, has seven levels. */
const MAX_JSON_DEPTH = 16;

/**
 * Bodies are JSON, and not deep: what works on one level after another, here or behind us, meets no stack's end. Refuses
 * `__proto__` and `constructor.prototype` as fastify's own parser does.
 */
export function parseJsonBodies(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error') as FastifyBodyParser<string>;
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    // JSON is UTF-8 (RFC 8259 8.1). Decoded leniently, two different references could become the same one.
    if (!isUtf8(bytes)) return done(new HttpError(400, 103, 'The body must be encoded in UTF-8.'));
    const text = bytes.toString();
    if (isTooDeep(text))
      done(new HttpError(400, 104, `The body must not be nested deeper than ${MAX_JSON_DEPTH} levels.`));
    else parse(request, text, done);
  });
}

/** Also of what is no JSON: the parser will say so. */
function isTooDeep(text: string): boolean {
  // Nearly every body has few brackets at all, and a search for them costs less than a walk.
  if (countOf(text, '{') + countOf(text, '[') <= MAX_JSON_DEPTH) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isText) {
      if (char === '\\') at++;
      else if (char === '"') isText = false;
    } else if (char === '"') isText = true;
    else if (char === '{' || char === '[') {
      if (++depth > MAX_JSON_DEPTH) return true;
    } else if (char === '}' || char === ']') depth--;
  }
  return false;
}

/** How often, but no further than it matters. */
function countOf(text: string, char: string): number {
  let count = 0;
  for (let at = text.indexOf(char); at !== -1 && count <= MAX_JSON_DEPTH; at = text.indexOf(char, at + 1)) count++;
  return count;
}
