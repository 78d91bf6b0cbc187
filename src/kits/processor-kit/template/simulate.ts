import {
  amountDigits,
  brokenRules,
  networkKindOf,
  otherStan,
  pinRequestCode,
  responseMti,
  type SimulatedRequest,
  type SimulatedResponse,
  schemeOfPan,
  simulatedIccData,
  singleTapData,
} from '#processor-kit';
import { profile } from './profile.ts';
import { RULES } from './rules.ts';
import type { AcmeMessage } from './spec.ts';

const KINDS: Readonly<Record<string, SimulatedRequest['kind']>> = {
  '0100': 'authorization',
  '0400': 'reversal',
  '0401': 'reversal',
  '0800': 'network',
};

// EDIT: the content of a request, for the simulated switch and the conformance suite.
export function readRequest(request: AcmeMessage): SimulatedRequest {
  const { mti, stan = '', tid = '', transmissionDateTime = '', originalElements, pinBlock } = request;
  return {
    kind: KINDS[mti] ?? 'unsupported',
    amountMinor: Number(request.amount ?? 0),
    currencyNumeric: request.currency ?? '',
    stan,
    rrn: request.rrn ?? '',
    tid,
    pan: request.pan ?? '',
    pin: pinBlock && { block: pinBlock },
    chip: () => request.icc,
    key: `${stan}-${transmissionDateTime}-${tid}`,
    originalKey: originalElements && `${originalElements.slice(4, 10)}-${originalElements.slice(10, 20)}-${tid}`,
    isRepeat: mti === '0401',
    network: networkKindOf(profile.network, request.networkCode),
    faults: brokenRules(RULES, request),
  };
}

// EDIT: the response of your switch.
export function simulate(request: AcmeMessage, response: SimulatedResponse): AcmeMessage {
  const { asksForPin = false, isOtherStan = false, amountMinor } = response;
  const scheme = schemeOfPan(request.pan ?? request.track2 ?? '') ?? '';
  const responseCode = asksForPin ? pinRequestCode(profile.codes.pinRequired, scheme) : response.responseCode;
  return {
    mti: responseMti(request.mti),
    amount: amountMinor === undefined ? request.amount : amountDigits(amountMinor),
    transmissionDateTime: request.transmissionDateTime,
    stan: isOtherStan && request.stan !== undefined ? otherStan(request.stan) : request.stan,
    rrn: request.rrn,
    authorizationCode: response.authorizationCode,
    responseCode,
    tid: request.tid,
    mid: request.mid,
    additionalData: asksForPin && responseCode === '65' ? singleTapData() : undefined,
    currency: request.currency,
    icc: request.icc && simulatedIccData(response, responseCode),
    networkCode: request.networkCode,
  };
}
