import { responseCodeText } from '../../schemas/response-codes.ts';
import type { ProcessorProfile, ResponseCodes } from './profile.ts';

/** What each code of a switch means, as Markdown: for a switch with codes of its own. */
export function codeTable({ codes, reversal }: ProcessorProfile): string {
  const { meanings = {} } = codes;
  const listed = [...Object.keys(meanings), ...Object.values(reversal.codes).flat()];
  const rows = [...new Set(listed)].sort().map((code) => {
    const meaning = meanings[code];
    const shown = meaning === undefined ? '' : `${meaning} ${textOf(meaning)}`.trimEnd();
    return `| ${code} | ${shown} | ${kindOf(codes, code)} | ${reversalKindOf(reversal.codes, code)} |`;
  });
  return [
    '| DE39 | the phone sees | answer to a sale or refund | answer to a reversal |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** Codes with which schemes request a PIN have no text in 7.5 of the interface. */
function textOf(meaning: string): string {
  const text = responseCodeText(meaning);
  return text === responseCodeText('') ? '' : text;
}

function kindOf(codes: ResponseCodes, code: string): string {
  if (codes.approved.includes(code)) return 'approved';
  if (codes.partial.includes(code)) return 'approved in part';
  if (codes.pinRequired.some((row) => row.code === code)) return 'PIN required';
  if (codes.review.includes(code)) return 'declined, needs review';
  return codes.declined.includes(code) ? 'declined' : '**unknown**';
}

const REVERSAL_KINDS: Readonly<Record<string, string>> = {
  acknowledged: 'acknowledges',
  unableToLocate: 'unable to locate',
  duplicate: 'duplicate',
  refused: 'refuses',
};

function reversalKindOf(codes: ProcessorProfile['reversal']['codes'], code: string): string {
  const kind = Object.entries(codes).find(([, listed]) => listed.includes(code))?.[0];
  return (kind && REVERSAL_KINDS[kind]) ?? 'undecided';
}
