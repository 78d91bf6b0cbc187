import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { commandsOf, runCommands } from '../../support/guide.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

/** Enough for a very busy machine. */
const WITHIN_MS = 300_000;

let testDatabase: TestDatabase;
let folder: string;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tapwire-first-'));
});
afterAll(async () => {
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

test('the guide leads from an empty database to an approved tap with a new issuer key', {
  timeout: WITHIN_MS,
  retry: 0,
}, async () => {
  const ports = { PORT: String(await freePort()), SWITCH_PORT: String(await freePort()) };
  const settings = { DATABASE_URL: testDatabase.url, TAPWIRE_DATA: folder, DATABASE_CONNECTIONS: '5', ...ports };
  const { exitCode, stdout, stderr } = await runCommands(commandsOf('src/cli/README.md'), settings, WITHIN_MS);
  expect(stdout, stderr).toMatch(/^Approved {2}ZAR 10\.00 .* code 00 /m);
  const listed = /^\[\{.*\}\]$/m.exec(stdout);
  expect(JSON.parse(listed![0])).toMatchObject([{ amount: '10.00', currency: 'ZAR' }]);
  const kinds = ['api key', 'acquirer', 'processor', 'route', 'integrator', 'merchant', 'terminal', 'issuer key'];
  for (const kind of kinds) expect(stdout).toMatch(new RegExp(`^\\S+ +(1|none) +cli \\S+ +add +${kind} `, 'm'));
  expect(exitCode, stderr).toBe(0);
  // The keys are only in their files.
  expect(stdout + stderr).not.toMatch(/tw_test_[0-9a-f]{16}_|BEGIN PRIVATE/);
});
