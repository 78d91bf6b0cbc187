import {
  type CardTag,
  classifyOutcome,
  classifyReversalResponse,
  debitedAccount,
  indexTlv,
  issuerTags,
  meaningOf,
  type Outcome,
  type OutcomeFacts,
  type ReversalResponse,
} from '#processor-kit';
import { PARTIAL_ALLOWED } from './messages.ts';
import { profile } from './profile.ts';
import type { Type1993Message } from './spec.ts';

export function readOutcome(response: Type1993Message, request: Type1993Message): Outcome {
  const { icc, responseCode = '', authorizationCode, rrn, amount } = response;
  const facts: OutcomeFacts = {
    responseCode,
    authorizationCode,
    rrn,
    cardTags: icc === undefined ? [] : (issuerTags(indexTlv(icc, { onBadChild: 'opaque' })) as CardTag[]),
    cardType: debitedAccount(response.processingCode),
  };
  return classifyOutcome(profile.codes, facts, {
    requestedMinor: Number(request.amount),
    respondedMinor: amount === undefined ? undefined : Number(amount),
    partialAllowed: request.additionalData === PARTIAL_ALLOWED,
    // 112 asks for the PIN of any card, without the flags of the schemes.
    scheme: '',
    singleTapFlag: false,
    issuerAuthenticationData: '',
  });
}

export function readReversalResponse({ mti, responseCode = '' }: Type1993Message): ReversalResponse {
  return mti === '1430' ? classifyReversalResponse(profile.reversal, responseCode) : 'undecided';
}

/** The values for 2.6 of the interface; one that the response lacks is empty. */
export function providerFields(response: Type1993Message): Record<string, string> {
  const { stan = '', rrn = '', responseCode: actionCode = '', settlementDate = '' } = response;
  const responseCode = meaningOf(profile.codes, actionCode);
  return {
    stan,
    rrn,
    actionCode,
    responseCode,
    settlementDate,
    cardType: debitedAccount(response.processingCode) ?? '',
  };
}
