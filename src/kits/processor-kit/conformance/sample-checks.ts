import { isDeepStrictEqual } from 'node:util';
import { Iso8583Error } from '../../../basics/errors.ts';
import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { encodeTlv } from '../../../codecs/emv/tlv.ts';
import { type Content, signsOf } from '../../../codecs/iso8583/rows.ts';
import type { Field, Spec } from '../../../codecs/iso8583/spec.ts';
import { type WireField, wireFields } from '../../../codecs/iso8583/wire-fields.ts';
import { CheckFailure, expectEqual, expectThat } from '../../plug-ins/check-failure.ts';
import type { IsoMessage } from '../iso-fields.ts';
import type { MessageCodec, ProcessorSample } from '../processor.ts';
import { bytesOf, type Check, type Subject } from './check.ts';

/** For each content type, a character that every field accepts and that differs from padding. */
const CHARACTER: Readonly<Record<Content, string>> = {
  n: '7',
  a: 'K',
  an: 'K',
  anp: 'K',
  ns: '7',
  as: 'K',
  ans: 'K',
  z: '7',
  'x+n': '7',
  '+n': '7',
  any: 'K',
};

const UNPREDICTABLE_NUMBER = 0x9f37;

/** Longer values prove nothing further and take longer to test. */
const LONGEST = 2_000;

/**
 * The shortest and the longest value of a field. For a composite with optional parts: each part alone, shortest and
 * longest. For a composite of consecutive parts: all of them.
 */
export function valuesOf(field: Field): unknown[] {
  switch (field.kind) {
    case 'text':
      return lengthsOf(field).map((length) => textOfContent(field.content, length));
    case 'binary':
      return lengthsOf(field).map((length) => new Uint8Array(length).fill(0xa5));
    case 'tlv':
      return [encodeTlv([{ tag: field.allow?.[0] ?? UNPREDICTABLE_NUMBER, value: Uint8Array.of(1, 2, 3, 4) }])];
    case 'positional':
      return [0, -1].map((which) =>
        Object.fromEntries(field.fields.map((part) => [part.name, valuesOf(part).at(which)])),
      );
    default:
      return eachAlone(Object.values(field.fields as Record<string, Field>));
  }
}

function eachAlone(subfields: readonly Field[]): unknown[] {
  return subfields.flatMap((subfield) => valuesOf(subfield).map((value) => ({ [subfield.name]: value })));
}

function lengthsOf({ min, max }: { min: number; max: number }): number[] {
  return [...new Set([Math.max(1, min), Math.min(max, LONGEST)])];
}

function textOfContent(content: Content, length: number): string {
  const sign = signsOf(content)?.[0];
  if (sign !== undefined) return String.fromCharCode(sign) + CHARACTER[content].repeat(length - 1);
  return CHARACTER[content].repeat(length);
}

/**
 * Compares a sample with the codec of its dialect, both ways. The details of a failure contain the whole message, for the
 * author to paste: samples are test cards.
 *
 * @throws CheckFailure naming the first field that differs
 */
export function checkSample(codec: MessageCodec, spec: Spec, sample: ProcessorSample, maxBytes: number): void {
  const { name, message } = sample;
  const expected = readHex(sample);
  const encoded = explained(`${name}: the message does not encode`, spec, [], () => bytesOf(codec, message, maxBytes));
  if (toHex(encoded) !== toHex(expected)) {
    const why = `${name}: ${wireDifference(spec, expected, encoded)}`;
    throw new CheckFailure(why, [
      `wireHex of the sample: ${toHex(expected)}`,
      `the message encodes to: ${toHex(encoded)}`,
      ...decodedLines(codec, spec, expected),
    ]);
  }
  const wireLine = `wireHex of the sample: ${toHex(expected)}`;
  const decoded = explained(`${name}: wireHex does not decode`, spec, [wireLine], () => codec.decode(expected));
  const field = differingField(decoded, message);
  if (field === undefined) return;
  const why = `${name}: ${labelOf(spec, field)} differs: ${textOf(spec, field, decoded)} is decoded, the message has ${textOf(spec, field, message)}`;
  throw new CheckFailure(why, [wireLine, ...decodedLines(codec, spec, expected)]);
}

function readHex({ name, wireHex }: ProcessorSample): Uint8Array {
  if (/^([0-9a-f]{2})+$/i.test(wireHex)) return fromHex(wireHex);
  const at = wireHex.search(/[^0-9a-f]/i);
  throw new CheckFailure(`${name}: wireHex ${at < 0 ? 'has an odd number of digits' : `has no hex digit at ${at}`}`);
}

/** The text of an encoding or decoding error, which names field and offset and contains no value. */
export function textOfCodecError({ fields }: Spec, { field, message }: Iso8583Error): string {
  const name = fields[Number(field.split('.', 1)[0])]?.name;
  return name === undefined ? message : `${message} (DE${field.split('.', 1)[0]} is ${name})`;
}

function explained<Result>(what: string, spec: Spec, details: readonly string[], run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (error instanceof Iso8583Error) throw new CheckFailure(`${what}: ${textOfCodecError(spec, error)}`, details);
    throw error;
  }
}

/** What the bytes mean, so that the author can correct the message of the sample. */
function decodedLines(codec: MessageCodec, spec: Spec, bytes: Uint8Array): string[] {
  try {
    return [`wireHex decodes to: ${literalOf(codec.decode(bytes))}`];
  } catch (error) {
    if (error instanceof Iso8583Error) return [`wireHex does not decode: ${textOfCodecError(spec, error)}`];
    throw error;
  }
}

