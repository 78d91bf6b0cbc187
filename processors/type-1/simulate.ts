import {
  amountDigits,
  brokenRules,
  type CardTag,
  isRefundCode,
  networkKindOf,
  otherStan,
  panOfTrack,
  pinRequestCode,
  responseMti,
  type SimulatedRequest,
  type SimulatedResponse,
  simulatedCardTags,
  singleTapData,
} from '#processor-kit';
import { chipOf, issuerFields } from './chip.ts';
import { schemeOf } from './outcome.ts';
import { profile } from './profile.ts';
import { RULES } from './rules.ts';
import { numberOfPinKey } from './security-control.ts';
import type { Type1Message } from './spec.ts';

const KIND_BY_MTI: Readonly<Record<string, SimulatedRequest['kind']>> = {
  '0100': 'authorization',
  '0200': 'authorization',
  '0420': 'reversal',
  '0421': 'reversal',
  '0800': 'network',
};

export function readRequest(request: Type1Message): SimulatedRequest {
  const { mti, stan = '', tid = '', transmissionDateTime = '', processingCode } = request;
  const kind = KIND_BY_MTI[mti] ?? 'unsupported';
  return {
    kind: kind === 'authorization' && isRefundCode(processingCode) ? 'refund' : kind,
    amountMinor: Number(request.amount ?? 0),
    currencyNumeric: request.currency ?? '',
    stan,
    rrn: request.rrn ?? '',
    tid,
    pan: request.pan ?? panOfTrack(request.track2) ?? '',
    pin: request.pinBlock && { block: request.pinBlock, keyNumber: numberOfPinKey(request.securityControl) },
    chip: () => chipOf(request),
    key: transactionKey(stan, transmissionDateTime, tid),
    originalKey: originalKeyOf(request, tid),
    isRepeat: mti === '0421',
    network: kind === 'network' ? networkKindOf(profile.network, request.networkCode) : undefined,
    faults: brokenRules(RULES, request),
  };
}

/** The response of the switch: echoed fields, in the places of the request, and its own result. */
export function simulate(request: Type1Message, response: SimulatedResponse): Type1Message {
  const [responseCode, additionalData] =
    response.asksForPin === true ? wantPin(schemeOf(request)) : [response.responseCode];
  const isNetwork = request.mti.charAt(1) === '8';
  return {
    mti: responseMti(request.mti),
    processingCode: request.processingCode,
    amount: response.amountMinor === undefined ? request.amount : amountDigits(response.amountMinor),
    transmissionDateTime: request.transmissionDateTime,
    stan: response.isOtherStan === true && request.stan !== undefined ? otherStan(request.stan) : request.stan,
    localTime: request.localTime,
    localDate: request.localDate,
    settlementDate: isNetwork ? undefined : (response.settlementDate?.slice(-4) ?? request.localDate),
    posEntryMode: request.posEntryMode,
    panSequence: request.panSequence,
    posCondition: request.posCondition,
    acquirerId: request.acquirerId,
    forwarderId: request.forwarderId,
    rrn: request.rrn,
    authorizationCode: response.authorizationCode,
    responseCode,
    tid: request.tid,
    mid: request.mid,
    additionalData,
    currency: request.currency,
    networkCode: request.networkCode,
    posDataCode: request.posDataCode,
    switchData: isNetwork ? undefined : switchDataOf(request, simulatedCardTags(response, responseCode)),
  };
}

function switchDataOf(request: Type1Message, tags: readonly CardTag[]): Type1Message['switchData'] {
  const { switchKey, icc, iccXml } = request.switchData ?? {};
  if (icc === undefined && iccXml === undefined) return switchKey === undefined ? undefined : { switchKey };
  return { switchKey, ...issuerFields(tags, request) };
}

/** The code with which the scheme asks for a PIN, and DE48 with its flag if the scheme requires one. */
function wantPin(scheme: string): [responseCode: string, additionalData?: string] {
  const responseCode = pinRequestCode(profile.codes.pinRequired, scheme);
  return responseCode === '65' ? [responseCode, singleTapData()] : [responseCode];
}

/** Includes DE7 and the terminal, because a STAN alone repeats within a day. */
function transactionKey(stan: string, at: string, tid: string): string {
  return `${stan}-${at}-${tid}`;
}

/** DE90 identifies the original with STAN and DE7; its terminal is that of the reversal. */
function originalKeyOf(request: Type1Message, tid: string): string | undefined {
  const original = request.originalElements;
  return original && transactionKey(original.slice(4, 10), original.slice(10, 20), tid);
}
