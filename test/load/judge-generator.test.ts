import { cpus } from 'node:os';
import { expect, test } from 'vitest';
import { judgeGenerator } from '../../src/tools/load/load-result.ts';
import type { LoadRecord } from '../../src/tools/load/load-run.ts';
import type { MachineSample } from '../../src/tools/load/machine-watch.ts';
import { emptySlice } from '../../src/tools/load/tally.ts';

const CORES = cpus().length;
const RECORD: LoadRecord = { startedAtMs: 0, seconds: [emptySlice()], total: emptySlice(), sendingSeconds: 1 };

/** @param own cores of the gateway; without it no process is visible */
function sample(machineCores: number, own?: number): MachineSample {
  const processes: MachineSample['processes'] = own === undefined ? {} : { gateway: { cores: own, memoryBytes: 1 } };
  return { second: 1, gateway: undefined, processes, machineCores };
}

test('other programs that keep the machine busy are reported, because they slow gateway and generator alike', () => {
  const { isLimit, description } = judgeGenerator(RECORD, 1, [
    sample(CORES, 0.1),
    sample(CORES, 0.1),
    sample(0.2, 0.1),
  ]);
  expect(isLimit).toBe(true);
  expect(description).toEqual([
    `other programs took ${(CORES - 0.1).toFixed(1)} of the ${CORES} cores of this machine`,
  ]);
});

test.each([
  ['is busy with the gateway alone', [sample(CORES, CORES)]],
  ['cannot tell its processes', [sample(CORES)]],
  ['was not watched', []],
])('a machine that %s reports no other programs', (_what, samples) => {
  expect(judgeGenerator(RECORD, 1, samples)).toMatchObject({ isLimit: false, description: [] });
});
