import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withFeatureTable } from '../../src/processor-kit/feature-table.ts';
import { loadProcessors } from '../../src/processor-kit/load-processors.ts';

test('processors/README.md tells what the processors can do as they are', async () => {
  const readme = readFileSync(new URL('../../processors/README.md', import.meta.url), 'utf8');
  const processors = await loadProcessors();
  expect(readme, '`npm run tapwire -- processor features` writes it anew').toBe(
    withFeatureTable(readme, processors.values()),
  );
  for (const { name } of processors.values()) expect(readme).toContain(name);
});
