import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Byte for byte as received. */
  readonly body: Buffer;
}

export type Respond = (response: http.ServerResponse, received: Received) => void;

export interface Receiver {
  readonly url: string;
  readonly port: number;
  /** Requests received, oldest first. */
  readonly received: readonly Received[];
  /** All connections that were opened. */
  readonly connections: number;
  /** The response from now on. */
  respond: Respond;
  /** Closes every connection, with or without a response. */
  drop(): void;
  close(): Promise<void>;
}

export const ok: Respond = (response) => void response.writeHead(204).end();

export const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Respond =>
  (response) =>
    void response.writeHead(code, headers).end(body);

/** Accepts the request and sends nothing. */
export const hang: Respond = () => {};

/** A server of an integrator, on a free port of this machine. */
export async function startReceiver(respond: Respond = ok, tls?: { key: string; cert: string }): Promise<Receiver> {
  const received: Received[] = [];
  let connections = 0;
  const take: http.RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const headers = request.headers as Record<string, string>;
    const one: Received = { path: request.url!, headers, body: Buffer.concat(chunks) };
    received.push(one);
    receiver.respond(response, one);
  };
  const server = tls ? https.createServer(tls, take) : http.createServer(take);
  server.on('connection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    port,
    received,
    get connections() {
      return connections;
    },
    respond,
    drop: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}
