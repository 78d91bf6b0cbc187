import { moment, notZero, presence, type RequestRule } from '#processor-kit';
import { NOTHING_STANDS } from './messages.ts';
import type { Type1Message } from './spec.ts';

const CARD = ['0100', '0200'];
const REVERSALS = ['0420', '0421'];
const MONEY = [...CARD, ...REVERSALS];
const ALL = [...MONEY, '0800'];

const isRefund = ({ processingCode }: Type1Message) => processingCode?.startsWith('20') === true;
const panOfTrack = ({ track2 }: Type1Message) => track2?.split(/[D=]/, 1)[0];

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
  {
    field: 'pan',
    mtis: MONEY,
    must: 'be present, or 35',
    isKept: ({ pan, track2 }) => pan !== undefined || track2 !== undefined,
    broken: (request) => ({ ...request, pan: undefined, track2: undefined }),
  },
  {
    field: 'pan',
    mtis: CARD,
    must: 'be the PAN of 35, if both are present',
    isKept: (request) => request.pan === undefined || request.pan === (panOfTrack(request) ?? request.pan),
    broken: (request) => ({ ...request, pan: '5413330089010640', track2: '4111111111111111D30122010000000000000' }),
  },
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
      request.switchData?.originalKey !== undefined || !(isRefund(request) || REVERSALS.includes(request.mti)),
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
