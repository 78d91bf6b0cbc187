import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that a system gives to a socket that asks for any, which another test may be given while nothing listens
 * here: before a test listens, or until it listens again.
 */
const FIRST = 20_000;
/** For each worker of vitest, so that no two of them choose the same; it has a few hundred files at most. */
const PORTS_PER_WORKER = 1_500;
const WORKERS = 8;

const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS;
let last = Math.floor(Math.random() * PORTS_PER_WORKER);

/** A port of this machine without a listener, each time another one. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS_PER_WORKER; tries++) {
    last = (last + 1) % PORTS_PER_WORKER;
    const port = FIRST + worker * PORTS_PER_WORKER + last;
    const probe = createServer();
    try {
      await once(probe.listen(port, '127.0.0.1'), 'listening');
    } catch {
      continue;
    }
    probe.close();
    await once(probe, 'close');
    return port;
  }
  throw new Error('No port is free');
}
