import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AuthError, Overloaded } from '../../basics/errors.ts';
import type { Server } from '../../http/server.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

/** A console that does not read is not in view. It reconnects when it becomes active. A frame is a few kilobytes. */
const MAX_UNREAD_BYTES = 512 * 1024;
/** The streams of an ended session end within this time. */
const SESSION_CHECKED_EVERY_MS = 15_000;
/** Time that a page waits before it reconnects. */
const RETRY_MS = 2_000;

/** `/ops/stream`: sends what the page shows, one frame a second, as server-sent events (HTML 9.2). */
export function registerConsoleStream(server: Server, parts: ConsoleParts): void {
  const facts = {
    summary: 'Stream console statistics',
    section: 'extension',
    takes: [],
    isAsset: true,
    isEndless: true,
  } as const;
  server.addHook('preClose', (done) => {
    void parts.feed.close(); // the gateway awaits its end
    done();
  });
  server.get('/ops/stream', { config: { facts }, onRequest: consoleGuards(parts).forPolling }, (request, reply) => {
    const { acquirerId, user } = request.operator!;
    const { raw } = reply;
    const show = (frame: string) => send(raw, 'frame', frame);
    const leave = parts.feed.watch({ acquirerId, userId: user.id, show, end: () => raw.end() });
    if (!leave) throw new Overloaded();
    const checking = setInterval(() => void endWithSession(parts, request, raw), SESSION_CHECKED_EVERY_MS).unref();
    raw.on('close', () => {
      clearInterval(checking);
      leave();
    });
    reply.hijack();
    raw.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
      // Closes the connection with the stream: a process that stops waits for connections that could bring another
      // request.
      connection: 'close',
      'x-correlation-id': request.correlationId,
    });
    raw.write(`retry: ${RETRY_MS}\n\n`);
    send(raw, 'history', JSON.stringify(parts.feed.history(acquirerId)));
  });
}

function send(raw: ServerResponse, event: string, data: string): void {
  if (raw.destroyed || raw.writableEnded) return;
  if (raw.writableLength > MAX_UNREAD_BYTES) raw.destroy();
  else raw.write(`event: ${event}\ndata: ${data}\n\n`);
}

/** Without the database it is unknown whether the session has ended: the page says since when, and keeps its figures. */
async function endWithSession(
  { sessions, cookie }: ConsoleParts,
  request: FastifyRequest,
  raw: ServerResponse,
): Promise<void> {
  await sessions.find(cookie.read(request), 'watch').catch((error) => {
    if (error instanceof AuthError) raw.end();
  });
}
