import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './broken-copy.ts';
import { tableRow } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';

test.each(
  MUTATIONS.map((mutation) => [mutation.name, mutation] as const),
)('each text that the mutation "%s" replaces occurs once', (_name, { also = [], ...edit }) => {
  for (const { file, before, after } of [edit, ...also]) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    expect(text.split(before)).toHaveLength(2);
    expect(after).not.toBe(before);
  }
});

test('mutations have unique names', () => {
  expect(new Set(MUTATIONS.map(({ name }) => name)).size).toBe(MUTATIONS.length);
});

test('the table in test/README.md contains each of them', () => {
  const text = readFileSync(join(ROOT, 'test/README.md'), 'utf8');
  for (const mutation of MUTATIONS) expect(text).toContain(tableRow(mutation));
});
