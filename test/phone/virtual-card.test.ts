import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nextCounter } from '../../src/tools/phone/virtual-card.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-card-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('each card has a counter of its own, also for several commands at once', async () => {
  const path = join(folder, 'counters.json');
  const counters = await Promise.all([nextCounter(path, 'a'), nextCounter(path, 'a'), nextCounter(path, 'b')]);
  expect(counters.slice(0, 2).sort()).toEqual([1, 2]);
  expect(counters[2]).toBe(1);
});

test.each([
  '{bad',
  '[]',
  '{"a":"1"}',
  '{"a":70000}',
  '{"a":-1}',
])('a file with %s is refused, and kept', async (text) => {
  const path = join(folder, 'damaged.json');
  writeFileSync(path, text);
  await expect(nextCounter(path, 'a')).rejects.toThrow(/does not contain counters\. Remove it/);
  expect(readFileSync(path, 'utf8')).toBe(text);
});
