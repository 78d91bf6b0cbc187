import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Command } from '../../src/cli/commands.ts';
import { run as jobs } from '../../src/cli/jobs.ts';
import { run as verifyLedger } from '../../src/cli/verify-ledger.ts';
import { runHere } from '../support/run-here.ts';

test('verify-ledger without a ledger names what is missing, before its usage', async () => {
  const { exitCode, stderr } = await runHere(verifyLedger, [], { DATABASE_URL: undefined });
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/^Missing: --ledger\.\n\nusage: tapwire verify-ledger/);
});

test.each<[string, Command, string[]]>([
  ['verify-ledger', verifyLedger, ['--ledger', 'http://127.0.0.1:9/ledger']],
  ['jobs', jobs, []],
])('%s says where it found no database', async (_name, run, words) => {
  const TAPWIRE_DATA = join(tmpdir(), 'tapwire-has-no-such-folder');
  const { exitCode, stderr } = await runHere(run, words, { DATABASE_URL: undefined, TAPWIRE_DATA });
  expect(exitCode).toBe(1);
  expect(stderr).toContain(`There is no database in ${TAPWIRE_DATA}. Set DATABASE_URL, name one with --database`);
});
