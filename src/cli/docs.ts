import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { settings } from '../config.ts';
import { enumTables } from '../docs/enum-tables.ts';
import { withSections } from '../docs/sections.ts';
import { transactionStates } from '../docs/transaction-states.ts';
import { featureTable } from '../processor-kit/feature-table.ts';
import { loadProcessors } from '../processor-kit/load-processors.ts';
import { ruleTable } from '../processor-kit/request-rules.ts';
import { exampleOf } from './config.ts';
import { flag } from './words.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire docs [--check]

  --check  write nothing, and name the documents that are out of date; exit code 1 if there are any`;

/** The root of the repository. */
const ROOT = new URL('../../', import.meta.url);

/**
 * Every document that is generated from the code, completely or in sections. The function maps present text to
 * required text.
 */
const DOCUMENTS: Readonly<Record<string, (before: string) => string | Promise<string>>> = {
  '.env.example': () => `${exampleOf(settings())}\n`,
  'processors/README.md': async (before) =>
    withSections(before, { features: featureTable((await loadProcessors()).values()) }),
  'processors/type-1/README.md': (before) => withRules(before, 'type-1'),
  'processors/type-2/README.md': (before) => withRules(before, 'type-2'),
  'schemas/README.md': (before) => withSections(before, enumTables()),
  'src/transactions/README.md': (before) => withSections(before, transactionStates()),
};

async function withRules(before: string, type: string): Promise<string> {
  const { requestRules = [], spec } = (await loadProcessors()).get(type)!;
  return withSections(before, { rules: ruleTable(requestRules, spec.fields) });
}

/**
 * `tapwire docs`: writes the generated parts of the documentation. `--check` writes nothing and names each outdated
 * document; the exit code is 1 when there is one.
 */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { check: flag } });
  const outdated = await outdatedDocuments();
  for (const { path, text } of outdated) {
    if (!values.check) writeFileSync(new URL(path, ROOT), text);
    console.log(values.check ? `${path} is out of date. Run npm run docs.` : `${path} was updated.`);
  }
  return values.check && outdated.length > 0 ? 1 : 0;
}

/** The outdated documents with their required texts. */
export async function outdatedDocuments(): Promise<{ readonly path: string; readonly text: string }[]> {
  const all = Object.entries(DOCUMENTS).map(async ([path, make]) => {
    const before = readFileSync(new URL(path, ROOT), 'utf8');
    const text = await make(before);
    return text === before ? [] : [{ path, text }];
  });
  return (await Promise.all(all)).flat();
}
