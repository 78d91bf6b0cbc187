import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runVectorFile } from './run-file.ts';

const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.json'));

test.each(files)('every case of %s passes, and skipped ones have a reason', async (file) => {
  const results = await runVectorFile(new URL(file, import.meta.url));
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  expect(results.filter(({ outcome, why }) => outcome === 'skipped' && !why)).toEqual([]);
  expect(results.some(({ outcome }) => outcome === 'passed')).toBe(true);
});
