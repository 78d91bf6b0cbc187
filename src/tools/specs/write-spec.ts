import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Iso8583Error, PlugInError } from '../../basics/errors.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import { tagText } from '../../codecs/emv/tlv.ts';
import { compileSpec } from '../../codecs/iso8583/codec.ts';
import type { Field } from '../../codecs/iso8583/rows.ts';
import type { Encodings, Spec } from '../../codecs/iso8583/spec.ts';
import { PRIMARY_FIELDS_1987, SECONDARY_FIELDS_1987 } from '../../kits/processor-kit/iso-fields.ts';
import { loadProcessor } from '../../kits/processor-kit/load-processors.ts';

type Json = Readonly<Record<string, unknown>>;

/** A spec in the JSON form that `tapwire decode --spec FILE.json` reads (`json-spec.ts`). */
export function specToJson({ fields, layouts, encodings, ...spec }: Spec): Json {
  return {
    ...spec,
    encodings: encodings satisfies Encodings,
    ...(layouts === undefined
      ? {}
      : { layouts: layouts.map(({ mti, fields: changed }) => ({ mti, fields: tableToJson(changed) })) }),
    fields: tableToJson(fields),
  };
}

function tableToJson(fields: Readonly<Record<string, Field | null>>): Json {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, field && fieldToJson(field)]));
}

function fieldToJson(field: Field): Json {
  const { kind, min, max, emvTag, name, title, ...rest } = field;
  const { content, allow, fields, ...others } = rest as Record<string, unknown>;
  const type = kind === 'text' ? content : kind === 'binary' ? 'b' : kind;
  const size = min === max ? { length: max } : { min, max };
  return {
    name,
    ...(title === undefined ? {} : { title }),
    type,
    ...size,
    ...others,
    ...(emvTag === undefined ? {} : { emvTag: tagText(emvTag) }),
    ...(allow === undefined ? {} : { allow: (allow as readonly number[]).map(tagText) }),
    ...(fields === undefined ? {} : { fields: subfieldsToJson(field) }),
  };
}

function subfieldsToJson(field: Field): unknown {
  if (field.kind === 'positional') return field.fields.map(fieldToJson);
  return 'fields' in field ? tableToJson(field.fields) : undefined;
}

/** The line width of this repository. */
const MAX_COLUMNS = 120;

/** A spec as the file `spec.ts` of a processor's folder. `type` is the name of its messages: `Acme`. */
export function specToTypeScript(spec: Spec, type: string): string {
  const used = new Set<string>();
  const fields = Object.entries(spec.fields).map(([key, field]) => `    ${key}: ${callOf(field, 2, used)},`);
  const { headerBytes, bitmap, mti, encodings, rules, layouts } = spec;
  const layoutLines = layouts?.map(
    ({ mti: pattern, fields: changed }) =>
      `    { mti: ${literal(pattern)}, fields: { ${Object.entries(changed)
        .map(([key, field]) => `${key}: ${field === null ? 'null' : callOf(field, 2, used)}`)
        .join(', ')} } },`,
  );
  const header = headerBytes === undefined ? [] : [`  headerBytes: ${literal(headerBytes)},`];
  const imports = [...used, 'compileSpec', 'defineSpec', 'type MessageCodec', 'type MessageOf', 'type Mutable'];
  const sorted = imports.sort((a, b) => plain(a).localeCompare(plain(b), 'en'));
  return `import {
${sorted.map((each) => `  ${each},`).join('\n')}
} from '#processor-kit';

// EDIT: mark the fields that every user of the console may see with \`safe: true\`. All other values are masked.
export const spec = defineSpec({
  name: ${literal(spec.name)},
${header.join('\n')}${header.length > 0 ? '\n' : ''}  mti: ${literal(mti)},
  bitmap: ${literal(bitmap)},
  encodings: ${literal(encodings)},
  fields: {
${fields.join('\n')}
  },${layoutLines?.length ? `\n  layouts: [\n${layoutLines.join('\n')}\n  ],` : ''}${rules?.length ? `\n  rules: ${literal(rules)},` : ''}
});

export type ${type}Message = Mutable<MessageOf<typeof spec>>;

export const codec: MessageCodec<${type}Message> = compileSpec(spec);
`;
}

const plain = (name: string) => name.replace('type ', '');

/** The call of the kit that makes a row (`fields.ts`). */
function callOf(field: Field, depth: number, used: Set<string>): string {
  const { kind, min, max, ...rest } = field;
  const { content, fields, ...others } = rest as Record<string, unknown>;
  const isFixed = field.prefix === undefined && field.end === undefined;
  const least = field.end === 'rest' ? 1 : isFixed ? max : 0;
  const call = kind === 'text' ? callOfText(field.content) : { function: kind as string, unit: 'Bytes', signs: 0 };
  const { name, title, ...properties } = others;
  const parts = {
    name,
    ...(title === undefined ? {} : { title }),
    [call.unit.toLowerCase()]: max - call.signs,
    ...(min === least ? {} : { [`min${call.unit}`]: min - call.signs }),
    ...(call.function === 'text' ? { content } : {}),
    ...(content === '+n' ? { signs: '+-' } : {}),
    ...properties,
  };
  used.add(call.function);
  if (fields === undefined) return `${call.function}(${wrapped(parts, depth)})`;
  const margin = '  '.repeat(depth + 1);
  const inner =
    field.kind === 'positional'
      ? field.fields.map((each) => `${margin}  ${callOf(each, depth + 2, used)},`)
      : Object.entries((field as { fields: Readonly<Record<string, Field>> }).fields).map(
          ([key, each]) => `${margin}  ${keyOf(key)}: ${callOf(each, depth + 2, used)},`,
        );
  const [open, close] = field.kind === 'positional' ? ['[', ']'] : ['{', '}'];
  const own = Object.entries(parts).map(([key, value]) => `${margin}${key}: ${literal(value)},`);
  return `${call.function}({\n${own.join('\n')}\n${margin}fields: ${open}\n${inner.join('\n')}\n${margin}${close},\n${'  '.repeat(depth)}})`;
}

/** The function for text of a content, how it counts, and whether it counts the sign. */
function callOfText(content: string): { readonly function: string; readonly unit: string; readonly signs: 0 | 1 } {
  if (content === 'n') return { function: 'numeric', unit: 'Digits', signs: 0 };
  if (content === 'z') return { function: 'track2', unit: 'Digits', signs: 0 };
  if (content === 'x+n' || content === '+n') return { function: 'signedAmount', unit: 'Digits', signs: 1 };
  return { function: 'text', unit: 'Characters', signs: 0 };
}

function wrapped(parts: Json, depth: number): string {
  const line = literal(parts);
  // The number of the field and the function precede the object.
  if (line.length + depth * 2 + 24 <= MAX_COLUMNS) return line;
  const margin = '  '.repeat(depth + 1);
  const lines = Object.entries(parts).map(([key, value]) => `${margin}${key}: ${literal(value)},`);
  return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`;
}

const keyOf = (key: string) => (/^([A-Za-z_$][\w$]*|0|[1-9]\d*)$/.test(key) ? key : literal(key));

/** A value as source text. Strings of a file are data, so any character stays inside the quotes. */
function literal(value: unknown): string {
  if (typeof value === 'string') {
    const escaped = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
    return `'${escaped}'`.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  }
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return `{ ${entries.map(([key, each]) => `${keyOf(key)}: ${literal(each)}`).join(', ')} }`;
}

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
