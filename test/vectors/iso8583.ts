import { isDeepStrictEqual } from 'node:util';
import { Iso8583Error } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../src/codecs/crypto/block-key.ts';
import { cbcMac } from '../../src/codecs/crypto/mac.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { type NeutralSpec, specOf } from './neutral-spec.ts';
import type { CaseResult } from './run-file.ts';

interface Iso8583Case {
  readonly name: string;
  readonly wireHex: string;
  readonly expect: 'ok' | 'reject' | 'mac';
  readonly source?: string;
  readonly spec: NeutralSpec & { readonly description?: string };
  readonly fields: Readonly<Record<string, unknown>>;
  readonly error?: { readonly field?: string; readonly pos?: number };
}

/** The message of a decoded case, in the terms of the vectors: by number, bytes in hex. */
type NeutralMessage = Record<string, unknown>;

/** Places that the vectors name differently, after pyiso8583 and moov-io/iso8583. */
const OUR_PATHS: Readonly<Record<string, string>> = { '0': 'mti', t: 'mti', p: 'bitmap', h: 'header' };

/** Each `ok` case must decode to its fields and encode back to the same bytes. */
export function runFile(json: unknown): CaseResult[] {
  return (json as Iso8583Case[]).map((testCase) => {
    const { name, expect, spec } = testCase;
    if (expect === 'mac') return result(name, wrongMac(testCase));
    if (spec.mti === undefined) return { name, outcome: 'skipped', why: 'its spec is in words' };
    return result(name, expect === 'ok' ? wrongMessage(testCase) : wrongRefusal(testCase));
  });
}

function result(name: string, why: string | undefined): CaseResult {
  return why === undefined ? { name, outcome: 'passed' } : { name, outcome: 'failed', why };
}

/** The fault, or undefined. */
function wrongMessage({ wireHex, spec, fields, source }: Iso8583Case): string | undefined {
  const codec = compileSpec(specOf(spec));
  const start = spec.header_length_bytes ?? 0;
  try {
    const decoded = codec.decode(fromHex(wireHex), start);
    const neutral = neutralMessage(decoded);
    if (!isDeepStrictEqual(neutral, { ...fields })) return `decoded to other fields: ${differences(neutral, fields)}`;
    if (source?.includes('not canonical')) return undefined;
    const again = toHex(codec.toBytes(decoded));
    return again === wireHex.substring(start * 2) ? undefined : 'encoded to other bytes';
  } catch (error) {
    return `refused: ${error}`;
  }
}

function wrongRefusal({ wireHex, spec, error }: Iso8583Case): string | undefined {
  try {
    compileSpec(specOf(spec)).decode(fromHex(wireHex), spec.header_length_bytes ?? 0);
    return 'accepted';
  } catch (refusal) {
    if (!(refusal instanceof Iso8583Error)) return `threw ${refusal}`;
    const { field, pos } = error ?? {};
    const isPlace = field === undefined || refusal.field === (OUR_PATHS[field] ?? field);
    if (isPlace && (pos === undefined || refusal.offset === pos)) return undefined;
    return `${refusal.message}, expected field ${field ?? '(any)'} at byte ${pos ?? '(any)'}`;
  }
}

function wrongMac({ wireHex, fields: { key, mac } }: Iso8583Case): string | undefined {
  const actual = toHex(cbcMac(new BlockKey('tdes', fromHex(String(key))), 1)(fromHex(wireHex)));
  return actual === mac ? undefined : 'another MAC';
}

function neutralMessage({ mti, header, ...rest }: Record<string, unknown>): NeutralMessage {
  const message: NeutralMessage = { 0: mti };
  if (header !== undefined) message.h = neutralValue(header);
  for (const [name, value] of Object.entries(rest)) message[name.replace('de', '')] = neutralValue(value);
  return message;
}

function neutralValue(value: unknown): unknown {
  return value instanceof Uint8Array ? toHex(value) : value;
}

/** Names the fields and not their values: a vector file may be a trace of a real network. */
function differences(actual: NeutralMessage, expected: Readonly<Record<string, unknown>>): string {
  const keys = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return [...keys].filter((key) => !isDeepStrictEqual(actual[key], expected[key])).join(', ');
}
