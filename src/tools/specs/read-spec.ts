import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { describeSystemError } from '../../basics/errors/system-error.ts';
import { Iso8583Error } from '../../basics/errors.ts';
import { compileSpec } from '../../codecs/iso8583/codec.ts';
import { parseSpec } from '../../codecs/iso8583/json-spec.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import { Findings, type ImportedSpec, MAX_SPEC_BYTES, MAX_SPEC_DEPTH } from './findings.ts';
import { readJposPackager } from './jpos-packager.ts';
import { isMoovSpec, readMoovSpec } from './moov-spec.ts';
import { isPyiso8583Spec, readPyiso8583Spec } from './pyiso8583-spec.ts';
import { shareEncodings } from './shared-encodings.ts';

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
