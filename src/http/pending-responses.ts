import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What has not been answered on a connection. */
export interface Pending {
  /** In the order of their requests. */
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
