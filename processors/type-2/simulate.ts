import {
  amountDigits,
  brokenRules,
  isRefundCode,
  networkKindOf,
  otherStan,
  panOfTrack,
  pinRequestCode,
  responseMti,
  type SimulatedRequest,
  type SimulatedResponse,
  simulatedIccData,
} from '#processor-kit';
import { schemeOf } from './outcome.ts';
import { profile } from './profile.ts';
import { RULES } from './rules.ts';
import type { Type2Message } from './spec.ts';

const KIND_BY_MTI: Readonly<Record<string, SimulatedRequest['kind']>> = {
  '0100': 'authorization',
  '0220': 'completion',
  '0221': 'completion',
  '0400': 'reversal',
  '0401': 'reversal',
  '0800': 'network',
};

export function readRequest(request: Type2Message): SimulatedRequest {
  const { mti, stan = '', tid = '', transmissionDateTime = '', pinBlock } = request;
  const kind = KIND_BY_MTI[mti] ?? 'unsupported';
  return {
    kind: kind === 'authorization' && isRefundCode(request.processingCode) ? 'refund' : kind,
    amountMinor: Number(request.amount ?? 0),
    currencyNumeric: request.currency ?? '',
    stan,
    rrn: request.rrn ?? '',
    tid,
    pan: request.pan ?? panOfTrack(request.track2) ?? '',
    pin: pinBlock && { block: pinBlock, ksn: request.pinKsn },
    chip: () => request.icc,
    key: transactionKey(stan, transmissionDateTime),
    originalKey: kind === 'reversal' || kind === 'completion' ? originalKeyOf(request) : undefined,
    isRepeat: mti === '0401' || mti === '0221',
    network: kind === 'network' ? networkKindOf(profile.network, request.processingCode) : undefined,
    faults: brokenRules(RULES, request),
  };
}

/** The response of the switch: echoed fields, in the places of the request, and its own result. */
export function simulate(request: Type2Message, response: SimulatedResponse): Type2Message {
  const responseCode = response.asksForPin
    ? pinRequestCode(profile.codes.pinRequired, schemeOf(request))
    : response.responseCode;
  const isMoney = request.mti.charAt(1) !== '8';
  return {
    mti: responseMti(request.mti),
    processingCode: request.processingCode,
    amount: response.amountMinor === undefined ? request.amount : amountDigits(response.amountMinor),
    transmissionDateTime: request.transmissionDateTime,
    stan: response.isOtherStan === true && request.stan !== undefined ? otherStan(request.stan) : request.stan,
    localTime: request.localTime,
    localDate: request.localDate,
    settlementDate: isMoney ? (response.settlementDate?.slice(-4) ?? request.localDate) : undefined,
    networkId: request.networkId,
    rrn: request.rrn,
    authorizationCode: response.authorizationCode,
    responseCode,
    tid: request.tid,
    mid: request.mid,
    submission: response.asksForPin === true && responseCode === '65' ? { singleTap: { isPinWanted: '1' } } : undefined,
    currency: request.currency,
    icc: request.icc && simulatedIccData(response, responseCode),
    reconciliation: isMoney ? reconciliationOf(request, responseCode) : undefined,
  };
}

function reconciliationOf(request: Type2Message, responseCode: string): Type2Message['reconciliation'] {
  return {
    code: responseCode,
    mid: request.mid,
    tid: request.tid,
    merchantName: request.acceptorNameLocation?.slice(0, 23).trimEnd() || undefined,
    panEntry: request.posEntryMode?.startsWith('07') === true ? 'CONTACTLESS' : 'KEYED',
    cardType: 'CREDIT',
    reconReference: request.rrn,
    acquirerDate: request.localDate,
    acquirerTime: request.localTime,
  };
}

/** A STAN is unique per acquirer, regardless of the terminal. DE7 distinguishes the repeats of a busy day. */
function transactionKey(stan: string, at: string): string {
  return `${stan}-${at}`;
}

function originalKeyOf({ original }: Type2Message): string | undefined {
  return original && transactionKey(original.stan ?? '', original.transmissionDateTime ?? '');
}