/** The first difference in the order of the message: a field that only one side has, or a value. */
function wireDifference(spec: Spec, expected: Uint8Array, got: Uint8Array): string {
  const [ours, theirs] = [wireFields(spec, got), wireFields(spec, expected)];
  const at = expected.findIndex((byte, index) => byte !== got[index]);
  const offset = at < 0 ? expected.length : at;
  const absent = theirs.find(({ path }) => !ours.some((field) => field.path === path));
  if (absent) return `wireHex has ${nameOf(absent)} at byte ${absent.from}, the message has not`;
  for (const field of ours) {
    const other = theirs.find(({ path }) => path === field.path);
    if (!other) return `the message has ${nameOf(field)}, wireHex has not, or cannot be read so far`;
    const [wanted, made] = [expected.subarray(other.from, other.to), got.subarray(field.from, field.to)];
    if (toHex(wanted) !== toHex(made))
      return `${nameOf(field)} at byte ${other.from}: expected ${shown(field.field, wanted)}, got ${shown(field.field, made)}`;
  }
  return `bytes differ from offset ${offset}: ${got.length} bytes instead of ${expected.length}`;
}

function nameOf({ path, field }: WireField): string {
  return /^\d/.test(path) ? `DE${path} (${field.name})` : path;
}

/** A value may be shown if its field is safe: the reason of a failure contains no card data. */
function shown(field: Field, bytes: Uint8Array): string {
  if (!('safe' in field && field.safe)) return `${bytes.length} other bytes`;
  const text = Buffer.from(bytes).toString('latin1');
  return /^[ -~]+$/.test(text) ? `${toHex(bytes)} "${text}"` : toHex(bytes);
}

function labelOf({ fields }: Spec, name: string): string {
  const number = Object.entries(fields).find(([, field]) => field.name === name)?.[0];
  return number === undefined ? name : `DE${number} (${name})`;
}

function textOf({ fields }: Spec, name: string, message: IsoMessage): string {
  const value = message[name];
  if (value === undefined) return 'nothing';
  const field = Object.values(fields).find((each) => each.name === name);
  return field && 'safe' in field && field.safe ? literalOf(value) : 'another value';
}

/**
 * The first field, in order of name, whose values differ. Composites are compared as a whole; an absent field equals
 * undefined.
 */
function differingField(one: IsoMessage, other: IsoMessage): string | undefined {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].find((name) => !isDeepStrictEqual(present(one[name]), present(other[name])));
}

function present(value: unknown): unknown {
  if (value instanceof Uint8Array) return toHex(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, present(member)]),
  );
}

/** A value as it is written in `samples.ts`. */
function literalOf(value: unknown): string {
  if (typeof value === 'string') return `'${value.replaceAll(/['\\]/g, '\\$&')}'`;
  if (value instanceof Uint8Array) return `fromHex('${toHex(value)}')`;
  if (Array.isArray(value)) return `[${value.map(literalOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{ ${members.map(([name, member]) => `${/^[a-z]\w*$/i.test(name) ? name : `'${name}'`}: ${literalOf(member)}`).join(', ')} }`;
}

/** Every field is tried alone, also one that is longer than the frames of the dialect. */
const MAX_FIELD_BYTES = 65_535;

/** The samples of a processor, compared byte for byte. */
export const sampleChecks: readonly Check[] = [
  {
    name: 'the samples include an authorization, its response and a reversal',
    run({ processor }) {
      const kinds = processor.samples.map(({ message }) => processor.readRequest(message as IsoMessage).kind);
      expectThat(kinds.includes('authorization'), 'no authorization');
      expectThat(kinds.includes('reversal'), 'no reversal');
      expectThat(
        processor.samples.some(({ outcome }) => outcome === 'approved'),
        'no approved response',
      );
    },
  },
  {
    name: 'each sample encodes to its bytes, and its bytes decode to the sample',
    run({ processor }) {
      for (const sample of processor.samples) {
        const codec = processor.codec(sample.config ?? processor.exampleConfig);
        checkSample(codec, codec.spec ?? processor.spec, sample, processor.framing.maxFrameBytes);
      }
    },
  },
  {
    name: 'each response among the samples has the stated outcome',
    run({ processor }) {
      for (const { name, message, request, outcome } of processor.samples) {
        if (outcome === undefined) continue;
        const asked = processor.samples.find((sample) => sample.name === request);
        expectThat(asked !== undefined, `${name}: no sample is named ${request}`);
        expectEqual(processor.readOutcome(message, asked.message).kind, outcome, name);
      }
    },
  },
  { name: 'the shortest and the longest value of each field of the spec round-trip', run: everyField },
];

function everyField({ processor }: Subject): void {
  const codec = processor.codec(processor.exampleConfig);
  const maxBytes = MAX_FIELD_BYTES;
  for (const [number, field] of Object.entries(processor.spec.fields)) {
    for (const value of valuesOf(field)) {
      const message = { mti: processor.samples[0]!.message.mti, [field.name]: value } as IsoMessage;
      const decoded = codec.decode(bytesOf(codec, message, maxBytes));
      expectThat(
        differingField(decoded, message) === undefined,
        `DE${number} (${field.name}) is different after the round trip`,
      );
    }
  }
}
