import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Sends `answer` with its entity tag, or 304 when the caller has just this one (RFC 9110 13.1.2). The tag is made from what
 * is sent, so it is the same in every process.
 */
export function sendUnlessKnown(request: FastifyRequest, reply: FastifyReply, answer: object): FastifyReply {
  const tag = `"${hash('sha256', JSON.stringify(answer), 'base64url')}"`;
  // Whoever asks keeps the answer, and asks each time whether it is still so.
  reply.header('etag', tag).header('cache-control', 'private, no-cache');
  return isKnown(request.headers['if-none-match'], tag) ? reply.code(304).send() : reply.send(answer);
}

/** Weak comparison: proxies that compress make a tag weak, and it names the same thing to us. */
export function isKnown(header: string | undefined, tag: string): boolean {
  return header?.split(',').some((given) => ['*', tag].includes(given.trim().replace(/^W\//, ''))) ?? false;
}
