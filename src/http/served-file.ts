import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKnown } from './entity-tag.ts';

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
