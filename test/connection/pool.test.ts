import { afterEach, describe, expect, test } from 'vitest';
import { ask, farAway, openWatchedPool, ToySwitch, untilReady } from './toy-switch.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function connect() {
  const toy = new ToySwitch();
  const watched = openWatchedPool({ addresses: [await toy.listen()] });
  cleanups.push(
    () => toy.stop(),
    () => watched.pool.destroy(),
  );
  await untilReady(watched);
  return { toy, ...watched };
}

describe('a pool', () => {
  test('answers a request with its response', async () => {
    const { pool } = await connect();
    const result = await pool.request(ask('1', 'hello'), farAway());
    expect(result).toMatchObject({ kind: 'answered', response: { key: '1', text: 'hello' }, missing: [] });
    await pool.close({ deadlineAtMs: performance.now() + 1000 });
    expect(pool.availability).toBe('closed');
  });
});
