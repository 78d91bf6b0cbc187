import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { settings } from '../config.ts';
import { enumTables } from '../docs/enum-tables.ts';
import { withSections } from '../docs/sections.ts';
import { transactionStates } from '../docs/transaction-states.ts';
import { featureTable } from '../processor-kit/feature-table.ts';
import { loadProcessors } from '../processor-kit/load-processors.ts';
import { exampleOf } from './config.ts';
import { flag } from './words.ts';

/** From the root of the repository. */
const ROOT = new URL('../../', import.meta.url);

/** Every document that is made from the code, wholly or in sections: given as it is, as it should be. */
const DOCUMENTS: Readonly<Record<string, (before: string) => string | Promise<string>>> = {
  '.env.example': () => `${exampleOf(settings())}\n`,
  'processors/README.md': async (before) =>
    withSections(before, { features: featureTable((await loadProcessors()).values()) }),
  'schemas/README.md': (before) => withSections(before, enumTables()),
  'src/transactions/README.md': (before) => withSections(before, transactionStates()),
};

/**
 * `tapwire docs`: writes what the documentation has from the code. `--check` writes nothing, and names what is out of date.
 * Exit code 1 when something is.
 */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { check: flag } });
  const outdated = await outdatedDocuments();
  for (const { path, text } of outdated) {
    if (!values.check) writeFileSync(new URL(path, ROOT), text);
    console.log(values.check ? `${path} is not what the code says: npm run docs` : `${path} is written anew`);
  }
  return values.check && outdated.length > 0 ? 1 : 0;
}

/** The documents that are not what the code says, and what they should be. */
export async function outdatedDocuments(): Promise<{ readonly path: string; readonly text: string }[]> {
  const all = Object.entries(DOCUMENTS).map(async ([path, make]) => {
    const before = readFileSync(new URL(path, ROOT), 'utf8');
    const text = await make(before);
    return text === before ? [] : [{ path, text }];
  });
  return (await Promise.all(all)).flat();
}
