import { RESPONSE_CODES } from '../../../schemas/response-codes.ts';
import type { ProcessorProfile, ResponseCodes } from './profile.ts';

/** What each code of a switch means, as Markdown: those of 7.5 of the interface, or those of the switch. */
export function codeTable({ codes, reversal }: ProcessorProfile): string {
  const { meanings } = codes;
  const listed = [
    ...Object.keys(meanings ?? RESPONSE_CODES),
    ...codes.pinRequired.map(({ code }) => code),
    ...Object.values(reversal.codes).flat(),
  ];
  const rows = [...new Set(listed)].sort().map((code) => {
    const cells = [code, shownOf(meanings, code), kindOf(codes, code), reversalKindOf(reversal.codes, code)];
    return `| ${cells.join(' | ')} |`;
  });
  const shown = meanings === undefined ? 'meaning' : 'the phone sees';
  return [
    `| DE39 | ${shown} | answer to a sale or refund | answer to a reversal |`,
    '|---|---|---|---|',
    ...rows,
    '| any other | | **unknown** | undecided |',
  ].join('\n');
}

/** Codes with which schemes request a PIN have no text in 7.5 of the interface. */
function shownOf(meanings: ResponseCodes['meanings'], code: string): string {
  const meaning = meanings === undefined ? code : (meanings[code] ?? '');
  const text = RESPONSE_CODES[meaning] ?? '';
  return meanings === undefined ? text : `${meaning} ${text}`.trim();
}

function kindOf(codes: ResponseCodes, code: string): string {
  const pinRequests = codes.pinRequired.filter((row) => row.code === code);
  if (pinRequests.length === 0) return plainKindOf(codes, code);
  if (pinRequests.some(({ scheme }) => scheme === undefined)) return 'PIN required';
  const schemes = pinRequests.map(({ scheme }) => scheme).join(', ');
  const flag = pinRequests.some(({ needs }) => needs !== undefined) ? " with the issuer's flag" : '';
  return `${schemes}${flag}: PIN required; otherwise ${plainKindOf(codes, code)}`;
}

function plainKindOf(codes: ResponseCodes, code: string): string {
  if (codes.approved.includes(code)) return 'approved';
  if (codes.partial.includes(code)) return 'approved in part';
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
