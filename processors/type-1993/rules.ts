import { isRefundCode, moment, notZero, panOrTrack, presence, type RequestRule } from '#processor-kit';
import { FUNCTION } from './messages.ts';
import type { Type1993Message } from './spec.ts';

const CARD = ['1100', '1200'];
const REVERSALS = ['1420', '1421'];
const COMPLETIONS = ['1220', '1221'];
const FOLLOW_UPS = [...COMPLETIONS, ...REVERSALS];
const MONEY = [...CARD, ...FOLLOW_UPS];
const ALL = [...MONEY, '1804'];

/** What the switch requires of requests; it responds to one that breaks a rule with 904. */
export const RULES: readonly RequestRule<Type1993Message>[] = [
  ...presence<Type1993Message>(ALL, ['transmissionDateTime', 'stan', 'functionCode']),
  ...presence<Type1993Message>(MONEY, [
    ...(['processingCode', 'amount', 'localDateTime', 'posDataCode', 'merchantCategory', 'acquirerId', 'rrn'] as const),
    ...(['tid', 'mid', 'acceptorNameLocation', 'currency'] as const),
  ]),
  ...presence<Type1993Message>(FOLLOW_UPS, ['originalAmounts', 'original']),
  ...presence<Type1993Message>(REVERSALS, ['messageReason']),
  notZero(['1200'], 'amount'),
  moment(ALL, 'transmissionDateTime', 'MMDDhhmmss'),
  moment(MONEY, 'localDateTime', 'YYMMDDhhmmss'),
  moment(MONEY, 'expiry', 'YYMM'),
  functionCode(['1100'], [FUNCTION.authorization, FUNCTION.inquiry]),
  functionCode(['1200'], [FUNCTION.financial]),
  functionCode(REVERSALS, [FUNCTION.fullReversal]),
  functionCode(COMPLETIONS, [FUNCTION.completionSameAmount, FUNCTION.completionOtherAmount]),
  ...panOrTrack<Type1993Message>(MONEY, CARD),
  {
    field: 'posDataCode',
    mtis: MONEY,
    must: 'have 12 letters or digits',
    isKept: ({ posDataCode }) => posDataCode === undefined || /^[0-9A-Z]{12}$/i.test(posDataCode),
    broken: (request) => ({ ...request, posDataCode: ' '.repeat(12) }),
  },
  {
    field: 'original.messageType',
    label: '56 (message type)',
    mtis: MONEY,
    must: 'be a request for money, if 56 is present',
    isKept: ({ original }) => original === undefined || CARD.includes(original.messageType ?? ''),
    broken: (request) => ({ ...request, original: { ...request.original, messageType: '9999' } }),
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
    mtis: REVERSALS,
    must: 'be the STAN in 56: a reversal keeps that of its sale',
    isKept: ({ stan, original }) => original === undefined || stan === original.stan,
    broken: (request) => ({ ...request, stan: request.stan === '999998' ? '999997' : '999998' }),
  },
  {
    field: 'original.acquirerId',
    label: '56 (acquirer)',
    mtis: FOLLOW_UPS,
    must: 'be that of 32',
    isKept: ({ acquirerId, original }) => original === undefined || acquirerId === original.acquirerId,
    broken: (request) => ({ ...request, original: { ...request.original, acquirerId: '99999999999' } }),
  },
  {
    field: 'originalAmounts',
    mtis: REVERSALS,
    must: 'begin with the amount in 4, because nothing of it may stand',
    isKept: ({ amount = '', originalAmounts }) => originalAmounts?.startsWith(amount) !== false,
    broken: (request) => ({ ...request, originalAmounts: '000000000617000000000000' }),
  },
  {
    field: 'amount',
    mtis: COMPLETIONS,
    must: 'be at most the amount in 30',
    isKept: ({ amount = '', originalAmounts }) =>
      originalAmounts === undefined || amount <= originalAmounts.slice(0, 12),
    broken: (request) => ({ ...request, amount: '999999999999', originalAmounts: '000000000617000000000000' }),
  },
  {
    field: 'securityControl',
    mtis: CARD,
    must: 'be present if 52 is',
    isKept: ({ pinBlock, securityControl }) => pinBlock === undefined || securityControl !== undefined,
    broken: (request) => ({ ...request, pinBlock: new Uint8Array(8), securityControl: undefined }),
  },
];

function functionCode(mtis: readonly string[], allowed: readonly string[]): RequestRule<Type1993Message> {
  return {
    field: 'functionCode',
    mtis,
    must: `be ${allowed.join(' or ')}`,
    isKept: ({ functionCode }) => functionCode === undefined || allowed.includes(functionCode),
    broken: (request) => ({ ...request, functionCode: '999' }),
  };
}
