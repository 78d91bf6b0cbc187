import { readFile } from 'node:fs/promises';

export interface CaseResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped. */
  readonly why?: string;
}

/**
 * The exports of `tlv.ts`, `iso8583.ts` and `crypto.ts` in this folder: one result for each case of a file in their
 * format.
 */
interface VectorSuite {
  runFile(json: unknown): CaseResult[] | Promise<CaseResult[]>;
}

const SUITES: Readonly<Record<'tlv' | 'iso8583' | 'crypto', () => Promise<VectorSuite>>> = {
  tlv: () => import('./tlv.ts'),
  iso8583: () => import('./iso8583.ts'),
  crypto: () => import('./crypto.ts'),
};

/** Runs one vector file of any format. Only the required suite is loaded. */
export async function runVectorFile(path: string | URL): Promise<CaseResult[]> {
  const json: unknown = JSON.parse(await readFile(path, 'utf8'));
  const suite = await SUITES[shapeOf(json)]();
  return suite.runFile(json);
}

/** Lists of wire bytes are ISO 8583 if a case names fields and TLV otherwise; crypto groups its cases by algorithm. */
function shapeOf(json: unknown): keyof typeof SUITES {
  if (Array.isArray(json) && json.length > 0 && json.every(isWireCase)) {
    return json.some((testCase) => 'spec' in testCase || 'fields' in testCase) ? 'iso8583' : 'tlv';
  }
  if (isObject(json) && Object.values(json).some(isCaseList)) return 'crypto';
  throw new Error('neither TLV, ISO 8583 nor crypto vectors');
}

function isCaseList(json: unknown): boolean {
  return Array.isArray(json) && json.length > 0 && json.every(isObject);
}

function isWireCase(testCase: unknown): testCase is object {
  return isObject(testCase) && 'wireHex' in testCase && 'expect' in testCase;
}

function isObject(json: unknown): json is object {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
