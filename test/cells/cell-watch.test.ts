import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CellWatch } from '../../src/tools/cells/cell-status.ts';

const CELLS = ['east', 'west'].map((name, number) => ({
  ...{ name, number, backend: name, url: `https://${name}.example` },
  database: 'postgres://nowhere.invalid/tapwire',
}));

function listOf(cells: unknown): string {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-cells-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'cells.json');
  writeFileSync(path, JSON.stringify({ cells }));
  return path;
}

test('a cell that does not respond is reported in time, is not asked again meanwhile, and hides no other', async () => {
  const silent = Promise.withResolvers<never>();
  const asked: string[] = [];
  const serving = {
    id: 1,
    name: 'First',
    state: 'serving',
    generation: 0,
    peer: null,
    lastStep: null,
    lastStepAt: null,
  };
  const watch = new CellWatch(listOf(CELLS), {
    withinMs: 10,
    read: async ({ name, url }) => {
      asked.push(name);
      return name === 'east' ? silent.promise : { name, url, fault: null, acquirers: [serving] };
    },
  });
  for (const _look of [1, 2]) {
    const { cells, conflicts } = await watch.report();
    expect(cells).toMatchObject([
      { name: 'east', fault: expect.stringContaining('has not responded') },
      { name: 'west', fault: null, acquirers: [serving] },
    ]);
    expect(conflicts).toEqual([expect.stringMatching(/^east: its database has not responded/)]);
  }
  expect(asked).toEqual(['east', 'west', 'west']);
});

test('a reference that leads to nothing is a fault of its cell; without a list there are no cells', async () => {
  const watch = new CellWatch(listOf([{ ...CELLS[0], database: 'env:TAPWIRE_NO_SUCH_URL' }]));
  expect((await watch.report()).cells).toMatchObject([{ fault: expect.stringContaining('TAPWIRE_NO_SUCH_URL') }]);
  expect(await new CellWatch('/nonexistent/cells.json').report()).toEqual({ cells: [], conflicts: [], omitted: 0 });
});
