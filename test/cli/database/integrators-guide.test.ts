import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { freePort } from '../../support/free-port.ts';
import { commandsOf, REPOSITORY, runCommands } from '../../support/guide.ts';
import { TapwireProcess } from '../../support/tapwire-process.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** Seconds on a quiet machine. The limit only ends a test that hangs. */
const DEMO_WITHIN_MS = 300_000;
const GUIDE_WITHIN_MS = 600_000;

let testDatabase: TestDatabase;
let folder: string;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tapwire-integrators-'));
});
afterAll(async () => {
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

test('no command of the guide waits without an end, or expects the folder of the shop in the repository', () => {
  const commands = commandsOf('schemas/INTEGRATORS.md');
  expect(commands).not.toMatch(/^\s*(until|while)\b/m);
  expect(commands).toMatch(/^wait_for\(\)/m);
  expect(commands).toContain('npm install jose standardwebhooks');
});

test('an integrator who follows the guide has a paid order, a repeated refund and a void', {
  timeout: DEMO_WITHIN_MS + GUIDE_WITHIN_MS,
}, async () => {
  const settings = { DATABASE_URL: testDatabase.url, TAPWIRE_DATA: folder, DATABASE_CONNECTIONS: '5' };
  const demo = new TapwireProcess(['demo', '--stay'], { environment: { ...settings, PORT: '0' } });
  await eventually(() => expect(demo.output).toMatch(/Tapwire stays up/), DEMO_WITHIN_MS);
  // With these packages in its folder, the shop installs none over the network.
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
  const { exitCode, stdout, stderr } = await runCommands(
    commandsOf('schemas/INTEGRATORS.md'),
    { ...settings, SHOP: folder, RECEIVER_PORT: String(await freePort()) },
    GUIDE_WITHIN_MS,
  );
  expect(exitCode, stdout + stderr).toBe(0);
  expect(stdout).toMatch(/"valid":true/);
  expect(stdout).toMatch(/^order-\d+ transaction\.completed Approved: paid$/m);
  expect(stdout).toMatch(/^idempotency-replayed: true/im);
  const status = readFileSync(join(folder, 'status.json'), 'utf8');
  expect(JSON.parse(status)).toMatchObject({ disposition: 'Approved', amount: '25.00', currency: 'ZAR' });
});
