import { isDeepStrictEqual } from 'node:util';
import { TlvError } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { encodeTlv, indexTlv, type TlvOptions } from '../../src/codecs/emv/tlv.ts';
import type { CaseResult } from './run-file.ts';

interface TlvCase {
  readonly name: string;
  readonly wireHex: string;
  readonly expect: string;
  readonly tree?: unknown;
  readonly error?: { readonly code: string; readonly offset: number };
  readonly option?: TlvOptions;
}

/** Each `ok` case must give its tree, and the same tree again after encoding. */
export function runFile(json: unknown): CaseResult[] {
  return (json as TlvCase[]).map((testCase) => {
    const { name, wireHex } = testCase;
    if (wireHex.includes('...')) return { name, outcome: 'skipped', why: 'its wireHex is shortened in the file' };
    const why = runCase(testCase);
    return why === undefined ? { name, outcome: 'passed' } : { name, outcome: 'failed', why };
  });
}

/** The fault, or undefined. */
function runCase({ wireHex, expect, tree, error, option }: TlvCase): string | undefined {
  try {
    const index = indexTlv(fromHex(wireHex), option);
    if (expect !== 'ok') return `accepted, expected ${error?.code ?? expect}`;
    if (!isDeepStrictEqual(index.tree(), tree)) return `another tree: ${JSON.stringify(index.tree())}`;
    const again = indexTlv(encodeTlv(index.nodes()), option);
    return isDeepStrictEqual(again.tree(), tree) ? undefined : 'another tree after encoding';
  } catch (refusal) {
    if (!(refusal instanceof TlvError)) return `threw ${refusal}`;
    if (expect !== 'reject') return `refused: ${refusal.message}`;
    const { code, offset } = refusal;
    return error === undefined || isDeepStrictEqual({ code, offset }, error)
      ? undefined
      : `${refusal.message}, expected ${error.code} at byte ${error.offset}`;
  }
}
