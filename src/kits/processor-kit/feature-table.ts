import { RESPONSE_CODES } from '../../../schemas/response-codes.ts';
import { namesOfMac } from '../../codecs/crypto/mac.ts';
import { lengthHeaderOf } from '../../codecs/iso8583/network/framing.ts';
import { TAPPED_AT_MS, testPurchase } from './conformance/check.ts';
import type { IsoMessage } from './iso-fields.ts';
import { macFieldNames } from './mac-rule.ts';
import type { Processor, Reversal } from './processor.ts';
import type { ProcessorProfile, ResponseCodes } from './profile.ts';

/** The rows of the table: a feature, and a function that describes it for a processor. */
const FEATURES: readonly (readonly [feature: string, tell: (processor: Processor) => string])[] = [
  ['message header', headerOf],
  ['sale', (processor) => mtiOf(saleOf(processor))],
  [
    'card verification for a mandate',
    ({ mandateAuthorization, exampleConfig }) => mtiOf(mandateAuthorization?.(testPurchase(), exampleConfig)),
  ],
  ['refund', refundMti],
  ['posts', ({ completion }) => (completion ? 'automatically, or after a completion advice' : 'automatically')],
  ['reversal, repeats', (processor) => [1, 2].map((attempt) => mtiOf(reversalOf(processor, attempt))).join(', ')],
  ['STAN of a reversal', ({ profile }) => (profile.reversal.keepsStan ? 'that of the sale' : 'a new one')],
  ['delay of a reversal on another connection', ({ profile }) => `${profile.reversal.overtakingGuardSeconds} s`],
  ['a STAN is unique per', ({ profile }) => profile.stanScope],
  [
    'PIN request codes',
    ({ profile }) =>
      profile.codes.pinRequired.map(({ code, scheme }) => `${code}${scheme ? ` (${scheme})` : ''}`).join(', '),
  ],
  ['partial approval', ({ profile }) => (profile.codes.partial.length > 0 ? 'by configuration' : 'no')],
  ['MAC', macOf],
  ['key change', keyChangeOf],
  ['sign-on, echo', ({ profile }) => `${profile.network.signOn}, ${profile.network.echo}`],
  ['response deadline', ({ profile }) => `${profile.deadlineMs / 1_000} s`],
  ['requests in flight per connection', ({ profile }) => String(profile.maxInFlight)],
];

/** The processors side by side, as Markdown. */
export function featureTable(processors: Iterable<Processor>): string {
  const columns = [...processors];
  const rows = [
    ['', ...columns.map(({ name }) => name)],
    ['---', ...columns.map(() => '---')],
    ['folder', ...columns.map(({ type }) => `[\`${type}\`](${type}/README.md)`)],
    ...FEATURES.map(([feature, tell]) => [feature, ...columns.map(tell)]),
  ];
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function headerOf({ framing }: Processor): string {
  const { description } = lengthHeaderOf(framing);
  const { kind, bytes } = framing.transportHeader ?? {};
  if (bytes === undefined) return description;
  return `${description}, ${bytes.length}-byte ${kind === 'tpdu' ? 'TPDU' : 'prefix'}`;
}

function saleOf({ authorization, exampleConfig }: Processor): IsoMessage {
  return authorization(testPurchase(), exampleConfig);
}

function reversalOf(processor: Processor, attempt: number): IsoMessage {
  const original = processor.originalData(saleOf(processor));
  const stamp = { stan: '000124', sentAtMs: TAPPED_AT_MS, localDateTime: '20261120161045' };
  const reversal: Reversal = { original, reason: 'timeout', attempt, ...stamp };
  return processor.reversal(reversal, processor.exampleConfig);
}

function refundMti(processor: Processor): string {
  const { amount, rrn } = testPurchase();
  const original = processor.originalData(saleOf(processor));
  const stamp = { stan: '000124', sentAtMs: TAPPED_AT_MS, localDateTime: '20261120161045' };
  return mtiOf(processor.refund?.({ original, amount, rrn, ...stamp }, processor.exampleConfig));
}

function mtiOf(message: IsoMessage | undefined): string {
  return message?.mti ?? 'no';
}

function keyChangeOf({ keyChange, profile }: Processor): string {
  if (keyChange === undefined) return 'no';
  const how = keyChange.form === 'keyBlock' ? 'TR-31 key blocks' : 'cryptograms';
  return `${profile.network.keyChange}: ${keyChange.uses.join(', ')}, as ${how}`;
}

function macOf({ mac, spec, configSchema, exampleConfig }: Processor): string {
  if (mac === undefined) return 'no';
  const numberOf = (name: string) => Object.entries(spec.fields).find(([, field]) => field.name === name)?.[0];
  const fields = macFieldNames(mac).map((name) => `DE${numberOf(name)}`);
  const isOptional = configSchema.safeParse({ ...exampleConfig, macKeys: undefined }).success;
  return `${namesOfMac(mac.method).join(' or ')} in ${fields.join(' or ')}, ${isOptional ? 'by configuration' : 'always'}`;
}

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
    `| DE39 | ${shown} | response to a sale or refund | response to a reversal |`,
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
