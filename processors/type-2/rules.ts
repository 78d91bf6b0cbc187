import { isMoment, isRefundCode, moment, presence, type RequestRule } from '#processor-kit';
import { VERIFICATION_ONLY } from './messages.ts';
import type { Type2Message } from './spec.ts';

const CARD = ['0100'];
const REVERSALS = ['0400', '0401'];
const COMPLETIONS = ['0220', '0221'];
const FOLLOW_UPS = [...COMPLETIONS, ...REVERSALS];
const MONEY = [...CARD, ...FOLLOW_UPS];
const ALL = [...MONEY, '0800'];

/** What the switch requires of requests; it responds to one that breaks a rule with 30. */
export const RULES: readonly RequestRule<Type2Message>[] = [
  ...presence<Type2Message>(ALL, ['processingCode', 'transmissionDateTime', 'stan', 'networkId']),
  ...presence<Type2Message>(MONEY, [
    ...(['amount', 'localTime', 'localDate', 'posEntryMode', 'posCondition', 'acquirerId', 'rrn'] as const),
    ...(['tid', 'mid', 'acceptorNameLocation', 'submission', 'currency'] as const),
  ]),
  ...presence<Type2Message>(FOLLOW_UPS, ['original']),
  ...presence<Type2Message>(REVERSALS, ['responseCode']),
  {
    field: 'amount',
    mtis: CARD,
    must: `not be zero, unless 25 is ${VERIFICATION_ONLY}`,
    isKept: ({ amount = '', posCondition }) => Number(amount) !== 0 || posCondition === VERIFICATION_ONLY,
    broken: (request) => ({ ...request, amount: '000000000000', posCondition: '00' }),
  },
  moment(ALL, 'transmissionDateTime', 'MMDDhhmmss'),
  moment(MONEY, 'localTime', 'hhmmss'),
  moment(MONEY, 'localDate', 'MMDD'),
  moment(MONEY, 'expiry', 'YYMM'),
  {
    // A switch that accepted the sale could otherwise refuse its reversal, which has this date in field 14.
    field: 'track2',
    mtis: CARD,
    must: 'contain an expiry date that exists as YYMM',
    isKept: ({ track2 }) => track2 === undefined || isMoment(track2.split(/[D=]/)[1]?.slice(0, 4) ?? '', 'YYMM'),
    broken: (request) => ({ ...request, pan: undefined, track2: '4111111111111111D99992010000000000000' }),
  },
  {
    field: 'track2',
    mtis: MONEY,
    must: 'be present, or 2',
    isKept: ({ pan, track2 }) => pan !== undefined || track2 !== undefined,
    broken: (request) => ({ ...request, pan: undefined, track2: undefined }),
  },
  {
    field: 'pan',
    mtis: CARD,
    must: 'be absent if 35 is present',
    isKept: ({ pan, track2 }) => pan === undefined || track2 === undefined,
    broken: (request) => ({ ...request, pan: '4111111111111111', track2: '4111111111111111D30122010000000000000' }),
  },
  {
    field: 'original',
    mtis: CARD,
    must: 'be present in a refund',
    isKept: (request) => request.original !== undefined || !isRefundCode(request.processingCode),
    broken: (request) => ({ ...request, processingCode: '200000', original: undefined }),
  },
  {
    field: 'stan',
    mtis: FOLLOW_UPS,
    must: 'differ from the STAN in 56: each attempt has its own',
    isKept: ({ stan, original }) => original === undefined || stan !== original.stan,
    broken: (request) => ({ ...request, stan: request.original?.stan }),
  },
  {
    field: 'submission.appId',
    label: '48.01',
    mtis: MONEY,
    must: 'be present',
    isKept: ({ submission }) => submission === undefined || submission.appId !== undefined,
    broken: (request) => ({ ...request, submission: { ...request.submission, appId: undefined } }),
  },
  {
    field: 'pinKsn',
    mtis: CARD,
    must: 'be present if 52 is',
    isKept: ({ pinBlock, pinKsn }) => pinBlock === undefined || pinKsn !== undefined,
    broken: (request) => ({ ...request, pinBlock: new Uint8Array(8), pinKsn: undefined }),
  },
];
