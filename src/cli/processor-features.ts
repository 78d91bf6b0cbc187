import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withFeatureTable } from '../processor-kit/feature-table.ts';
import { BUILT_IN_FOLDER, loadProcessors } from '../processor-kit/load-processors.ts';

/** `tapwire processor features`: writes the table of processors/README.md anew. `npm test` checks that it is current. */
export async function run(): Promise<number> {
  await writeFeatureTable();
  return 0;
}

/** Told by the processors of this repository themselves, one column each. */
export async function writeFeatureTable(): Promise<void> {
  const path = join(BUILT_IN_FOLDER, 'README.md');
  const processors = await loadProcessors();
  writeFileSync(path, withFeatureTable(readFileSync(path, 'utf8'), processors.values()));
  console.log(`${path}: ${processors.size} processors`);
}
