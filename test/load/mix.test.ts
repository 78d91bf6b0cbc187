import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findScenario, mixDraw, readMix, SCENARIO_NAMES } from '../../src/tools/load/scenarios.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';

const folder = mkdtempSync(join(tmpdir(), 'tapwire-mix-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(text: string): string {
  const path = join(folder, 'mix.json');
  writeFileSync(path, text);
  return path;
}

describe('a mix', () => {
  test('draws each scenario in proportion to its weight, and those of weight 0 never', () => {
    const draw = mixDraw({ approve: 6, decline: 3, timeout: 1, pin: 0 }, seededRandom(5));
    const counts = new Map<string, number>();
    for (let at = 0; at < 10_000; at++) {
      const name = draw();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual(['approve', 'decline', 'timeout']);
    expect(counts.get('approve')! / 10_000).toBeCloseTo(0.6, 1);
    expect(counts.get('timeout')! / 10_000).toBeCloseTo(0.1, 1);
  });

  test('may name every scenario, and a decline with its code', () => {
    const names = [...SCENARIO_NAMES.filter((name) => name !== 'decline-NN'), 'decline-51'];
    expect(readMix(fileOf(JSON.stringify(Object.fromEntries(names.map((name) => [name, 1])))))).toHaveProperty(
      'link',
      1,
    );
    expect(names.every((name) => findScenario(name) !== undefined)).toBe(true);
  });

  test.each([
    ['{"aprove": 1}', 'unknown scenario aprove; known are approve, decline'],
    ['{"decline-69": 1}', 'unknown scenario decline-69'],
    ['{"__proto__x": 1}', 'unknown scenario __proto__x'],
    ['{"toString": 1}', 'unknown scenario toString'],
    ['{"approve": -1}', 'approve: '],
    ['{"approve": "many"}', 'approve: '],
    ['{"approve": 0}', 'no scenario has a weight above 0'],
    ['{}', 'no scenario has a weight above 0'],
    ['[1]', 'expected {"approve": 90'],
    ['not json', 'It is not JSON'],
  ])('is refused in one line as %s', (text, why) => {
    expect(() => readMix(fileOf(text))).toThrow(why);
  });

  test('a mix that cannot be read is refused with its path', () => {
    expect(() => readMix(join(folder, 'none.json'))).toThrow(/--mix .*none\.json: There is no such file/);
  });
});
