import { EventEmitter, once } from 'node:events';
import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Ledger, ledgerServer } from '../../src/tools/simulator/ledger.ts';
import { eventually } from '../support/eventually.ts';
import { sale } from './sale.ts';

const ENTRIES = 50_000;

let server: ReturnType<typeof ledgerServer>;
let responses: ServerResponse[];

beforeEach(async () => {
  const ledger = new Ledger();
  for (let number = 0; number < ENTRIES; number++) ledger.approve({ ...sale, key: String(number) });
  responses = [];
  server = ledgerServer(ledger).on('request', (_request, response) => responses.push(response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function ask(path: string): Promise<IncomingMessage> {
  const [response] = await once(get({ port: (server.address() as AddressInfo).port, path }), 'response');
  return response;
}

test('a ledger larger than the connection’s buffers arrives complete, and leaves no listeners on its response', async () => {
  let mostListeners = 0;
  let text = '';
  for await (const chunk of await ask('/ledger/entries')) {
    text += chunk;
    const [response] = responses;
    mostListeners = Math.max(mostListeners, response!.listenerCount('close'), response!.listenerCount('error'));
  }
  expect(text.trimEnd().split('\n')).toHaveLength(ENTRIES);
  expect(mostListeners).toBeLessThanOrEqual(EventEmitter.defaultMaxListeners);
});

test('a client that disconnects ends the response', async () => {
  const response = await ask('/ledger');
  await once(response, 'data');
  response.destroy();
  await eventually(() => expect(responses[0]!.destroyed).toBe(true));
});
