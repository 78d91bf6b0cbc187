import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { BlockKey } from '../../../codecs/crypto/block-key.ts';
import {
  keyMac,
  keyShapeOf,
  MAC_ALGORITHMS,
  type MacFunction,
  type MacMethod,
  namesOfMac,
  padMessage,
} from '../../../codecs/crypto/mac.ts';
import { compileSpec } from '../../../codecs/iso8583/codec.ts';
import { prefixBytesOf, replyHeaderOf, writeFraming } from '../../../codecs/iso8583/network/framing.ts';
import { prefixCoder } from '../../../codecs/iso8583/prefixes.ts';
import { type Field, subfieldsOf } from '../../../codecs/iso8583/rows.ts';
import type { Spec } from '../../../codecs/iso8583/spec.ts';
import { testPurchase } from '../../../kits/processor-kit/conformance/check.ts';
import { type IsoMessage, isResponse } from '../../../kits/processor-kit/iso-fields.ts';
import { MacLayout } from '../../../kits/processor-kit/mac-layout.ts';
import { MacPlace, type MacRule } from '../../../kits/processor-kit/mac-rule.ts';
import { messageCodec } from '../../../kits/processor-kit/message-codec.ts';
import type { Processor, ProcessorSample } from '../../../kits/processor-kit/processor.ts';

/** Where the bytes of a line begin. */
const LABEL_CHARACTERS = 52;
const PATH_CHARACTERS = 11;
const VALUE_CHARACTERS = 20;

/** A sample with its frame header, field by field: offset, number, name, value, bytes. */
export function sampleBytes(processor: Processor, name: string): string {
  const sample = sampleOf(processor, name);
  const message = { ...sample.message };
  const frame = frameOf(processor, message);
  const parts = wireParts(processor.spec, message);
  const headerBytes = prefixBytesOf(processor.framing);
  let at = headerBytes;
  const lines = parts.flatMap((part) => {
    const from = at;
    at += part.prefix.length + part.bytes.length;
    return linesOf(part, from);
  });
  return [
    '```',
    ...hexLines('   0  frame header', frame.subarray(0, headerBytes), LABEL_CHARACTERS),
    ...lines,
    '```',
  ].join('\n');
}

/** Whole frames of samples as hex. */
export function sampleFrames(processor: Processor): string {
  const blocks = processor.samples
    .filter(({ config }) => config === undefined)
    .map(({ name, message }) => [`${name}:`, ...hexLines('', frameOf(processor, { ...message }), 0), '']);
  return ['```', ...blocks.flat().slice(0, -1), '```'].join('\n');
}

