import { expect, test } from 'vitest';
import { SimulatorError } from '../../src/basics/errors.ts';
import { parseLatency, seededRandom } from '../../src/tools/simulator/faults.ts';

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]!;

function draw(text: string): number[] {
  const latency = parseLatency(text);
  const random = seededRandom(1);
  return Array.from({ length: 20_000 }, () => latency(random));
}

test('a lognormal latency has the given median and 99th percentile', () => {
  const delays = draw('lognormal:8ms,p99=40ms');
  expect(percentile(delays, 0.5)).toBeGreaterThan(7.7);
  expect(percentile(delays, 0.5)).toBeLessThan(8.3);
  expect(percentile(delays, 0.99)).toBeGreaterThan(36);
  expect(percentile(delays, 0.99)).toBeLessThan(44);
});

test('a uniform latency is within its bounds, a fixed one is constant', () => {
  const delays = draw('uniform:5ms,max=20ms');
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(5);
  expect(Math.max(...delays)).toBeLessThan(20);
  expect(new Set(draw('3ms'))).toEqual(new Set([3]));
});

test.each([
  '',
  'soon',
  '8',
  'lognormal:8ms',
  'lognormal:8ms,p99=4ms',
  '999999999ms',
  '1.2.3ms',
])('latency "%s" is refused', (text) => {
  expect(() => parseLatency(text)).toThrow(SimulatorError);
});
