import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { settings } from '../config.ts';
import { enumTables } from '../docs/enum-tables.ts';
import { withSections } from '../docs/sections.ts';
import { transactionStates } from '../docs/transaction-states.ts';
import { codeTable } from '../processor-kit/code-table.ts';
import { featureTable } from '../processor-kit/feature-table.ts';
import { fieldTable } from '../processor-kit/field-table.ts';
import { builtInEntries, loadProcessors } from '../processor-kit/load-processors.ts';
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
  ...Object.fromEntries(builtInTypes().map((type) => [`processors/${type}/README.md`, withSectionsOf(type)])),
  'schemas/README.md': (before) => withSections(before, enumTables()),
  'src/transactions/README.md': (before) => withSections(before, transactionStates()),
};

/** The folders of processors/. */
function builtInTypes(): string[] {
  return builtInEntries().map((entry) => basename(dirname(entry)));
}

/** The rules of a processor type; its fields and its codes where the page has room for them. */
function withSectionsOf(type: string): (before: string) => Promise<string> {
  return async (before) => {
    const processor = (await loadProcessors()).get(type)!;
    const sections = {
      rules: ruleTable(processor.requestRules ?? [], processor.spec.fields),
      fields: fieldTable(processor),
      codes: codeTable(processor.profile),
    };
    const wanted = Object.entries(sections).filter(([name]) => name === 'rules' || before.includes(`<!-- ${name} -->`));
    return withSections(before, Object.fromEntries(wanted));
  };
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
