import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Sends `answer` with its entity tag, or 304 if the caller already has this version (RFC 9110 13.1.2). The tag is
 * computed from the content, so it is the same in every process.
 */
export function sendUnlessKnown(request: FastifyRequest, reply: FastifyReply, answer: object): FastifyReply {
  const tag = `"${hash('sha256', JSON.stringify(answer), 'base64url')}"`;
  // Caches may keep the response, and must revalidate it for each use.
  reply.header('etag', tag).header('cache-control', 'private, no-cache');
  return isKnown(request.headers['if-none-match'], tag) ? reply.code(304).send() : reply.send(answer);
}

/** Weak comparison: a proxy that compresses makes the tag weak, and the content is still the same. */
export function isKnown(header: string | undefined, tag: string): boolean {
  return header?.split(',').some((given) => ['*', tag].includes(given.trim().replace(/^W\//, ''))) ?? false;
}
