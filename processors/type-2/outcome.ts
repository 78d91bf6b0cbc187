import {
  type CardTag,
  classifyOutcome,
  classifyReversalResponse,
  indexTlv,
  issuerTags,
  type Outcome,
  type OutcomeFacts,
  type ReversalResponse,
  schemeOfAid,
  schemeOfPan,
  type TlvIndex,
} from '#processor-kit';
import { PARTIAL_ALLOWED } from './messages.ts';
import { profile } from './profile.ts';
import type { Type2Message } from './spec.ts';

const AID = 0x84;
const ISSUER_AUTHENTICATION = 0x91;

export function readOutcome(response: Type2Message, request: Type2Message): Outcome {
  const chip = chipOf(response);
  const facts: OutcomeFacts = {
    responseCode: response.responseCode ?? '',
    authorizationCode: response.authorizationCode,
    rrn: response.rrn,
    cardTags: chip === undefined ? [] : (issuerTags(chip) as CardTag[]),
    cardType: response.reconciliation?.cardType,
  };
  return classifyOutcome(profile.codes, facts, {
    requestedMinor: Number(request.amount),
    respondedMinor: response.amount === undefined ? undefined : Number(response.amount),
    partialAllowed: request.posCondition === PARTIAL_ALLOWED,
    scheme: schemeOf(request),
    singleTapFlag: response.submission?.singleTap?.isPinWanted === '1',
    issuerAuthenticationData: chip?.hex(ISSUER_AUTHENTICATION) ?? '',
  });
}

export function readReversalResponse(response: Type2Message): ReversalResponse {
  if (response.mti !== '0410') return 'undecided';
  return classifyReversalResponse(profile.reversal, response.responseCode ?? '');
}

export function isNetworkAccepted(response: Type2Message): boolean {
  return response.mti === '0810' && response.responseCode === '00';
}

/** DE63 unchanged, under the names of 2.6 of the interface; an element that the response lacks is empty. */
export function providerFields({ reconciliation = {} }: Type2Message): Record<string, string> {
  return {
    Code: reconciliation.code ?? '',
    mid: reconciliation.mid ?? '',
    tid: reconciliation.tid ?? '',
    merchantName: reconciliation.merchantName ?? '',
    panEntry: reconciliation.panEntry ?? '',
    cardType: reconciliation.cardType ?? '',
    reconReference: reconciliation.reconReference ?? '',
    acquirerDate: reconciliation.acquirerDate ?? '',
    acquirerTime: reconciliation.acquirerTime ?? '',
  };
}

/** From the application that the chip ran; from the PAN if DE55 names none. */
export function schemeOf(request: Type2Message): string {
  const aid = chipOf(request)?.hex(AID);
  const pan = request.pan ?? request.track2 ?? '';
  return (aid === undefined ? schemeOfPan(pan) : schemeOfAid(aid)) ?? '';
}

/** DE55 by tag. The codec has checked that it is TLV; a template whose content is not TLV stays bytes. */
function chipOf({ icc }: Type2Message): TlvIndex | undefined {
  return icc && indexTlv(icc, { onBadChild: 'opaque' });
}
