import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { featureTable } from '../../src/processor-kit/feature-table.ts';
import { loadProcessors } from '../../src/processor-kit/load-processors.ts';

const README = new URL('../../processors/README.md', import.meta.url);
const GENERATED = /(?<=<!-- features -->\n)[\s\S]*(?=<!-- \/features -->)/;

test('processors/README.md tells what the processors can do as they are', async () => {
  const table = `\n${featureTable((await loadProcessors()).values())}\n\n`;
  const readme = readFileSync(README, 'utf8');
  if (process.env.UPDATE_FEATURES === '1') writeFileSync(README, readme.replace(GENERATED, table));
  expect(readFileSync(README, 'utf8').match(GENERATED)?.[0]).toBe(table);
});
