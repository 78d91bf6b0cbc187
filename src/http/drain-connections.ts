import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { isHttps } from './listen.ts';
import { HttpError } from './problem.ts';

/** Another process takes the repeated request. On a connection that stays open, it would arrive here again. */
const STOPPING =
  'The process is stopping; this request stored nothing. Repeat it unchanged: if an earlier one was stored, you get its response.';
/** A client that wants to send does so at once. A server that stops waits no longer for a silent connection. */
const SILENT_MS = 2_000;
const LOOK_EVERY_MS = 50;
/**
 * A request that is on its way arrives well within this time. Each look is in another turn of the event loop, so a
 * request that had already arrived has been read by then.
 */
const IDLE_CHECKS = 6;
/** Idle connections are ended by then. The others have a request in progress, and end with its response. */
const MAX_CHECKS = 100;
/**
 * Longer than any response may take (response-deadlines.ts). What remains is a download whose client hardly reads, or a
 * client that never closes its side.
 */
const MAX_DRAIN_MS = 150_000;

interface Tracked {
  bytesRead: number;
  idleChecks: number;
}

/**
 * A server that stops accepts no connections. Requests on open connections still receive a response. The last response
 * has `Connection: close`, so that a client notices the stop between two requests and none fails. A connection that
 * stays idle is ended after a moment. What arrives after that, or behind the last response, is refused, so that the
 * stop has an end and no response of a handled request is lost.
 */
export function drainConnections(server: FastifyInstance, pending: PendingResponses): void {
  const http = server.server;
  /** Every TCP connection, also below TLS and before its handshake. */
  const openedAtMs = new Map<Socket, number>();
  const connections = new Map<Socket, Tracked>();
  /** Connections with a response that has said that it is the last. */
  const ended = new WeakSet<Socket>();
  let isLeaving = false;
  let isClosing = false;
  let ending: NodeJS.Timeout | undefined;
  http.on('connection', (socket: Socket) => {
    openedAtMs.set(socket, performance.now());
    socket.once('close', () => openedAtMs.delete(socket));
  });
  http.on(isHttps(http) ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.set(socket, { bytesRead: 0, idleChecks: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  /** A response that was built before the stop does not say that it is the last. */
  const endAfterResponses = (socket: Socket) => {
    const { responses } = pending.of(socket);
    const end = () => {
      if (responses.length > 0) return;
      ended.add(socket);
      socket.end();
    };
    for (const response of responses) response.once('close', end);
  };
  server.decorate('acceptors', new Set<NetServer>());
  server.addHook('preClose', async () => {
    isLeaving = true;
    for (const socket of connections.keys()) endAfterResponses(socket);
    for (const acceptor of server.acceptors) acceptor.close();
    NetServer.prototype.close.call(http); // without ending idle connections, as `http.Server` would
    ending = endSilent(openedAtMs);
    await untilNoneIsIdle(connections, (socket) => pending.of(socket).responses.length === 0);
    isClosing = true;
  });
  // The server itself waits only for connections of its own socket, and most come by an acceptor. Fastify runs onClose hooks in
  // the reverse order of their registration: the deadlines of responses (response-deadlines.ts) were registered earlier, so they
  // are still enforced during this wait.
  server.addHook('onClose', async () => {
    await untilNoneIsOpen(openedAtMs);
    clearInterval(ending);
  });
  server.addHook('onRequest', ({ raw: { socket } }, _reply, done) => {
    const isRefused = isClosing || ended.has(socket) || (isLeaving && !socket.writable);
    done(isRefused ? new HttpError(503, 203, STOPPING, { headers: { 'retry-after': '2' } }) : undefined);
  });
  server.addHook('onSend', ({ raw: { socket } }, reply, payload, done) => {
    // Node closes the connection after it, so responses that are still pending behind it would be lost.
    if (isLeaving && pending.of(socket).responses.at(-1) === reply.raw) {
      reply.header('connection', 'close');
      ended.add(socket);
    }
    done(null, payload);
  });
}

/** Ends connections that stay idle; resolves when only those with a request in progress are left. */
function untilNoneIsIdle(
  connections: ReadonlyMap<Socket, Tracked>,
  hasNoRequest: (socket: Socket) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    let checks = 0;
    const look = () => {
      let isIdle = false;
      for (const [socket, tracked] of connections) {
        const isUnused = hasNoRequest(socket);
        isIdle ||= isUnused;
        tracked.idleChecks = !isUnused || socket.bytesRead !== tracked.bytesRead ? 0 : tracked.idleChecks + 1;
        tracked.bytesRead = socket.bytesRead;
        if (tracked.idleChecks > IDLE_CHECKS) socket.end();
      }
      if (isIdle && ++checks < MAX_CHECKS) return;
      clearInterval(looking);
      resolve();
    };
    const looking = setInterval(look, LOOK_EVERY_MS);
    look();
  });
}

/** Resolves when all connections have ended; those that have not in time are destroyed. */
async function untilNoneIsOpen(openedAtMs: ReadonlyMap<Socket, number>): Promise<void> {
  const endAtMs = performance.now() + MAX_DRAIN_MS;
  while (openedAtMs.size > 0) {
    if (performance.now() > endAtMs) for (const socket of openedAtMs.keys()) socket.destroy();
    await sleep(LOOK_EVERY_MS);
  }
}

/**
 * Destroys connections that never sent anything: Node counts them as active, and ignores their timeout after the server
 * closes. The same for those that were ended, and whose client does not close its side.
 */
function endSilent(openedAtMs: ReadonlyMap<Socket, number>): NodeJS.Timeout {
  const endedAtMs = new Map<Socket, number>();
  const end = () => {
    const nowMs = performance.now();
    for (const [socket, atMs] of openedAtMs) {
      if (socket.writableFinished && !endedAtMs.has(socket)) endedAtMs.set(socket, nowMs);
      const silentSinceMs = socket.bytesRead === 0 ? atMs : endedAtMs.get(socket);
      if (silentSinceMs !== undefined && nowMs - silentSinceMs > SILENT_MS) socket.destroy();
    }
  };
  return setInterval(end, SILENT_MS / 4);
}

/** What has not received a response on a connection. */
export interface Pending {
  /** Responses in progress, in the order of their requests. */
  readonly responses: readonly ServerResponse[];
  /** The latest request, if its response ended before it had arrived completely, as a 413 does. */
  readonly cutShort: IncomingMessage | undefined;
}

const NOTHING: Pending = { responses: [], cutShort: undefined };

/**
 * The responses in progress on each connection. Those that have ended are not kept: a response holds its request and
 * all that was made for it (25 KB for a tap), and phones and load balancers keep connections open for minutes.
 */
export class PendingResponses {
  readonly #ofSockets = new WeakMap<Socket, { responses: ServerResponse[]; cutShort: IncomingMessage | undefined }>();

  constructor(server: HttpServer) {
    const ofSockets = this.#ofSockets;
    // One listener for all responses, instead of a closure for each.
    function onClose(this: ServerResponse): void {
      const pending = ofSockets.get(this.req.socket)!;
      pending.responses.splice(pending.responses.indexOf(this), 1);
      pending.cutShort = this.req.complete ? undefined : this.req;
    }
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const pending = ofSockets.get(socket);
      if (pending) pending.responses.push(response);
      else ofSockets.set(socket, { responses: [response], cutShort: undefined });
      response.once('close', onClose);
    });
  }

  of(socket: Socket): Pending {
    return this.#ofSockets.get(socket) ?? NOTHING;
  }
}
