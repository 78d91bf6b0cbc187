import { isUtf8 } from 'node:buffer';
import type { FastifyBodyParser, FastifyInstance } from 'fastify';
import { HttpError } from './problem.ts';

/** The deepest body of the API, a terminal profile's overrides, has seven levels. */
const MAX_JSON_DEPTH = 16;

/** The detail of 415. */
export const NOT_JSON = 'The body must be application/json, encoded in UTF-8.';

/** Each `charset` parameter of a content type (RFC 9110 8.3.1), its value as a token or quoted. */
const CHARSET = /;\s*charset\s*=\s*([^;]*)/gi;
const UTF_8 = /^(?:utf-8|"utf-8")\s*$/i;

/**
 * Bodies must be JSON with limited depth, so that no recursive code here or in later stages exhausts the stack.
 * Refuses `__proto__` and `constructor.prototype` as fastify's own parser does.
 */
export function parseJsonBodies(server: FastifyInstance): void {
  const parse = server.getDefaultJsonParser('error', 'error') as FastifyBodyParser<string>;
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (isOtherCharset(request.headers['content-type'])) return done(new HttpError(415, 104, NOT_JSON));
    // JSON is UTF-8 (RFC 8259 8.1). Lenient decoding could turn two different references into the same one.
    if (!isUtf8(bytes)) return done(new HttpError(400, 103, 'The body must be encoded in UTF-8.'));
    const text = bytes.toString();
    if (isTooDeep(text))
      done(new HttpError(400, 104, `The body must not be nested deeper than ${MAX_JSON_DEPTH} levels.`));
    else parse(request, text, done);
  });
}

/** Whether a content type announces another encoding than UTF-8. Most have no parameters. */
function isOtherCharset(contentType = ''): boolean {
  if (!contentType.includes(';')) return false;
  return [...contentType.matchAll(CHARSET)].some(([, charset = '']) => !UTF_8.test(charset));
}

/** Also runs on text that is not JSON; the parser reports that. */
function isTooDeep(text: string): boolean {
  // Most bodies have few brackets, and counting them costs less than a walk.
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

/** Counts occurrences, up to the limit that matters. */
function countOf(text: string, char: string): number {
  let count = 0;
  for (let at = text.indexOf(char); at !== -1 && count <= MAX_JSON_DEPTH; at = text.indexOf(char, at + 1)) count++;
  return count;
}
