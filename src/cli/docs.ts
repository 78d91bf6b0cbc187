import { readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { DE55_TAGS } from '../codecs/emv/de55.ts';
import { tagText } from '../codecs/emv/tlv.ts';
import { codeTable, featureTable } from '../kits/processor-kit/feature-table.ts';
import { builtInEntries, loadProcessors } from '../kits/processor-kit/load-processors.ts';
import type { Processor } from '../kits/processor-kit/processor.ts';
import { ruleTable } from '../kits/processor-kit/request-rules.ts';
import { settings } from '../start/config.ts';
import { cardDataFlow } from '../tools/docs/card-data-flow.ts';
import { elementTable, fieldTable, otherFieldTable, repeatTable } from '../tools/docs/processors/field-table.ts';
import { exampleMacs, sampleBytes, sampleFrames } from '../tools/docs/processors/sample-bytes.ts';
import { alertTable, enumTables, withSections } from '../tools/docs/tables.ts';
import { transactionStates } from '../tools/docs/transaction-states.ts';
import { sizeTable } from '../tools/size/size-installation.ts';
import { flag, readOptions } from './arguments.ts';
import { exampleOf } from './config.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire docs [--check]

  --check  write nothing, and name the documents that are out of date; exit code 1 if there are any`;

/** The root of the repository. */
const ROOT = new URL('../../', import.meta.url);
const ALERTS = new URL('src/observe/prometheus/alerts.yml', ROOT);

/**
 * Every document that is generated from the code, completely or in sections. The function maps present text to
 * required text.
 */
const DOCUMENTS: Readonly<Record<string, (before: string) => string | Promise<string>>> = {
  '.env.example': () => `${exampleOf(settings())}\n`,
  'deploy/compliance/card-data.md': (before) => withSections(before, { 'card-data-flow': cardDataFlow() }),
  'deploy/runbooks.md': (before) => withSections(before, { alerts: alertTable(readFileSync(ALERTS, 'utf8')) }),
  'processors/README.md': async (before) =>
    withSections(before, { features: featureTable((await loadProcessors()).values()) }),
  ...Object.fromEntries(builtInTypes().map((type) => [`processors/${type}/README.md`, withSectionsOf(type)])),
  'src/observe/README.md': (before) => withSections(before, { sizes: sizeTable(SHOWN_SIZES) }),
  'schemas/README.md': (before) => withSections(before, enumTables()),
  'src/payments/README.md': (before) => withSections(before, transactionStates()),
};

/** The defaults of the settings and of `tapwire size`. */
const SHOWN_SIZES = { peakFactor: 4, merchants: 10_000, terminalsPerMerchant: 2, messageDays: 30, webhookDays: 30 };

/** The folders of processors/. */
function builtInTypes(): string[] {
  return builtInEntries().map((entry) => basename(dirname(entry)));
}

/** The rules of a processor type, and what else its page has a place for. */
function withSectionsOf(type: string): (before: string) => Promise<string> {
  return async (before) => {
    const processor = (await loadProcessors()).get(type)!;
    const wanted = Object.entries(PROCESSOR_SECTIONS).filter(
      ([name]) => name === 'rules' || before.includes(`<!-- ${name} -->`),
    );
    return withSections(before, Object.fromEntries(wanted.map(([name, make]) => [name, make(processor)])));
  };
}

const PROCESSOR_SECTIONS: Readonly<Record<string, (processor: Processor) => string>> = {
  rules: ({ requestRules = [], spec }) => ruleTable(requestRules, spec.fields),
  fields: fieldTable,
  elements: elementTable,
  'chip-tags': () => `\`${DE55_TAGS.map(tagText).join(' ')}\``,
  'other-fields': otherFieldTable,
  codes: ({ profile }) => codeTable(profile),
  repeats: repeatTable,
  macs: exampleMacs,
  'sale-bytes': (processor) => sampleBytes(processor, 'tap'),
  'response-bytes': (processor) => sampleBytes(processor, 'approved'),
  frames: sampleFrames,
};

/**
 * `tapwire docs`: writes the generated parts of the documentation. `--check` writes nothing and names each outdated
 * document; the exit code is 1 when there is one.
 */
export async function run(args: string[]): Promise<number> {
  const values = readOptions(args, { check: flag });
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
