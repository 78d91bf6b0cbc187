import { isRefundCode, moment, notZero, panOrTrack, presence, type RequestRule } from '#processor-kit';
import { NOTHING_STANDS } from './messages.ts';
import type { Type1Message } from './spec.ts';

const CARD = ['0100', '0200'];
const REVERSALS = ['0420', '0421'];
const MONEY = [...CARD, ...REVERSALS];
const ALL = [...MONEY, '0800'];

/** What the switch requires of requests; it responds to one that breaks a rule with 30. */
export const RULES: readonly RequestRule<Type1Message>[] = [
  ...presence<Type1Message>(ALL, ['transmissionDateTime', 'stan']),
  ...presence<Type1Message>(MONEY, [
    ...(['processingCode', 'amount', 'localTime', 'localDate', 'posEntryMode', 'posCondition', 'acquirerId'] as const),
    ...(['rrn', 'tid', 'mid', 'acceptorNameLocation', 'currency', 'posDataCode'] as const),
  ]),
  ...presence<Type1Message>(REVERSALS, ['reasonCode', 'originalElements', 'replacementAmounts']),
  ...presence<Type1Message>(['0800'], ['networkCode']),
  notZero(['0200'], 'amount'),
  moment(ALL, 'transmissionDateTime', 'MMDDhhmmss'),
  moment(MONEY, 'localTime', 'hhmmss'),
  moment(MONEY, 'localDate', 'MMDD'),
  moment(MONEY, 'expiry', 'YYMM'),
  ...panOrTrack<Type1Message>(MONEY, CARD),
  {
    field: 'posDataCode',
    mtis: MONEY,
    must: 'have 15 positions',
    isKept: ({ posDataCode }) => posDataCode === undefined || posDataCode.length === 15,
    broken: (request) => ({ ...request, posDataCode: 'A' }),
  },
  {
    field: 'switchData.switchKey',
    label: '127.2',
    mtis: MONEY,
    must: 'be present',
    isKept: ({ switchData }) => switchData?.switchKey !== undefined,
    broken: (request) => ({ ...request, switchData: { ...request.switchData, switchKey: undefined } }),
  },
  {
    field: 'switchData.originalKey',
    label: '127.11',
    mtis: ['0200', ...REVERSALS],
    must: 'be present in a refund or reversal',
    isKept: (request) =>
      request.switchData?.originalKey !== undefined ||
      !(isRefundCode(request.processingCode) || REVERSALS.includes(request.mti)),
    broken: (request) => ({
      ...request,
      ...(!REVERSALS.includes(request.mti) && { processingCode: '200000' }),
      switchData: { ...request.switchData, originalKey: undefined },
    }),
  },
  {
    field: 'stan',
    mtis: REVERSALS,
    must: 'be the STAN in 90: a reversal keeps that of its sale',
    isKept: ({ stan, originalElements }) => originalElements === undefined || stan === originalElements.slice(4, 10),
    broken: (request) => ({ ...request, stan: request.stan === '999998' ? '999997' : '999998' }),
  },
  {
    field: 'replacementAmounts',
    mtis: REVERSALS,
    must: 'leave nothing of the amount',
    isKept: ({ replacementAmounts = NOTHING_STANDS }) => replacementAmounts === NOTHING_STANDS,
    broken: (request) => ({ ...request, replacementAmounts: `000000000617${NOTHING_STANDS.slice(12)}` }),
  },
];
