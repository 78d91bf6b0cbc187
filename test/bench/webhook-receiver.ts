/**
 * Accepts webhooks at every address except /hanging, where it does not respond. Prints its port. `GET /taken` reports
 * what it took since the last `DELETE /taken`, as {@link TakenWebhooks}.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TakenWebhooks } from './webhook-sink.ts';

/** Milliseconds between each outcome and its webhook, by the id of the event. */
const delaysMs = new Map<string, number>();
let repeated = 0;
let lastAtMs = 0;

/** The outcome's own time is the first value of every body after its type. */
const TIMESTAMP = /"timestamp":"([^"]+)"/;

const server = createServer((request, response) => {
  if (request.url === '/taken') return report(request.method, response);
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/hanging') return;
    response.writeHead(204).end();
    take(`${request.headers['webhook-id']}`, Buffer.concat(chunks).toString());
  });
});

function take(id: string, body: string): void {
  lastAtMs = Date.now();
  if (delaysMs.has(id)) repeated++;
  else delaysMs.set(id, lastAtMs - Date.parse(TIMESTAMP.exec(body)?.[1] ?? ''));
}

function report(method: string | undefined, response: ServerResponse): void {
  if (method === 'DELETE') {
    delaysMs.clear();
    repeated = 0;
  }
  const taken: TakenWebhooks = { events: delaysMs.size, repeated, lastAtMs, delaysMs: [...delaysMs.values()] };
  response.end(JSON.stringify(taken));
}

server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
