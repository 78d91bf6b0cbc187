import { TAPPED_AT_MS, testPurchase } from './conformance/test-tap.ts';
import type { IsoMessage } from './iso-message.ts';
import type { Processor, Reversal } from './processor.ts';

/** What is asked of each processor, and how it is told. */
const FEATURES: readonly (readonly [feature: string, tell: (processor: Processor) => string])[] = [
  ['in front of a message', headerOf],
  ['sale', (processor) => mtiOf(saleOf(processor))],
  [
    'proof of a card for a mandate',
    ({ mandateAuthorization, exampleConfig }) => mtiOf(mandateAuthorization?.(testPurchase(), exampleConfig)),
  ],
  ['refund', refundMti],
  ['posts', ({ completion }) => (completion ? 'by itself, or by a completion advice' : 'by itself')],
  ['reversal, repeats', (processor) => [1, 2].map((attempt) => mtiOf(reversalOf(processor, attempt))).join(', ')],
  ['STAN of a reversal', ({ profile }) => (profile.reversal.keepsStan ? 'the sale’s' : 'its own')],
  ['a reversal on another line waits', ({ profile }) => `${profile.reversal.overtakingGuardSeconds} s`],
  ['a STAN is unique per', ({ profile }) => profile.stanScope],
  [
    'asks for a PIN by',
    ({ profile }) =>
      profile.codes.pinRequired.map(({ code, scheme }) => `${code}${scheme ? ` (${scheme})` : ''}`).join(', '),
  ],
  ['partial approval', ({ profile }) => (profile.codes.partial.length > 0 ? 'by configuration' : 'no')],
  ['MAC', macOf],
  ['changes keys', keyChangeOf],
  ['sign-on, echo', ({ profile }) => `${profile.network.signOn}, ${profile.network.echo}`],
  ['answers within', ({ profile }) => `${profile.deadlineMs / 1_000} s`],
  ['on its way at once', ({ profile }) => String(profile.maxInFlight)],
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
  const transport = framing.transportHeader?.length ?? 0;
  return `${framing.lengthBytes} bytes of length${transport > 0 ? `, ${transport} of TPDU` : ''}`;
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

const MAC_NAMES = { retail: 'retail', cbc: 'X9.9', cmac: 'CMAC' } as const;

function macOf({ mac, spec, configSchema, exampleConfig }: Processor): string {
  if (mac === undefined) return 'no';
  const number = Object.entries(spec.fields).find(([, field]) => field.name === mac.field)?.[0];
  const isOptional = configSchema.safeParse({ ...exampleConfig, macKeys: undefined }).success;
  return `${MAC_NAMES[mac.method.algorithm]} in DE${number}, ${isOptional ? 'by configuration' : 'always'}`;
}
