import { expect, test } from 'vitest';
import { run } from '../../src/cli/verify-ledger.ts';
import { runHere } from '../support/run-here.ts';

const LEDGER = ['--ledger', 'http://127.0.0.1:9/ledger'];
const DATABASE = ['--database', 'postgres://127.0.0.1:9/none'];

test.each([
  ['the database', LEDGER, 'Missing: --database (or DATABASE_URL).'],
  ['the ledger', DATABASE, 'Missing: --ledger.'],
  ['both', [], 'Missing: --ledger, --database (or DATABASE_URL).'],
])('verify-ledger without %s names what is missing, before its usage', async (_what, words, missing) => {
  const { exitCode, stderr } = await runHere(run, words, { DATABASE_URL: undefined });
  expect(exitCode).not.toBe(0);
  expect(stderr).toMatch(/usage: tapwire verify-ledger/);
  expect(stderr).toContain(missing);
});
