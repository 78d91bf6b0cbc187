import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type CellsFile, findCell, readCells, writeCells } from '../../src/tools/cells/cell-list.ts';
import { conflictsIn, firstAcquirerOf } from '../../src/tools/cells/cell-status.ts';

const folder = mkdtempSync(join(tmpdir(), 'tapwire-cell-list-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, 'cells.json');
const secret = join(folder, 'url');
const cell = (name: string, number: number) => {
  return { name, url: `http://${name}.example`, database: `file:${secret}`, backend: `cell-${name}`, number };
};

describe('the list of cells', () => {
  test('is empty without a file', async () => {
    expect(await readCells(join(folder, 'none.json'))).toEqual({ cells: [] });
  });

  test('keeps references, and leads to what they refer to', async () => {
    writeFileSync(secret, 'postgres://secret@example/tapwire\n');
    const list: CellsFile = { cells: [cell('a', 0), cell('b', 1)] };
    await writeCells(path, list);
    expect(await readCells(path)).toEqual(list);
    const found = await findCell(list, 'b');
    expect(found.databaseUrl).toBe('postgres://secret@example/tapwire');
    expect(found.replicationUrl).toBe(found.databaseUrl);
  });

  test.each([
    [
      'two cells with one name',
      { cells: [cell('a', 0), { ...cell('a', 1), backend: 'other' }] },
      'name a occurs twice',
    ],
    ['two cells with one number', { cells: [cell('a', 0), cell('b', 0)] }, 'number 0 occurs twice'],
    ['an unknown form of reference', { cells: [{ ...cell('a', 0), database: 'mysql://x' }] }, 'must be env:NAME'],
    [
      'hosts without an acquirer',
      { cells: [], proxy: { map: 'm', hosts: ['pay.example'] } },
      'must contain {acquirer}',
    ],
  ])('is refused with %s', async (_what, list, fault) => {
    writeFileSync(path, JSON.stringify(list));
    await expect(readCells(path)).rejects.toThrow(fault);
  });

  test.each([
    'postgres://u:s3cr%t@h/x',
    'mysql://u:s3cr@h/x',
  ])('refuses the URL %s without its password', async (url) => {
    writeFileSync(secret, url);
    const refused = findCell({ cells: [cell('a', 0)] }, 'a');
    await expect(refused).rejects.toThrow('The database URL of cell a is invalid');
    await expect(refused).rejects.not.toThrow('s3cr');
  });

  test('names the missing variable, and not its cell alone', async () => {
    const list: CellsFile = { cells: [{ ...cell('a', 0), database: 'env:NO_SUCH_VARIABLE' }] };
    await expect(findCell(list, 'a')).rejects.toThrow('NO_SUCH_VARIABLE is not set');
    await expect(findCell(list, 'c')).rejects.toThrow('There is no cell c. Known cells: a.');
  });
});

describe('numbers of acquirers', () => {
  test('the numbers of acquirers of two cells never meet', () => {
    expect([firstAcquirerOf({ number: 0 }), firstAcquirerOf({ number: 1 }), firstAcquirerOf({ number: 2 })]).toEqual([
      1, 1_000_001, 2_000_001,
    ]);
  });
});

describe('the status of cells', () => {
  const acquirer = (state: string) => {
    return { id: 7, name: 'Seven', state, generation: 1, peer: null, lastStep: null, lastStepAt: null };
  };
  const status = (name: string, state: string) => {
    return { name, url: '', fault: null, acquirers: [acquirer(state)] };
  };

  test.each([
    ['serving', 'gone', []],
    ['leaving', 'arriving', []],
    ['closing', 'arriving', []],
    ['serving', 'serving', ['acquirer 7 is in a and b']],
    ['gone', 'arriving', ['acquirer 7 is served by no cell: run its move again to complete it']],
  ])('the status of cells names the conflict of an acquirer that is %s in one and %s in the other, if there is one', (one, other, conflicts) => {
    expect(conflictsIn([status('a', one), status('b', other)])).toEqual(conflicts);
  });

  test('reports a cell that does not respond, and not its acquirers as lost', () => {
    const silent = { name: 'b', url: '', fault: 'does not respond', acquirers: [] };
    expect(conflictsIn([status('a', 'gone'), silent])).toEqual(['b: does not respond']);
  });
});
