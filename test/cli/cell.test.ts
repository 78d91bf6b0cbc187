import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { runTapwire } from '../../src/cli/commands.ts';
import { runHere } from '../support/run-here.ts';

const none = { CELLS_FILE: join(tmpdir(), 'tapwire-has-no-such-list.json') };
const cell = (...words: string[]) => runHere((args) => runTapwire(COMMANDS, ['cell', ...args]), words, none);

test.each(['list', 'status'])('tapwire cell %s without cells says so, and how to add one', async (verb) => {
  const { exitCode, stdout } = await cell(verb);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(`There are no cells in ${none.CELLS_FILE}.`);
  expect(stdout).toContain('tapwire cell add --name');
  expect(stdout).not.toContain('ACQUIRER');
});

test('no cells are an empty list as JSON', async () => {
  expect(JSON.parse((await cell('list', '--json')).stdout)).toEqual([]);
  expect(JSON.parse((await cell('status', '--json')).stdout)).toEqual({ cells: [], conflicts: [] });
});
