import { connect, createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import { ScriptedSwitch } from '../support/scripted-switch.ts';
import { TapwireProcess } from '../support/tapwire-process.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none', maxSessions: 1, profile: { deadlineMs: 8_000 } });
  await keepFirstAcquirer(installation);
});
afterAll(() => installation.stop());

test('a process without a session at the switch hands its taps to one that has it, and one address speaks for both', async () => {
  const { url } = await GatewayProcess.startGroup(installation, 2);
  const phone = () => installation.phoneAt(url).tap({ amount: '10.00', currency: 'ZAR' });
  await eventually(async () => expect(outcomeOf(await phone()).type).toBe('Approved'));
  const before = installation.ledger.length;
  // Each phone has its own connection, and the primary passes each connection to the next process.
  const responses = await Promise.all(Array.from({ length: 40 }, phone));
  expect(new Set(responses.map((response) => outcomeOf(response).type))).toEqual(new Set(['Approved']));
  expect(installation.ledger.length - before).toBe(40);
  expect(await readinessOf(url)).toMatchObject({ status: 'ok', switches: { '1 1': 'ready' } });
  const { responded } = await installation.switchStats(url);
  expect(responded).toBeGreaterThanOrEqual(41);
  const metrics = await (await fetch(new URL('/metrics', url))).text();
  expect(metrics).toContain(`tapwire_switch_responded_total{acquirer="1",processor="1",type="type-1"} ${responded}`);
  for (const process of [1, 2]) expect(metrics).toContain(`process_resident_memory_bytes{process="${process}"}`);
  expect(metrics.match(/^tapwire_needs_review 0$/gm)).toHaveLength(1);
  await expectInvariants(installation);
});

test('a switch that connects to the gateway reaches one process, and the taps of the other as well', async () => {
  const port = await freePort();
  const accept = { host: '127.0.0.1', port, maxConnections: 2 };
  const dialled = await startInstallation({ role: 'none', config: { addresses: [], accept } });
  const scripted = await ScriptedSwitch.open();
  try {
    await keepFirstAcquirer(dialled);
    const { url } = await GatewayProcess.startGroup(dialled, 2);
    const socket = connect(port, '127.0.0.1');
    scripted.join(socket);
    const phone = () => dialled.phoneAt(url).tap({ amount: '10.00', currency: 'ZAR' });
    // The process without a connection learns from the database that the other one has signed on.
    await eventually(async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, phone));
      expect(new Set(responses.map((response) => outcomeOf(response).type))).toEqual(new Set(['Approved']));
    });
    socket.destroy();
  } finally {
    await scripted.close();
    await dialled.stop();
  }
});

test.each([
  ['a plug-in that does not exist', { PROCESSORS: '/nowhere/acme' }, /acme/],
  ['more connections than the database allows', { TAPWIRE_PROCESSES: '60' }, /60 processes .* the database allows/],
  ['an invalid number', { TAPWIRE_PROCESSES: 'many' }, /TAPWIRE_PROCESSES: must be auto or a number/],
])('the start ends with exit code 1 because of %s', async (_what, settings, reason) => {
  const environment = installation.environment({ TAPWIRE_PROCESSES: '2', ...settings });
  const { exitCode, output } = await TapwireProcess.run(['start'], { environment });
  expect(exitCode).toBe(1);
  expect(output.match(new RegExp(reason, 'g'))).toHaveLength(1);
});

test('the start ends with exit code 1 because the port is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  const environment = installation.environment({ TAPWIRE_PROCESSES: '2', PORT: `${port}` });
  const { exitCode, output } = await TapwireProcess.run(['start'], { environment });
  other.close();
  expect(exitCode).toBe(1);
  expect(output).toContain(`Port ${port} is in use. Set PORT to another port.`);
});

/** Two acquirers would compete for the sessions of their switch. */
async function keepFirstAcquirer({ database }: Installation): Promise<void> {
  for (const table of ['routes', 'processors']) await database.query(`delete from ${table} where acquirer_id = 2`);
}

async function readinessOf(url: string): Promise<unknown> {
  return (await fetch(new URL('/readyz', url))).json();
}
