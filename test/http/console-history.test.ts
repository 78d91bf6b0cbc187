import { afterAll, beforeAll, expect, test } from 'vitest';
import type { History } from '../../src/console/history.ts';
import { consoleClient } from '../support/console-client.ts';
import { type Installation, startInstallation } from '../support/installation.ts';

/** Amounts by which the simulated switch declines with 51 and 05. */
const DECLINED = ['10.51', '10.51', '10.05'];

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none' });
  const first = await installation.startGateway();
  const phone = installation.phone();
  for (const amount of ['10.00', '11.00', ...DECLINED]) await phone.tap({ amount, currency: 'ZAR' });
  await first.stop(); // a process stores what it has not stored yet
  await installation.startGateway();
});
afterAll(() => installation.stop());

const { call, logIn } = consoleClient(() => installation);

async function read(acquirerId: number, query = 'range=1h'): Promise<History> {
  const { cookie } = await logIn({ acquirerId }, 'viewer');
  const response = await call(`/ops/data/history?${query}`, { headers: { cookie } });
  expect(response.status).toBe(200);
  expect(response.headers.get('cache-control')).toBe('no-store');
  return (await response.json()) as History;
}

test('the past of a process that has ended is shown, with reasons in words and the times of the switch', async () => {
  for (const acquirerId of [0, 1]) {
    const { points, switches, declines } = await read(acquirerId);
    const outcomes = points.flatMap((point) => Object.entries(point.outcomes));
    const sum = (name: string) => outcomes.reduce((all, [each, count]) => all + (each === name ? count : 0), 0);
    expect([sum('Approved'), sum('Declined')]).toEqual([2, 3]);
    expect(declines).toEqual([
      { code: '51', meaning: 'Not sufficient funds', count: 2 },
      { code: '05', meaning: 'Do not honor', count: 1 },
    ]);
    // Echoes are round trips as well, so a switch without taps is listed.
    const tapped = switches.filter(({ outcomes }) => Object.keys(outcomes).length > 0);
    expect(tapped).toMatchObject([{ acquirerId: 1, outcomes: { Approved: 2, Declined: 3 } }]);
    const { p50, p95, p99 } = tapped[0]!;
    expect(p50).toBeGreaterThan(0);
    expect([p50, p95, p99]).toEqual([p50, p95, p99].toSorted((one, other) => one! - other!));
  }
});

test('an acquirer sees nothing of another one', async () => {
  for (const query of ['range=1h', 'range=30d&acquirer=1', 'range=1h&acquirer=1&processor=1']) {
    const { points, switches, declines } = await read(2, query);
    expect(points.every(({ outcomes }) => Object.keys(outcomes).length === 0)).toBe(true);
    expect(switches.every(({ acquirerId, outcomes }) => acquirerId === 2 && Object.keys(outcomes).length === 0)).toBe(
      true,
    );
    expect(declines).toEqual([]);
  }
});

test.each([
  '',
  'range=2h',
  'range=1h&processor=1',
  'range=1h&acquirer=0',
  'range=1h&acquirer=1e3',
  'range=1h&more=1',
])('refuses "%s"', async (query) => {
  const { cookie } = await logIn({ acquirerId: 1 }, 'viewer');
  expect((await call(`/ops/data/history?${query}`, { headers: { cookie } })).status).toBe(400);
});

test('needs a session', async () => {
  expect((await call('/ops/data/history?range=1h')).status).toBe(401);
});
