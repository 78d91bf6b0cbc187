import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { dueTimes } from '../../src/tools/load/arrival-plan.ts';
import type { ClientCall } from '../../src/tools/load/clients/fleet.ts';
import { ConnectionPool } from '../../src/tools/load/connection-pool.ts';
import { OpenLoop } from '../../src/tools/load/open-loop.ts';
import { latenciesOf, Tally } from '../../src/tools/load/tally.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';

const REQUEST = Buffer.from('GET / HTTP/1.1\r\nhost: test\r\n\r\n');
const DONE = { outcome: 'Done', isExpected: true, isError: false };
const call = (read: ClientCall['read'] = () => DONE): ClientCall => ({ scenario: 'test', request: REQUEST, read });

interface Options {
  readonly perSecond?: number;
  readonly seconds?: number;
  readonly most?: number;
  readonly isNewEach?: boolean;
  readonly responseWithinMs?: number;
  readonly makeCall?: () => ClientCall;
}

/** A loop against a server that responds to each request with the given function. */
async function loopAgainst(respond: (response: ServerResponse, number: number) => void, options: Options = {}) {
  const { perSecond = 200, seconds = 0.5, most = 1_000, isNewEach = false, responseWithinMs = 5_000 } = options;
  const connections = { count: 0 };
  let number = 0;
  const server = createServer((_request, response) => respond(response, number++));
  server.on('connection', () => connections.count++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => closeAll(server));
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, isTls: false };
  const pool = new ConnectionPool({ target, kept: 4, most, isNewEach });
  expect(await pool.fill()).toBeUndefined();
  const tally = new Tally();
  const times = dueTimes([{ seconds, from: perSecond, to: perSecond }], 'even', seededRandom(1));
  const loop = new OpenLoop({ dueTimes: times, makeCall: options.makeCall ?? call, pool, tally, responseWithinMs });
  return { loop, pool, tally, server, connections };
}

function closeAll(server: Server): void {
  server.closeAllConnections();
  server.close();
}

describe('the open loop', () => {
  test('sends every call that is due, and counts each response once', async () => {
    const { loop, tally } = await loopAgainst((response) => response.end('ok'));
    await loop.run(performance.now());
    expect(tally.sum()).toMatchObject({ due: 100, sent: 100, responded: 100, lost: 0, unsent: 0, requests: 100 });
  });

  test('sends the same number of calls to a server that stalls, and reports the whole of their wait', async () => {
    const held: ServerResponse[] = [];
    let isStalled = true;
    const { loop, tally } = await loopAgainst(
      (response) => void (isStalled ? held.push(response) : response.end('ok')),
    );
    setTimeout(() => {
      isStalled = false;
      for (const response of held.splice(0)) response.end('ok');
    }, 1_000);
    await loop.run(performance.now());
    expect(tally.sum()).toMatchObject({ due: 100, sent: 100, responded: 100 });
    // Due between 0 and 500 ms, with a response after a second: half of them waited for 750 ms.
    expect(latenciesOf(tally.sum()).percentileMs(0.5)).toBeGreaterThan(700);
    expect(latenciesOf(tally.sum()).percentileMs(0.01)).toBeGreaterThan(480);
  });

  test('counts the wait for a connection at the maximum of connections, and sends those calls, too', async () => {
    const slow = (response: ServerResponse) => void setTimeout(() => response.end('ok'), 100);
    const { loop, tally, connections } = await loopAgainst(slow, { perSecond: 100, seconds: 0.4, most: 8 });
    await loop.run(performance.now());
    expect(tally.sum()).toMatchObject({ due: 40, sent: 40, responded: 40 });
    expect(connections.count).toBe(8);
    // Eight at once and ten rounds a second make 80: those due last waited for the twenty before them.
    expect(latenciesOf(tally.sum()).maxMs).toBeGreaterThan(150);
  });

  test('distinguishes lost calls from those that were never sent', async () => {
    const cut = (response: ServerResponse, number: number) =>
      number % 2 === 0 ? response.end('ok') : response.destroy();
    const { loop, tally } = await loopAgainst(cut, { perSecond: 100, seconds: 0.2 });
    await loop.run(performance.now());
    expect(tally.sum()).toMatchObject({ due: 20, sent: 20, responded: 10, lost: 10, unsent: 0 });

    const options = { perSecond: 100, seconds: 0.2, isNewEach: true };
    const gone = await loopAgainst((response) => response.end('ok'), options);
    closeAll(gone.server);
    await once(gone.server, 'close');
    await gone.loop.run(performance.now());
    expect(gone.tally.sum()).toMatchObject({
      responded: 0,
      lost: 0,
      sent: 0,
      unsent: 20,
      reasons: { ECONNREFUSED: 20 },
    });
  });

  test('gives a call up when its time is over, and counts it as lost', async () => {
    const options = { perSecond: 50, seconds: 0.2, responseWithinMs: 200 };
    const { loop, tally } = await loopAgainst(() => {}, options);
    await loop.run(performance.now());
    expect(tally.sum()).toMatchObject({ sent: 10, responded: 0, lost: 10, reasons: { 'no response in time': 10 } });
  });

  test('follows a response with the next request of the same call, which counts as one', async () => {
    const { loop, tally } = await loopAgainst((response) => response.end('ok'), {
      perSecond: 50,
      seconds: 0.2,
      makeCall: () => call(() => call()),
    });
    await loop.run(performance.now());
    expect(tally.sum()).toMatchObject({
      sent: 10,
      responded: 10,
      requests: 20,
      scenarios: { test: { outcomes: { Done: 10 } } },
    });
  });

  test('opens a connection for each request if configured', async () => {
    const options = { perSecond: 50, seconds: 0.2, isNewEach: true };
    const { loop, tally, connections } = await loopAgainst((response) => response.end('ok'), options);
    await loop.run(performance.now());
    expect(tally.sum()).toMatchObject({ responded: 10 });
    expect(connections.count).toBe(11); // including the one that was opened before the test
  });

  test('stops on request: nothing further is sent, and calls in progress are abandoned in time', async () => {
    const { loop, tally } = await loopAgainst(() => {}, { perSecond: 100, seconds: 60 });
    setTimeout(() => loop.stop(100), 200);
    await loop.run(performance.now());
    const { sent, responded, lost, abandoned } = tally.sum();
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(6_000);
    expect({ responded, lost, abandoned }).toEqual({ responded: 0, lost: 0, abandoned: sent });
  });
});
