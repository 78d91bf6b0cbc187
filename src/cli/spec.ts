import { existsSync, writeFileSync } from 'node:fs';
import { StartError } from '../basics/errors.ts';
import type { Spec } from '../codecs/iso8583/spec.ts';
import { writeJposPackager } from '../tools/specs/jpos-packager.ts';
import { writeMoovSpec } from '../tools/specs/moov-spec.ts';
import { type ReadSpecFile, readSpecFile } from '../tools/specs/read-spec.ts';
import { diffSpecs, Findings, type SpecDifference } from '../tools/specs/spec-diff.ts';
import { specToJson, specToTypeScript } from '../tools/specs/write-spec.ts';
import { flag, readWords, text } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { installedTypes } from './plug-ins.ts';

const IMPORT_USAGE = `usage: tapwire spec import FILE [--format json|typescript] [--out FILE]

  FILE        a GenericPackager of jPOS (XML), a spec of moov-io/iso8583 or pyiso8583 (JSON); its content shows which
  --format    json (default): for --spec of decode, encode and diff; typescript: spec.ts of a processor
  --out FILE  write there instead of standard output

Fields that a table of Tapwire cannot express are listed with line, field and reason, and nothing is written.`;

const EXPORT_USAGE = `usage: tapwire spec export FILE|TYPE --as jpos|moov [--out FILE]

  FILE  a spec in any form that tapwire spec import reads, or in that of Tapwire; or the name of a processor type

Fields that the other form cannot express are listed with the reason, and nothing is written.`;

const DIFF_USAGE = `usage: tapwire spec diff A B [--json]

  A, B  each a spec in any form, or the name of a processor type

Shows by field where they differ: content, encoding, length, prefix, padding. Names do not matter. Exit code 0: no
difference; 1: some.`;

/** `tapwire spec`: specifications of networks in the forms of other tools. */
export const commands: Commands = {
  import: command(
    'FILE [--format json|typescript] [--out FILE]: convert a packager of jPOS or a spec of moov or pyiso8583',
    importSpec,
    IMPORT_USAGE,
  ),
  export: command('FILE|TYPE --as jpos|moov [--out FILE]: write a spec for another tool', exportSpec, EXPORT_USAGE),
  diff: command('A B [--json]: show by field where two specs differ', diff, DIFF_USAGE),
};

const out = { out: text };

async function importSpec(args: string[]): Promise<void> {
  const options = { format: { ...text, default: 'json' }, ...out };
  const { values, words } = readWords(args, options);
  if (words.length !== 1 || !['json', 'typescript'].includes(values.format))
    throw new StartError('BAD_USAGE', IMPORT_USAGE);
  const { spec, notes } = await readSpecOf(words[0]!);
  report(notes);
  write(
    values.out,
    values.format === 'json' ? `${JSON.stringify(specToJson(spec), null, 2)}\n` : specToTypeScript(spec, 'Iso'),
  );
}

const WRITERS: Readonly<Record<string, (spec: Spec, findings: Findings) => string>> = {
  jpos: writeJposPackager,
  moov: writeMoovSpec,
};

async function exportSpec(args: string[]): Promise<void> {
  const { values, words } = readWords(args, { as: text, ...out });
  const writer = Object.hasOwn(WRITERS, values.as ?? '') ? WRITERS[values.as!] : undefined;
  if (words.length !== 1 || writer === undefined) throw new StartError('BAD_USAGE', EXPORT_USAGE);
  const findings = new Findings(words[0]!);
  const { spec } = await readSpecOf(words[0]!);
  const written = writer(spec, findings);
  report(findings.notes);
  write(values.out, written);
}

async function diff(args: string[]): Promise<number> {
  const { values, words } = readWords(args, { json: flag });
  if (words.length !== 2) throw new StartError('BAD_USAGE', DIFF_USAGE);
  const [before, after] = [await readSpecOf(words[0]!), await readSpecOf(words[1]!)];
  const differences = diffSpecs(before.spec, after.spec);
  console.log(values.json ? JSON.stringify(differences, null, 2) : inLines(differences));
  return differences.length === 0 ? 0 : 1;
}

function inLines(differences: readonly SpecDifference[]): string {
  if (differences.length === 0) return 'no difference';
  return differences
    .map(({ field, property, before, after }) => `${field}  ${property}: ${before ?? '(none)'} -> ${after ?? '(none)'}`)
    .join('\n');
}

/** A file, or a processor type of this installation. */
export async function readSpecOf(name: string): Promise<Pick<ReadSpecFile, 'spec' | 'notes'>> {
  const types = await installedTypes();
  const find = (type: string) => types.get(type)?.spec;
  if (existsSync(name)) return readSpecFile(name, find);
  const spec = find(name);
  if (spec === undefined)
    throw new StartError('BAD_CONFIG', `${name}: expected a file, or one of ${[...types.keys()].join(', ')}`);
  return { spec, notes: [] };
}

/** On standard error, so that the table alone is on standard output. */
export function report(notes: readonly string[]): void {
  for (const note of notes) console.error(`note: ${note}`);
}

function write(path: string | undefined, content: string): void {
  if (path === undefined) console.log(content.trimEnd());
  else writeFileSync(path, content);
}
