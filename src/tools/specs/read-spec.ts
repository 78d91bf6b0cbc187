import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { Iso8583Error } from '../../basics/errors.ts';
import { compileSpec } from '../../codecs/iso8583/codec.ts';
import { parseSpec } from '../../codecs/iso8583/json-spec.ts';
import { type Field, type Prefix, type PrefixEncoding, signsOf, subfieldsOf } from '../../codecs/iso8583/rows.ts';
import type { Encodings, Spec } from '../../codecs/iso8583/spec.ts';
import { readJposPackager } from './jpos-packager.ts';
import { isMoovSpec, readMoovSpec } from './moov-spec.ts';
import { isPyiso8583Spec, readPyiso8583Spec } from './pyiso8583-spec.ts';
import { Findings, type ImportedSpec, MAX_SPEC_BYTES, MAX_SPEC_DEPTH } from './spec-diff.ts';

/** The forms of a specification that are recognized from the content of a file. */
type SpecKind = 'jpos' | 'moov' | 'pyiso8583' | 'tapwire';

export interface ReadSpecFile extends ImportedSpec {
  readonly kind: SpecKind;
}

/**
 * Reads a specification in any known form, and compiles it once.
 *
 * @param find finds the spec that a file of our form extends
 * @throws StartError BAD_CONFIG with file, line, field and reason of everything that cannot be expressed
 */
export function readSpecFile(path: string, find?: (name: string) => Spec | undefined): ReadSpecFile {
  const findings = new Findings(path);
  const text = readFile(path, findings).replace(/^\uFEFF/, '');
  const read = readText(text, nameOf(path), findings, find);
  try {
    compileSpec(read.spec);
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    throw findings.fault({}, error.message);
  }
  return read.kind === 'tapwire' ? read : { ...read, spec: shareEncodings(read.spec) };
}

function readFile(path: string, findings: Findings): string {
  try {
    if (statSync(path).size <= MAX_SPEC_BYTES) return readFileSync(path, 'utf8');
  } catch (cause) {
    throw findings.fault({}, describeSystemError(cause));
  }
  throw findings.fault({}, `The file is larger than ${MAX_SPEC_BYTES} bytes.`);
}

function readText(
  text: string,
  name: string,
  findings: Findings,
  find?: (name: string) => Spec | undefined,
): ReadSpecFile {
  if (/^\s*</.test(text)) return { kind: 'jpos', ...readJposPackager(text, name, findings) };
  const json = parseJson(text, findings);
  if (isMoovSpec(json)) return { kind: 'moov', ...readMoovSpec(json, name, findings) };
  if (isPyiso8583Spec(json)) return { kind: 'pyiso8583', ...readPyiso8583Spec(json, name, findings) };
  const isOurs =
    typeof json === 'object' && json !== null && ('extends' in json || ('mti' in json && 'bitmap' in json));
  if (!isOurs)
    throw findings.fault(
      {},
      'Expected a GenericPackager of jPOS, a spec of moov-io/iso8583 or pyiso8583, or one of tapwire.',
    );
  try {
    return { kind: 'tapwire', spec: parseSpec(json, { ...(find && { find }) }), notes: [] };
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    throw findings.fault({}, error.message);
  }
}

function parseJson(text: string, findings: Findings): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw findings.fault({}, 'The file is neither XML nor JSON.');
  }
  if (depthOf(json) > MAX_SPEC_DEPTH) throw findings.fault({}, `Objects are nested deeper than ${MAX_SPEC_DEPTH}.`);
  return json;
}

/** Counts levels without recursion, because the depth is what is not known. */
function depthOf(json: unknown): number {
  let depth = 0;
  for (let level = [json]; level.length > 0; depth++)
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  return depth;
}

/** The name of a file without its ending. */
function nameOf(path: string): string {
  return basename(path).replace(/\.[^.]*$/, '') || 'imported';
}

type Axis = keyof Encodings;

/** The axis whose encoding a field has; undefined for those that have none. */
function axisOf(field: Field): Axis | undefined {
  if (field.kind === 'binary') return 'binary';
  if (field.kind !== 'text') return undefined;
  if (field.content === 'n' || field.content === 'z') return 'digits';
  return signsOf(field.content) === undefined ? 'text' : 'signed';
}

const isOfDigits = (
  prefix: Prefix | undefined,
): prefix is { digits: number; encoding: Exclude<PrefixEncoding, 'binary'> } =>
  typeof prefix === 'object' && 'digits' in prefix;

/**
 * The same spec as a person would write it: the most common encoding of each axis is that of the spec, and the fields
 * that have it do not repeat it. Other tools state every encoding with every field.
 */
function shareEncodings(spec: Spec): Spec {
  const counts: Record<Axis, Record<string, number>> = { text: {}, digits: {}, signed: {}, binary: {}, prefix: {} };
  const count = (axis: Axis, encoding: string | undefined) => {
    if (encoding !== undefined) counts[axis][encoding] = (counts[axis][encoding] ?? 0) + 1;
  };
  const visit = (field: Field) => {
    const axis = axisOf(field);
    if (axis !== undefined) count(axis, (field as { encoding?: string }).encoding);
    if (isOfDigits(field.prefix)) count('prefix', field.prefix.encoding);
    Object.values(subfieldsOf(field)).forEach(visit);
  };
  Object.values(spec.fields).forEach(visit);
  const axes = Object.keys(counts) as Axis[];
  const most = (axis: Axis) =>
    Object.entries(counts[axis]).sort(([, a], [, b]) => b - a)[0]?.[0] ?? spec.encodings[axis];
  const encodings = Object.fromEntries(axes.map((axis) => [axis, most(axis)])) as unknown as Encodings;
  const fields = Object.entries(spec.fields).map(([key, field]) => [key, shared(field, encodings)]);
  return { ...spec, encodings, fields: Object.fromEntries(fields) };
}

function shared(field: Field, encodings: Encodings): Field {
  const { encoding, prefix, ...rest } = field as Field & { readonly encoding?: string };
  const axis = axisOf(field);
  const isShared = axis !== undefined && encoding === encodings[axis];
  const isSharedPrefix = isOfDigits(prefix) && prefix.encoding === encodings.prefix;
  return {
    ...rest,
    ...(encoding === undefined || isShared ? {} : { encoding }),
    ...(prefix === undefined ? {} : { prefix: isSharedPrefix ? 'L'.repeat(prefix.digits) : prefix }),
    ...('fields' in field ? { fields: sharedBelow(field, encodings) } : {}),
  } as Field;
}

function sharedBelow(field: Field, encodings: Encodings): unknown {
  if (field.kind === 'positional') return field.fields.map((each) => shared(each, encodings));
  return Object.fromEntries(Object.entries(subfieldsOf(field)).map(([key, each]) => [key, shared(each, encodings)]));
}
