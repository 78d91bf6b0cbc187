import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Iso8583Error, PlugInError } from '../../basics/errors.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import { compileSpec } from '../../codecs/iso8583/codec.ts';
import type { Field } from '../../codecs/iso8583/rows.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import { PRIMARY_FIELDS_1987, SECONDARY_FIELDS_1987 } from '../../kits/processor-kit/iso-fields.ts';
import { loadProcessor } from '../../kits/processor-kit/load-processors.ts';
import { specToTypeScript } from './write-spec.ts';

/** The names that the files of a new processor use for the fields of ISO 8583, by number. */
const NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries({ ...PRIMARY_FIELDS_1987, ...SECONDARY_FIELDS_1987 }).map(([number, { name }]) => [number, name]),
  ),
  35: 'track2',
  55: 'icc',
};

/**
 * Gives the folder of a new processor the field table of an imported spec, and the samples the bytes that they have with it.
 *
 * @returns why the samples must be written by hand: a message of the folder does not fit the table
 */
export async function beginProcessorWith(spec: Spec, folder: string, type: string): Promise<string | undefined> {
  const name = type.replace(/(?:^|-)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  writeFileSync(join(folder, 'spec.ts'), specToTypeScript({ ...spec, name: type, fields: standardNames(spec) }, name));
  try {
    const { spec: table, samples } = await loadProcessor(join(folder, 'index.ts'));
    const codec = compileSpec(table);
    const wires = samples.map(({ message }) => toHex(codec.toBytes(message as never)));
    const path = join(folder, 'samples.ts');
    let index = 0;
    const text = readFileSync(path, 'utf8').replace(/wireHex:\s*'[^']*'(?:\s*\+\s*'[^']*')*/g, () =>
      hexLines(wires[index++]!),
    );
    writeFileSync(path, text);
    return undefined;
  } catch (error) {
    if (error instanceof Iso8583Error) return error.message;
    if (error instanceof PlugInError) return error.reason;
    throw error;
  }
}

function hexLines(hex: string): string {
  const lines = hex.match(/.{1,100}/g)!.map((line) => `      '${line}'`);
  return `wireHex:\n${lines.join(' +\n')}`;
}

/** Fields of the standard get the names of this gateway; a field of the same name with another number gets its number. */
function standardNames({ fields }: Spec): Record<number, Field> {
  const standard = new Set(Object.keys(fields).map((number) => NAMES[number]));
  return Object.fromEntries(
    Object.entries(fields).map(([number, field]) => {
      const own = standard.has(field.name) ? `${field.name}${number}` : field.name;
      return [number, { ...field, name: NAMES[number] ?? own }];
    }),
  );
}
