import { expect, test } from 'vitest';
import { SimulatorError } from '../../src/basics/errors.ts';
import { faultDraw, parseShare, seededRandom } from '../../src/tools/simulator/faults.ts';

test('neither a fault nor a random number is drawn without shares', () => {
  expect(faultDraw({})).toBeUndefined();
  expect(faultDraw({ drop: 0 })).toBeUndefined();
});

test('faults occur with their share, and one seed repeats them', () => {
  const draw = faultDraw({ drop: 0.1, late: 0.2 })!;
  const count = (seed: number) => {
    const random = seededRandom(seed);
    const drawn = Array.from({ length: 20_000 }, () => draw(random));
    return [drawn.filter((kind) => kind === 'drop').length, drawn.filter((kind) => kind === 'late').length] as const;
  };
  const [drops, lates] = count(7);
  expect(drops).toBeGreaterThan(1_800);
  expect(drops).toBeLessThan(2_200);
  expect(lates).toBeGreaterThan(3_700);
  expect(lates).toBeLessThan(4_300);
  expect(count(7)).toEqual([drops, lates]);
  expect(count(8)).not.toEqual([drops, lates]);
});

test('invalid shares, or shares above one in total, are refused', () => {
  expect(() => faultDraw({ drop: -0.1 })).toThrow(SimulatorError);
  expect(() => faultDraw({ drop: Number.NaN })).toThrow(SimulatorError);
  expect(() => faultDraw({ drop: 0.6, late: 0.6 })).toThrow(SimulatorError);
});

test('a share is read as a percentage or a fraction', () => {
  expect(parseShare('0.1%')).toBeCloseTo(0.001);
  expect(parseShare('5%')).toBeCloseTo(0.05);
  expect(parseShare('0.25')).toBe(0.25);
  for (const text of ['', '5', '101%', '-1%', 'many', '1e-3']) expect(() => parseShare(text)).toThrow(SimulatorError);
});
