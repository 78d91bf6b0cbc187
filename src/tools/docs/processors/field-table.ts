import { toHex } from '../../../codecs/bytes/hex.ts';
import { walkMessage } from '../../../codecs/iso8583/describe.ts';
import { type Field, subfieldsOf } from '../../../codecs/iso8583/rows.ts';
import type { IsoMessage } from '../../../kits/processor-kit/iso-fields.ts';
import type { Processor } from '../../../kits/processor-kit/processor.ts';
import { documentedMessages } from './documented-messages.ts';
import { type WirePart, wireParts } from './sample-bytes.ts';

/** Longer examples would hide the table. */
const EXAMPLE_CHARACTERS = 50;

/** The rest of a spec in this many columns. */
const FIELDS_PER_ROW = 3;

/**
 * The fields that messages of this type have, as Markdown: format, example as a value and as bytes, and a column for each
 * message type. All of it is read from the spec and the messages that the type builds.
 */
export function fieldTable(processor: Processor): string {
  const { spec } = processor;
  const messages = documentedMessages(processor);
  const mtis = mtisOf(messages);
  const rows = Object.entries(spec.fields).flatMap(([number, field]) => {
    const example = messages.find((message) => message[field.name] !== undefined);
    if (example === undefined) return [];
    const presence = mtis.map((mti) => presenceOf(messages, mti, (message) => message[field.name] !== undefined));
    const parts = wireParts(spec, example).filter(({ path }) => path === number || path.startsWith(`${number}.`));
    const cells = [number, code(field.name), formatOf(field), code(textOf(example[field.name])), code(wireOf(parts))];
    return [[...cells, ...presence]];
  });
  return tableOf(['DE', 'name', 'format', 'example', 'on the wire', ...mtis], rows);
}

/** The elements of the composite fields of these messages, as Markdown. Elements without an example are not sent. */
export function elementTable(processor: Processor): string {
  const messages = documentedMessages(processor);
  const found = new Map<string, { readonly example: string; readonly having: Set<IsoMessage> }>();
  for (const message of messages) {
    const wire = new Map(wireParts(processor.spec, message).map((part) => [part.path, part]));
    for (const { path, value, depth } of walkMessage(processor.spec, message)) {
      if (depth === 0 || value === undefined) continue;
      const known = found.get(path) ?? { example: exampleCells(value, wire.get(path)), having: new Set() };
      known.having.add(message);
      found.set(path, known);
    }
  }
  const rows = Object.entries(processor.spec.fields)
    .filter(([number]) => [...found.keys()].some((path) => path.startsWith(`${number}.`)))
    .flatMap(([number, field]) => elementsOf(number, field))
    .map(([path, field]) => {
      const { example = ' | ', having } = found.get(path) ?? {};
      const tag = field.emvTag?.toString(16).toUpperCase().padStart(2, '0') ?? '';
      const presence = having === undefined ? '' : listOf(messages, having);
      return [path, code(field.name), formatOf(field), tag, example, presence];
    });
  return tableOf(['place', 'name', 'format', 'tag', 'example', 'on the wire', 'in'], rows);
}

/** The fields of the spec that no such message has, as Markdown: a switch may add them to a response. */
export function otherFieldTable(processor: Processor): string {
  const messages = documentedMessages(processor);
  const others = Object.entries(processor.spec.fields).filter(
    ([, { name }]) => !messages.some((message) => message[name] !== undefined),
  );
  const cells = others.map(([number, field]) => [number, code(field.name), formatOf(field)]);
  const rows = Array.from({ length: Math.ceil(cells.length / FIELDS_PER_ROW) }, (_, row) =>
    Array.from({ length: FIELDS_PER_ROW }, (_, column) => cells[row * FIELDS_PER_ROW + column] ?? ['', '', '']).flat(),
  );
  return tableOf(Array.from({ length: FIELDS_PER_ROW }, () => ['DE', 'name', 'format']).flat(), rows);
}

/** Requests in their order, each before the response. */
function mtisOf(messages: readonly IsoMessage[]): string[] {
  return [...new Set(messages.map(({ mti }) => mti))].sort();
}

/** `M`: in every message of the type; `C`: in some. */
function presenceOf(messages: readonly IsoMessage[], mti: string, has: (message: IsoMessage) => boolean): string {
  const ofType = messages.filter((message) => message.mti === mti);
  if (ofType.every(has)) return 'M';
  return ofType.some(has) ? 'C' : '';
}

function listOf(messages: readonly IsoMessage[], having: ReadonlySet<IsoMessage>): string {
  return mtisOf([...having])
    .map((mti) => (presenceOf(messages, mti, (message) => having.has(message)) === 'M' ? mti : `(${mti})`))
    .join(' ');
}

function elementsOf(path: string, field: Field): [path: string, field: Field][] {
  const subfields = Object.entries(subfieldsOf(field)).sort(([one], [other]) => Number(one) - Number(other));
  return subfields.flatMap(([key, subfield]) => {
    const inner = `${path}.${key}`;
    return [[inner, subfield] as [string, Field], ...elementsOf(inner, subfield)];
  });
}

function exampleCells(value: unknown, part: WirePart | undefined): string {
  const isLeaf = typeof value === 'string' || value instanceof Uint8Array;
  return isLeaf && part !== undefined ? `${code(textOf(value))} | ${code(wireOf([part]))}` : ' | ';
}

/** As the standard writes it: `n6`, `n..19` after a length of two digits, `b...999` after one of three. */
function formatOf(field: Field): string {
  const { prefix } = field;
  const dots = typeof prefix === 'string' ? '.'.repeat(prefix.length) : '';
  const most = field.min === field.max || dots !== '' ? `${dots}${field.max}` : `${field.min}-${field.max}`;
  switch (field.kind) {
    case 'text':
      return `${field.content}${most}`;
    case 'binary':
      return `b${most}`;
    case 'tlv':
      return `b${most}, TLV`;
    case 'positional':
      return `${most}: ${field.fields.map((part) => `${part.name} ${formatOf(part)}`).join(', ')}`;
    default:
      return `${most}, composite`;
  }
}

/** Bytes as text if they all are, otherwise as hex. */
function wireOf(parts: readonly WirePart[]): string {
  const bytes = Buffer.concat(parts.flatMap(({ prefix, bytes }) => [prefix, bytes]));
  const isText = bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
  return isText ? `"${bytes.toString('latin1')}"` : toHex(bytes);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return toHex(value);
  return Object.values(value as object)
    .filter((part) => part !== undefined)
    .map(textOf)
    .join(' ');
}

function code(text: string): string {
  const short = text.length > EXAMPLE_CHARACTERS ? `${text.slice(0, EXAMPLE_CHARACTERS)}…` : text;
  return `\`${short.replaceAll('|', '\\|')}\``;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** When each attempt of a reversal is sent, as Markdown. */
export function repeatTable({ profile }: Pick<Processor, 'profile'>): string {
  const { delaysSeconds, giveUpAfterSeconds } = profile.reversal;
  const last = delaysSeconds.length;
  const rows = delaysSeconds.map((seconds, index) => {
    const wait = Math.max(seconds, profile.deadlineMs / 1_000);
    const attempt =
      index === last - 1 ? `${index + 2} and later, until ${giveUpAfterSeconds / 3_600} h` : `${index + 2}`;
    return `| ${attempt} | ${wait} s |`;
  });
  return ['| attempt | at least this long after the attempt before |', '|---|---|', ...rows].join('\n');
}
