import { expect, test } from 'vitest';
import { bytesText, sizeOf } from '../../src/tools/size/size-installation.ts';
import { tapwireHere } from '../support/run-here.ts';

const OPTIONS = { peakFactor: 4, merchants: 0, terminalsPerMerchant: 2, messageDays: 30, webhookDays: 30 };

test('a hundred taps per second, by hand', () => {
  const { bytes, ...size } = sizeOf({ ...OPTIONS, tapsPerSecond: 100 });
  // 400 × 1.7 ms is 0.68 of a core, in two halves; 400 × 0.92 ms is 0.37, in one.
  expect(size).toMatchObject({ processes: 2, postgresCores: 1, connections: 2 * 17 + 15, commitsPerSecond: 800 });
  expect(bytes.transactionsPerYear).toBe(100 * 86_400 * 365 * (3_305 + 208));
  // 2^45 bytes of references, of which a year has 656 GB.
  expect(size.yearsToTableLimit).toBeCloseTo(53.6, 1);
});

test('five thousand need processes on several machines, and nothing is less than for fewer taps', () => {
  const [small, large] = [100, 5_000].map((tapsPerSecond) => sizeOf({ ...OPTIONS, tapsPerSecond }));
  expect(large!.processes).toBe(Math.ceil((20_000 * 1.7) / 500));
  for (const name of ['processes', 'postgresCores', 'connections', 'commitsPerSecond'] as const)
    expect(large![name]).toBeGreaterThan(small![name]);
  // A month of 43 TB is larger than a table can be, after 24 of its days.
  expect(large!.yearsToTableLimit * 365).toBeCloseTo(24.6, 1);
  expect(large!.bytes.walPerDay).toBe(50 * small!.bytes.walPerDay);
});

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1_234_567, '1.23 MB'],
  [32 * 2 ** 40, '35.2 TB'],
  [1e21, '1000000 PB'],
])('%d bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

test('the command takes rates of a second, an hour and a day, and refuses everything else with a sentence', async () => {
  const peakOf = async (taps: string) => {
    const { stdout } = await tapwireHere(['size', '--taps', taps, '--json'], {});
    return JSON.parse(stdout).peakPerSecond;
  };
  expect(await peakOf('25/s')).toBe(100);
  expect(await peakOf('90000/h')).toBe(100);
  expect(await peakOf('2160000/d')).toBe(100);
  for (const args of [
    [],
    ['--taps', '0/s'],
    ['--taps', '1e9/s'],
    ['--taps', '100'],
    ['--taps', '1/s', '--peak', '0'],
  ]) {
    const { exitCode, stderr } = await tapwireHere(['size', ...args], {});
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^tapwire: --/);
  }
});
