import {
  classifyOutcome,
  classifyReversalResponse,
  debitedAccount,
  type Outcome,
  type OutcomeFacts,
  type ReversalResponse,
  schemeOfAid,
  schemeOfPan,
  singleTapFlag,
} from '#processor-kit';
import { cardTagsOf, iccOf } from './chip.ts';
import { PARTIAL_ALLOWED } from './messages.ts';
import { profile } from './profile.ts';
import type { Type1Message } from './spec.ts';

export function readOutcome(response: Type1Message, request: Type1Message): Outcome {
  const facts: OutcomeFacts = {
    responseCode: response.responseCode ?? '',
    authorizationCode: response.authorizationCode,
    rrn: response.rrn,
    cardTags: cardTagsOf(response),
    cardType: debitedAccount(response.processingCode),
  };
  return classifyOutcome(profile.codes, facts, {
    requestedMinor: Number(request.amount),
    respondedMinor: response.amount === undefined ? undefined : Number(response.amount),
    partialAllowed: request.posCondition === PARTIAL_ALLOWED,
    scheme: schemeOf(request),
    singleTapFlag: singleTapFlag(response.additionalData ?? ''),
    issuerAuthenticationData: iccOf(response).issuerAuthenticationData ?? '',
  });
}

export function readReversalResponse(response: Type1Message): ReversalResponse {
  if (response.mti !== '0430') return 'undecided';
  return classifyReversalResponse(profile.reversal, response.responseCode ?? '');
}

export function isNetworkAccepted(response: Type1Message): boolean {
  return response.mti === '0810' && response.responseCode === '00';
}

/** The values for 2.6 of the interface; one that the response lacks is empty. */
export function providerFields(response: Type1Message): Record<string, string> {
  return {
    stan: response.stan ?? '',
    rrn: response.rrn ?? '',
    responseCode: response.responseCode ?? '',
    settlementDate: response.settlementDate ?? '',
    panEntry: response.posEntryMode === undefined || response.posEntryMode.startsWith('07') ? 'contactless' : 'keyed',
    cardType: debitedAccount(response.processingCode) ?? '',
  };
}

/** From the application that the chip ran; from the PAN, which may be in DE35 alone, if 127.25 names none. */
export function schemeOf(request: Type1Message): string {
  const aid = iccOf(request).applicationIdentifier;
  return (aid === undefined ? schemeOfPan(request.pan ?? request.track2 ?? '') : schemeOfAid(aid)) ?? '';
}
