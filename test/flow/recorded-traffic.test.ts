import { afterAll, beforeAll, expect, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type { Processor } from '../../src/kits/processor-kit/index.ts';
import { readRecording } from '../../src/tools/simulator/scenarios.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { tapwireHere } from '../support/run-here.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ profile: { deadlineMs: 8_000 } });
});
afterAll(() => installation.stop());

const record = (...args: string[]) => tapwireHere(['processor', 'record', ...args], installation.environment());

test('the payments of a processor are printed masked, and a simulated switch can replay them', async () => {
  for (const amount of ['10.00', '10.51', '20.54']) await installation.phone().tap({ amount, currency: 'ZAR' });
  const { output } = await eventually(async () => {
    const printed = await record('--acquirer', '1', '1');
    expect(printed.output.trim().split('\n')).toHaveLength(3);
    return printed;
  });
  expect(output).not.toContain(Buffer.from('4111111111111111').toString('hex').toUpperCase());
  const processor = type1 as unknown as Processor;
  const responses = readRecording(output, processor, processor.exampleConfig);
  expect(responses.map(({ amountMinor, scenario }) => [amountMinor, scenario])).toEqual([
    [10_00, { kind: 'response', responseCode: '00' }],
    [10_51, { kind: 'response', responseCode: '51' }],
    [20_54, { kind: 'response', responseCode: '54' }],
  ]);
});

test('another acquirer’s processor, a later time and bad arguments print nothing of it', async () => {
  expect((await record('--acquirer', '2', '1')).output).toBe('');
  expect((await record('--acquirer', '1', '--since', '2999-01-01T00:00:00Z', '1')).output).toBe('');
  for (const bad of [
    ['--since', 'yesterday'],
    ['--limit', '0'],
    ['--limit', '200001'],
  ]) {
    const { exitCode, output } = await record('--acquirer', '1', ...bad, '1');
    expect(exitCode).toBe(1);
    expect(output).toContain(bad[0]);
  }
});
