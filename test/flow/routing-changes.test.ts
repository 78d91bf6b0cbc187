import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StoredProcessor, StoredRoute } from '../../schemas/admin-routing.ts';
import type { Problem } from '../../schemas/problem.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { DEADLINE_MS, type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { faultsIn } from '../support/log-lines.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';

let installation: Installation;
let others: Simulator[];
let key: string;
beforeAll(async () => {
  const timeScale = 0.05;
  installation = await startInstallation({ timeScale });
  const processor = (await loadProcessors()).get('type-1')!;
  others = await Promise.all([1, 2].map(() => startSimulator({ processors: [{ processor, port: 0 }], timeScale })));
  key = await saveApiKey(installation.database, { acquirerId: 1 }, ['processors:manage']);
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  expect(faultsIn(installation.logLines)).toEqual([]);
});
afterAll(async () => {
  await installation.stop();
  await Promise.all(others.map((simulator) => simulator.close()));
});

async function admin<Body>(method: string, path: string, body?: object): Promise<{ status: number; body: Body }> {
  const response = await request(installation.url, `/acquirers/1/${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': body && 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return response as { status: number; body: Body };
}

const settingsFor = (simulator: Simulator) => ({
  type: 'type-1',
  config: {
    addresses: [{ host: '127.0.0.1', port: simulator.ports[0]! }],
    acquirerId: '50001',
    profile: { deadlineMs: DEADLINE_MS },
  },
});

const booked = (simulator: Simulator) => simulator.ledger.totals().approved;

/** Taps until the switch has booked one more. Every tap meanwhile must be approved. */
async function untilBookedBy(simulator: Simulator, card: 'visa' | 'mastercard'): Promise<void> {
  const before = booked(simulator);
  await eventually(async () => {
    const response = await installation.phone().tap({ amount: '10.00', currency: 'ZAR', card });
    expect(outcomeOf(response).type).toBe('Approved');
    if (booked(simulator) === before) throw new Error('booked elsewhere');
  });
}

let processorId: number;
let routeId: number;

test('a processor and a route that are added are used for matching taps, without a restart and without a lost tap', async () => {
  const added = await admin<StoredProcessor>('POST', 'processors', settingsFor(others[0]!));
  processorId = added.body.id;
  const route = { processorId, priority: 0, scheme: 'Mastercard' };
  routeId = (await admin<StoredRoute>('POST', 'routes', route)).body.id;
  await untilBookedBy(others[0]!, 'mastercard');
  await untilBookedBy(installation.simulator, 'visa');
  expect(others[0]!.ledger.totals().approved).toBe(1);
});

test('a processor with a changed address is reached there', async () => {
  expect((await admin('PUT', `processors/${processorId}`, settingsFor(others[1]!))).status).toBe(200);
  await untilBookedBy(others[1]!, 'mastercard');
});

test('a processor is not removed while it has a tap in progress, even without its route; the tap gets its response', async () => {
  const slow = installation.phone().tap({ amount: '20.20', currency: 'ZAR', card: 'mastercard' });
  await eventually(async () => {
    const { rowCount } = await installation.database.query(
      'select from transactions where amount_minor = 2020 and status = 4',
    );
    expect(rowCount).toBe(1);
  });
  expect((await admin('DELETE', `routes/${routeId}`)).status).toBe(204);
  await installation.database.query(`update routes set removed_at = removed_at - interval '11 s' where id = $1`, [
    routeId,
  ]);
  const refused = await admin<Problem>('DELETE', `processors/${processorId}`);
  expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('open transactions') } });
  expect(outcomeOf(await slow).type).toBe('Approved');
  await eventually(async () => expect((await admin('DELETE', `processors/${processorId}`)).status).toBe(204));
});

test('taps then use the remaining routes, and the connections to the removed processor are closed', async () => {
  await untilBookedBy(installation.simulator, 'mastercard');
  await eventually(() => expect(others[1]!.counters()[0]).toMatchObject({ lines: 0 }));
  const { body } = await request(installation.url, '/readyz');
  expect(Object.keys((body as { switches: object }).switches)).toHaveLength(2); // one for each acquirer
});
