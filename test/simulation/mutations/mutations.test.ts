import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './broken-copy.ts';
import { tableRow } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';

test.each(
  MUTATIONS.map((mutation) => [mutation.name, mutation] as const),
)('what the mutation "%s" replaces is there once', (_name, { file, before, after }) => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  expect(text.split(before)).toHaveLength(2);
  expect(after).not.toBe(before);
});

test('mutations have names of their own', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
});

test('the table in test/README.md has each of them', () => {
  const text = readFileSync(join(ROOT, 'test/README.md'), 'utf8');
  for (const mutation of MUTATIONS) expect(text).toContain(tableRow(mutation));
});