function linesOf({ path, name, prefix, bytes, value }: WirePart, at: number): string[] {
  const text = typeof value === 'string' ? value : '';
  const shown = text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS - 1)}…` : text;
  const label = `${String(at).padStart(4)}  ${path.padEnd(PATH_CHARACTERS)}${(shown === '' ? name : shown).padEnd(VALUE_CHARACTERS)}`;
  const length = prefix.length === 0 ? '' : toHex(prefix);
  return hexLines(`${label} ${length}`.trimEnd(), bytes, LABEL_CHARACTERS);
}

/** Puts a MAC into the message if every message of the type has one. A response has the addresses of its request, swapped. */
function frameOf(processor: Processor, message: IsoMessage): Uint8Array {
  const { framing, exampleConfig } = processor;
  const start = prefixBytesOf(framing);
  const frame = new Uint8Array(start + framing.maxFrameBytes);
  const codec = messageCodec(processor, exampleConfig, (_keyId, method) => macFunctionOf(method));
  const end = codec.encode(message, frame, start);
  const frameEnd = writeFraming(framing, frame, start, end);
  if (isResponse(message)) writeFraming(framing, frame, start, end, replyHeaderOf(framing, frame, start));
  return frame.subarray(0, frameEnd);
}

function sampleOf({ samples, type }: Processor, name: string): ProcessorSample {
  const sample = samples.find((each) => each.name === name);
  if (sample === undefined) throw new Error(`${type} has no sample ${name}`);
  return sample;
}

/** A part of an encoded message. A composite is a part without a value, followed by the parts inside it. */
export interface WirePart {
  /** `mti`, `bitmap`, or the number of a field with the numbers of the fields that contain it: `127.25.4`. */
  readonly path: string;
  readonly name: string;
  readonly prefix: Uint8Array;
  /** The bytes of the part; of a composite with a bitmap, those of the bitmap. */
  readonly bytes: Uint8Array;
  readonly value: unknown;
}

const NO_BYTES = new Uint8Array();
const MTI = '0000';

/**
 * The parts of a message one after another.
 *
 * @throws Error if they do not add up to the message: a programming error
 */
export function wireParts(spec: Spec, message: IsoMessage): readonly WirePart[] {
  const whole = compileSpec(spec).toBytes(message as never);
  const parts = Object.entries(spec.fields).flatMap(([number, field]) => {
    const value = message[field.name];
    return value === undefined ? [] : partsOf(spec, number, field, value);
  });
  const mti = whole.subarray(0, mtiBytesOf(spec));
  const bitmap = whole.subarray(mti.length, whole.length - lengthOf(parts));
  const all = [plain('mti', 'message type', mti, message.mti), plain('bitmap', 'bitmap', bitmap, undefined), ...parts];
  if (Buffer.compare(Buffer.concat(all.flatMap(({ prefix, bytes }) => [prefix, bytes])), whole) !== 0)
    throw new Error(`The parts of a message of ${spec.name} do not add up`);
  return all;
}

function partsOf(spec: Spec, path: string, field: Field, value: unknown): WirePart[] {
  const whole = bytesOf(spec, field, value);
  const prefixBytes = field.prefix === undefined ? 0 : prefixCoder(field.prefix, spec.encodings.prefix).width;
  const head = { path, name: field.title ?? field.name, prefix: whole.subarray(0, prefixBytes) };
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array)
    return [{ ...head, bytes: whole.subarray(prefixBytes), value }];
  const keys = new Map(Object.entries(subfieldsOf(field)).map(([key, subfield]) => [subfield.name, key]));
  // Elements with tags are written in the order of the value, numbered ones in the order of their numbers.
  const names = field.kind === 'tagged' ? Object.keys(value) : [...keys.keys()];
  const children = names.flatMap((name) => {
    const inner = (value as Readonly<Record<string, unknown>>)[name];
    if (inner === undefined) return [];
    const key = keys.get(name)!;
    const subfield = subfieldsOf(field)[key]!;
    if (field.kind !== 'tagged') return partsOf(spec, `${path}.${key}`, subfield, inner);
    const alone = bytesOf(spec, field, { [name]: inner }).subarray(prefixBytes);
    return withTag(alone, partsOf(spec, `${path}.${key}`, { ...subfield, prefix: field.elementPrefix }, inner));
  });
  const bitmap = whole.subarray(prefixBytes, whole.length - lengthOf(children));
  return [{ ...head, bytes: bitmap, value: undefined }, ...children];
}

/** An element whose length begins after its tag: both are its prefix. */
function withTag(element: Uint8Array, [first, ...inside]: WirePart[]): WirePart[] {
  const tagBytes = element.length - lengthOf([first!, ...inside]);
  return [{ ...first!, prefix: element.subarray(0, tagBytes + first!.prefix.length) }, ...inside];
}

/** The bytes of a field alone, its length prefix included. */
function bytesOf(spec: Spec, field: Field, value: unknown): Uint8Array {
  const alone: Spec = { ...spec, rules: [], bitmap: { encoding: 'binary' }, fields: { 2: field } };
  const bytes = compileSpec(alone).toBytes({ mti: MTI, [field.name]: value } as never);
  return bytes.subarray(mtiBytesOf(spec) + 8);
}

function mtiBytesOf({ mti }: Spec): number {
  return mti.encoding === 'bcd' ? MTI.length / 2 : MTI.length;
}

function plain(path: string, name: string, bytes: Uint8Array, value: unknown): WirePart {
  return { path, name, prefix: NO_BYTES, bytes, value };
}

function lengthOf(parts: readonly WirePart[]): number {
  return parts.reduce((sum, { prefix, bytes }) => sum + prefix.length + bytes.length, 0);
}

/** Where the hex of a line begins. */
const MAC_LABEL_CHARACTERS = 24;
const BYTES_PER_LINE = 32;

/** A label and bytes as hex, on as many lines as they need. */
function hexLines(label: string, bytes: Uint8Array, width = MAC_LABEL_CHARACTERS): string[] {
  const lines = Math.max(1, Math.ceil(bytes.length / BYTES_PER_LINE));
  return Array.from({ length: lines }, (_, line) => {
    const from = line * BYTES_PER_LINE;
    const hex = toHex(bytes, from, Math.min(bytes.length, from + BYTES_PER_LINE));
    return `${(line === 0 ? label : '').padEnd(width)}${hex}`.trimEnd();
  });
}

/** The test key of the standards for DES; its halves are the two keys of a pair. */
const KEY = fromHex('0123456789ABCDEFFEDCBA9876543210');
const KEY_NUMBER = 1;

export function macFunctionOf(method: MacMethod): MacFunction {
  return keyMac(exampleKeyOf(method), method);
}

function exampleKeyOf(method: MacMethod): BlockKey {
  const { algorithm, lengthBytes } = keyShapeOf(method);
  return new BlockKey(algorithm, KEY.slice(0, lengthBytes));
}

/**
 * MACs of two messages step by step, with each algorithm of the dialect: a sign-on, and a sale at a terminal and of a
 * merchant whose names are shorter than their fields.
 */
export function exampleMacs(processor: Processor): string {
  const { mac: rule, exampleConfig: config } = processor;
  if (rule === undefined) throw new Error(`${processor.type} has no MAC`);
  const stamp = { stan: '000127', sentAtMs: testPurchase().sentAtMs };
  const terminal = { tid: 'T1', mid: 'SHOP 7', canTakePin: false };
  const messages = {
    'Sign-on': processor.networkRequest('signOn', stamp, config)!,
    Sale: processor.authorization(testPurchase({ terminal }), config),
  };
  return Object.entries(messages)
    .flatMap(([name, message]) => [`${name}:`, '', '```', ...macLinesOf(processor, rule, message), '```', ''])
    .join('\n')
    .trimEnd();
}

function macLinesOf(processor: Processor, rule: MacRule, message: IsoMessage): string[] {
  const codec = processor.codec(processor.exampleConfig);
  const layout = new MacLayout(rule, codec, processor.spec);
  const sealed = { ...message };
  const target = new Uint8Array(processor.framing.maxFrameBytes);
  const end = layout.encodeBlank(sealed, target, 0);
  const covered = Uint8Array.from(layout.covered(sealed, target, 0, end));
  const body = target.subarray(0, end - rule.lengthBytes);
  const number = fieldNumberOf(processor, new MacPlace(rule, processor.spec).fieldOf(sealed));
  // Bitmaps are not text, so a MAC over the whole message has no such line.
  const isText = covered.every((byte) => byte >= 0x20 && byte < 0x7f);
  return [
    ...hexLines(`message, ${body.length} bytes`, body),
    ...(isText ? [`${'input as text'.padEnd(24)}${Buffer.from(covered).toString('latin1').replaceAll(' ', '_')}`] : []),
    ...(Buffer.compare(covered, body) === 0 ? [] : hexLines(`input, ${covered.length} bytes`, covered)),
    ...namesOfMac(rule.method).flatMap((name) => {
      const method: MacMethod = MAC_ALGORITHMS[name];
      const key = KEY.slice(0, keyShapeOf(method).lengthBytes);
      const mac = macFunctionOf(method)(covered);
      const padding = method.algorithm === 'cmac' ? covered : padMessage(covered, method.padding, 8);
      const value = layout.put(sealed, KEY_NUMBER, mac);
      return [
        ...hexLines(`${name}, key`, key),
        ...hexLines('padding', padding.subarray(covered.length)),
        ...hexLines('MAC', mac),
        ...hexLines(`DE${number}`, value),
      ];
    }),
  ];
}

function fieldNumberOf({ spec }: Processor, name: string): string {
  return Object.entries(spec.fields).find(([, field]) => field.name === name)![0];
}
