import {
  classifyOutcome,
  classifyReversalResponse,
  indexTlv,
  issuerTags,
  type Outcome,
  type ReversalResponse,
  schemeOfPan,
  singleTapFlag,
} from '#processor-kit';
import { profile } from './profile.ts';
import type { AcmeMessage } from './spec.ts';

// EDIT: the meaning of a response. `defineProcessor` has verified that it belongs to the request. Return `unknown` if
// the outcome is not certain.
export function readOutcome(response: AcmeMessage, request: AcmeMessage): Outcome {
  const chip = response.icc && indexTlv(response.icc, { onBadChild: 'opaque' });
  const facts = {
    responseCode: response.responseCode ?? '',
    authorizationCode: response.authorizationCode,
    rrn: response.rrn,
    cardTags: chip === undefined ? [] : issuerTags(chip),
  };
  return classifyOutcome(profile.codes, facts, {
    requestedMinor: Number(request.amount),
    respondedMinor: response.amount === undefined ? undefined : Number(response.amount),
    partialAllowed: false,
    scheme: schemeOfPan(request.pan ?? request.track2 ?? '') ?? '',
    singleTapFlag: singleTapFlag(response.additionalData ?? ''),
    issuerAuthenticationData: chip?.hex(0x91) ?? '',
  });
}

export function readReversalResponse(response: AcmeMessage): ReversalResponse {
  return response.mti === '0410'
    ? classifyReversalResponse(profile.reversal, response.responseCode ?? '')
    : 'undecided';
}

export function isNetworkAccepted(response: AcmeMessage): boolean {
  return response.mti === '0810' && response.responseCode === '00';
}

// EDIT: the values that integrators reconcile with. Text, never card data.
export function providerFields(response: AcmeMessage): Record<string, string> {
  return { rrn: response.rrn ?? '', responseCode: response.responseCode ?? '' };
}
