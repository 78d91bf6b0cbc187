import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
/** A minute on a machine that does ten other things; by hand it is reading that takes the time. */
const WITHIN_MS = 120_000;

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

/** The commands of a guide, as they stand in it. */
function commandsOf(guide: string): string {
  const text = readFileSync(join(REPOSITORY, guide), 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join('\n');
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return String(port);
}

/** Runs a script to its end; what it left running goes with it. */
async function runScript(script: string, settings: NodeJS.ProcessEnv) {
  const { PATH, HOME, TMPDIR } = process.env;
  const env = { PATH, HOME, TMPDIR, ...settings };
  const shell = spawn('bash', ['-euo', 'pipefail'], { cwd: REPOSITORY, env, detached: true });
  const streams = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    shell[name].setEncoding('utf8').on('data', (text: string) => {
      streams[name] += text;
    });
  shell.stdin.end(script);
  const timer = setTimeout(() => process.kill(-shell.pid!, 'SIGKILL'), WITHIN_MS);
  const [exitCode] = (await once(shell, 'close')) as [number | null];
  clearTimeout(timer);
  try {
    process.kill(-shell.pid!, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
  return { exitCode, ...streams };
}

test('the guide leads from an empty database to an approved tap with an issuer key of one’s own', {
  timeout: WITHIN_MS,
  retry: 0,
}, async () => {
  const ports = { PORT: await freePort(), SWITCH_PORT: await freePort() };
  const settings = { DATABASE_URL: testDatabase.url, TAPWIRE_DATA: folder, DATABASE_CONNECTIONS: '5', ...ports };
  const { exitCode, stdout, stderr } = await runScript(commandsOf('src/cli/README.md'), settings);
  expect(stdout, stderr).toMatch(/^Approved {2}ZAR 1000 minor units .* code 00 /m);
  const listed = /^\[\{.*\}\]$/m.exec(stdout);
  expect(JSON.parse(listed![0])).toMatchObject([{ amount: '10.00', currency: 'ZAR' }]);
  const kinds = ['api key', 'acquirer', 'processor', 'route', 'integrator', 'merchant', 'terminal', 'issuer key'];
  for (const kind of kinds) expect(stdout).toMatch(new RegExp(`^\\S+ +(1|none) +cli \\S+ +add +${kind} `, 'm'));
  expect(exitCode, stderr).toBe(0);
  // The keys went into their files, and nowhere else.
  expect(stdout + stderr).not.toMatch(/tw_test_[0-9a-f]{16}_|BEGIN PRIVATE/);
});
