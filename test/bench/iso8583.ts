/**
 * `npm run bench -- iso8583`: whole messages compared with npm packages, and the messages that other libraries use for
 * their measurements.
 */
import { samples } from '../../processors/type-1/samples.ts';
import { codecs, type Type1Message } from '../../processors/type-1/spec.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { positional, text } from '../../src/codecs/iso8583/fields.ts';
import { defineSpec, type Spec } from '../../src/codecs/iso8583/spec.ts';
import { type NpmFields, npmDecode, npmEncode } from '../iso8583/npm-iso-8583.ts';
import vectors from '../vectors/iso8583.json' with { type: 'json' };
import { type NeutralSpec, specOf } from '../vectors/neutral-spec.ts';
import { tricks } from './iso8583-tricks.ts';
import { jposTimes } from './jpos-times.ts';
import { jsposDecode, jsposEncode } from './jspos-type-1.ts';
import { type BenchReport, type Measurement, measure, ratio, report } from './measure.ts';

/** The message with which jPOS measures itself. */
const JPOS_MESSAGE = {
  label: 'jPOS, 66 fields, packed',
  vector: 'jpos-iso87-binary-66-fields (jPOS benchmark message)',
};

/** A type 1 authorization with a PIN, in the terms of `iso_8583`: 25 fields, DE127 among them. */
const AUTHORIZATION: NpmFields = {
  0: '0200',
  2: '4111111111111111',
  3: '000000',
  4: '000000005000',
  7: '0911131411',
  11: '000123',
  12: '131411',
  13: '0911',
  14: '2712',
  18: '5411',
  22: '071',
  23: '001',
  25: '00',
  26: '12',
  32: '423935',
  35: '4111111111111111D27122011758928889',
  37: '625413000123',
  40: '201',
  41: 'TERM0001',
  42: 'MERCHANT0000001',
  43: 'Corner Shop           Cape Town       ZA',
  49: '710',
  52: '7434F67813BAE545',
  56: '1510',
  123: 'A10101511344101',
  '127.2': '0000000001234',
};

/**
 * Decoding checks and creates every field. Encoding writes bitmaps and lengths: Tapwire into an existing target, the
 * other packages in their own way. Packages tried: iso_8583 2.6.7, jspos 0.0.11. The first cannot write the tap: it
 * omits half of DE127.25. Others that once were on npm (iso-8583, ciso8583) no longer exist there.
 */
export async function bench(): Promise<BenchReport> {
  const { bitmap: codec } = codecs;
  const target = Buffer.alloc(4_096);
  const bytes = npmEncode(AUTHORIZATION) as Buffer;
  // As a sender builds it: no text is a slice of a longer one.
  const message = structuredClone(codec.decode(bytes));
  const tap = samples.find(({ name }) => name === 'tap')!;
  const tapBytes = Buffer.from(fromHex(tap.wireHex));
  const jsposBytes = jsposEncode(AUTHORIZATION);
  const jpos = await jposTimes([
    { label: 'authorization', packager: 'type-1', bytes },
    { label: JPOS_MESSAGE.label, packager: 'iso87b', bytes: bytesOf(JPOS_MESSAGE.vector) },
  ]);
  const measured = measure({
    'decode authorization': () => codec.decode(bytes),
    'decode authorization, npm iso_8583': () => npmDecode(bytes),
    'decode authorization, npm jspos (no DE127)': () => jsposDecode(jsposBytes),
    'encode authorization': () => codec.encode(message, target, 0),
    'encode authorization, npm iso_8583': () => npmEncode(AUTHORIZATION),
    'encode authorization, npm jspos (no DE127)': () => jsposEncode(AUTHORIZATION),
    'decode tap with chip data': () => codec.decode(tapBytes),
    'decode tap with chip data, npm iso_8583': () => npmDecode(tapBytes),
    'encode tap with chip data': () => codec.encode(tap.message as Type1Message, target, 0),
    ...published(JPOS_MESSAGE.label, JPOS_MESSAGE.vector),
    ...published('moov-io, 83 values', 'moov-benchmark-message-standard-bitmaps', withComposites),
    ...tricks,
  });
  const results = [...measured, ...jpos];
  const ratios = {
    ...timesAsFast(results, jpos),
    encodeVsIso8583: ratio(results, 'encode authorization', 'encode authorization, npm iso_8583'),
    decodeVsIso8583: ratio(results, 'decode authorization', 'decode authorization, npm iso_8583'),
    encodeVsJspos: ratio(results, 'encode authorization', 'encode authorization, npm jspos (no DE127)'),
    decodeVsJspos: ratio(results, 'decode authorization', 'decode authorization, npm jspos (no DE127)'),
    decodeTapVsIso8583: ratio(results, 'decode tap with chip data', 'decode tap with chip data, npm iso_8583'),
  };
  return report('ISO 8583', { results, ratios });
}

/** How many times as fast as jPOS each of its subjects is. */
function timesAsFast(results: readonly Measurement[], jpos: readonly Measurement[]): Record<string, number> {
  return Object.fromEntries(
    jpos.map(({ name }) => [
      name.replace(/, jPOS$/, ' against jPOS'),
      ratio(results, name.replace(/, jPOS$/, ''), name),
    ]),
  );
}

function bytesOf(vector: string): Uint8Array {
  return fromHex(vectors.find(({ name }) => name === vector)!.wireHex);
}

/** A published benchmark message, decoded and encoded with the spec of its vector. */
function published(label: string, name: string, refine = (spec: Spec): Spec => spec): Record<string, () => unknown> {
  const vector = vectors.find((candidate) => candidate.name === name)!;
  const codec = compileSpec(refine(specOf(vector.spec as NeutralSpec)));
  const bytes = Buffer.from(fromHex(vector.wireHex));
  const message = structuredClone(codec.decode(bytes));
  const target = Buffer.alloc(4_096);
  return {
    [`decode ${label}`]: () => codec.decode(bytes),
    [`encode ${label}`]: () => codec.encode(message, target, 0),
  };
}

/** The neutral schema has no composites; this message has two, one inside the other, of ten subfields each. */
function withComposites(spec: Spec): Spec {
  const short = (length: number, index: number) => text({ name: `sub${index + 1}`, characters: length });
  const inner = positional({
    name: 'sub2',
    bytes: 999,
    prefix: 'LLL',
    fields: [4, 6, 3, 5, 3, 3, 3, 3, 3, 3].map(short),
  });
  const outer = [2, 0, 3, 5, 3, 3, 3, 3, 3, 3].map((length, index) => (index === 1 ? inner : short(length, index)));
  return defineSpec({
    ...spec,
    fields: { ...spec.fields, 66: positional({ name: 'de66', bytes: 999, prefix: 'LLL', fields: outer }) },
  });
}
