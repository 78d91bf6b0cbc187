import { toHex } from '../bytes/hex.ts';
import type { Field } from '../iso8583/spec.ts';
import type { Processor } from './processor.ts';
import type { ProcessorSample } from './simulation.ts';

/** Longer examples would hide the table. */
const EXAMPLE_CHARACTERS = 40;

/**
 * The fields that messages of this type have, as Markdown: format, example, and the messages with the field. All of it
 * is read from the spec and the samples. A message type in brackets has the field in some samples only.
 */
export function fieldTable({ spec, samples }: Pick<Processor, 'spec' | 'samples'>): string {
  const rows = Object.entries(spec.fields).flatMap(([number, field]) => {
    const having = samples.filter(({ message }) => message[field.name] !== undefined);
    if (having.length === 0) return [];
    const example = exampleOf(having[0]!.message[field.name]);
    return [`| ${number} | \`${field.name}\` | ${formatOf(field)} | ${example} | ${presenceOf(samples, having)} |`];
  });
  return ['| DE | name | format | example | in |', '|---|---|---|---|---|', ...rows].join('\n');
}

/** As the standard writes it: `n6`, `n..19` after a length of two digits, `b...999` after one of three. */
function formatOf(field: Field): string {
  const dots = typeof field.prefix === 'string' ? '.'.repeat(field.prefix.length) : '';
  switch (field.kind) {
    case 'text':
      return `${field.content}${dots}${field.max}`;
    case 'binary':
      return `b${dots}${field.max}`;
    case 'tlv':
      return `b${dots}${field.max}, TLV`;
    case 'positional':
      return `${dots}${field.max}: ${field.fields.map((part) => `${part.name} ${formatOf(part)}`).join(', ')}`;
    default:
      return `${dots}${field.max}, composite`;
  }
}

function exampleOf(value: unknown): string {
  const text = textOf(value);
  const isLong = text.length > EXAMPLE_CHARACTERS;
  return `\`${isLong ? `${text.slice(0, EXAMPLE_CHARACTERS)}…` : text}\``;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value.replaceAll('|', '\\|');
  if (value instanceof Uint8Array) return `hex ${toHex(value)}`;
  return Object.values(value as object)
    .filter((part) => part !== undefined)
    .map(textOf)
    .join(' ');
}

function presenceOf(samples: readonly ProcessorSample[], having: readonly ProcessorSample[]): string {
  const countOf = (among: readonly ProcessorSample[], mti: string) =>
    among.filter(({ message }) => message.mti === mti).length;
  const mtis = [...new Set(having.map(({ message }) => message.mti))].sort();
  return mtis.map((mti) => (countOf(having, mti) === countOf(samples, mti) ? mti : `(${mti})`)).join(' ');
}
