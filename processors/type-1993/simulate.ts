import {
  actionCode1993,
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
import { profile } from './profile.ts';
import { RULES } from './rules.ts';
import { decodePinControl } from './security-control.ts';
import type { Type1993Message } from './spec.ts';

const KIND_BY_MTI: Readonly<Record<string, SimulatedRequest['kind']>> = {
  1100: 'authorization',
  1200: 'authorization',
  1220: 'completion',
  1221: 'completion',
  1420: 'reversal',
  1421: 'reversal',
  1804: 'network',
};

/** The code of 7.5 for the chip, when the issuer asks for a PIN. */
const PIN_WANTED = '70';

export function readRequest(request: Type1993Message): SimulatedRequest {
  const { mti, stan = '', tid = '', localDateTime = '', acquirerId = '', processingCode, pinBlock } = request;
  const kind = KIND_BY_MTI[mti] ?? 'unsupported';
  return {
    kind: kind === 'authorization' && isRefundCode(processingCode) ? 'refund' : kind,
    amountMinor: Number(request.amount ?? 0),
    currencyNumeric: request.currency ?? '',
    stan,
    rrn: request.rrn ?? '',
    tid,
    pan: request.pan ?? panOfTrack(request.track2) ?? '',
    pin: pinBlock && { block: pinBlock, ...decodePinControl(request.securityControl) },
    chip: () => request.icc,
    key: transactionKey(stan, localDateTime, acquirerId),
    originalKey: kind === 'reversal' || kind === 'completion' ? originalKeyOf(request) : undefined,
    isRepeat: mti === '1421' || mti === '1221',
    network: kind === 'network' ? networkKindOf(profile.network, request.functionCode) : undefined,
    faults: brokenRules(RULES, request),
  };
}

/** The response of the switch: echoed fields, and its own result. */
export function simulate(request: Type1993Message, response: SimulatedResponse): Type1993Message {
  const { asksForPin = false, isOtherStan = false, amountMinor } = response;
  const isNetwork = request.mti.charAt(1) === '8';
  const responseCode = asksForPin ? PIN_WANTED : response.responseCode;
  return {
    mti: responseMti(request.mti),
    processingCode: request.processingCode,
    amount: amountMinor === undefined ? request.amount : amountDigits(amountMinor),
    transmissionDateTime: request.transmissionDateTime,
    stan: isOtherStan && request.stan !== undefined ? otherStan(request.stan) : request.stan,
    localDateTime: request.localDateTime,
    settlementDate: isNetwork ? undefined : (response.settlementDate?.slice(-6) ?? request.localDateTime?.slice(0, 6)),
    functionCode: isNetwork ? request.functionCode : undefined,
    originalAmounts: amountMinor === undefined ? undefined : request.amount?.padEnd(24, '0'),
    acquirerId: request.acquirerId,
    forwarderId: request.forwarderId,
    rrn: request.rrn,
    authorizationCode: response.authorizationCode,
    responseCode: asksForPin
      ? pinRequestCode(profile.codes.pinRequired, '')
      : actionCode1993(responseCode, request.mti),
    tid: request.tid,
    mid: request.mid,
    currency: request.currency,
    icc: request.icc && simulatedIccData(response, responseCode),
  };
}

/** A STAN is unique per acquirer, regardless of the terminal. DE12 distinguishes the repeats of a busy day. */
function transactionKey(stan: string, at: string, acquirerId: string): string {
  return `${stan}-${at}-${acquirerId}`;
}

function originalKeyOf({ original }: Type1993Message): string | undefined {
  const { stan = '', localDateTime = '', acquirerId = '' } = original ?? {};
  return original && transactionKey(stan, localDateTime, acquirerId);
}
