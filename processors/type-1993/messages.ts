import {
  acceptorAddress,
  actionCode1993,
  amountDigits,
  buildDe55,
  type Completion,
  type CompletionAdvice,
  keepFields,
  type LocalStamp,
  MAC_ALGORITHMS,
  type MacRule,
  type MessageStamp,
  type NetworkRequestKind,
  type OriginalData,
  type Purchase,
  type Refund,
  type Reversal,
  type ReversalReason,
  transmissionDateTime,
} from '#processor-kit';
import type { Type1993Config } from './config.ts';
import { NETWORK_ACCEPTED, profile } from './profile.ts';
import { encodePinControl } from './security-control.ts';
import type { Type1993Message } from './spec.ts';

/** DE3: the type of transaction. */
const GOODS_AND_SERVICES = '000000';
const RETURNS = '200000';
const CARD_VERIFICATION = '380000';

/** DE24: what the message is for, within the class of its MTI (ISO 8583:1993 A.8). */
export const FUNCTION = {
  authorization: '100',
  inquiry: '108',
  financial: '200',
  completionSameAmount: '201',
  completionOtherAmount: '202',
  fullReversal: '400',
} as const;

/**
 * DE22, by position (ISO 8583:1993 A.10): 1 input capability (M contactless chip, a private value), 2 cardholder
 * authentication capability (1 PIN, 0 none), 3 cannot retain cards, 4 attended on the premises, 5 cardholder present
 * (0; 1 not), 6 card present (1), 7 input mode (M contactless chip, 6 key entered), 8 cardholder authentication
 * (1 PIN, 0 none), 9 who verified it (3 authorizing agent, 0 not verified), 10 cannot write cards, 11 prints and displays,
 * 12 the longest PIN (C twelve digits, 0 none).
 */
const POS_TAP_PIN_ENTERED = 'M10101M1314C';
const POS_TAP_PIN_CAPABLE = 'M10101M0014C';
const POS_TAP_NO_PIN = 'M00101M00140';
const POS_REFUND = 'M00110600140';

/** DE48 of a request that may be approved in part. */
export const PARTIAL_ALLOWED = '1';

/** DE25 of a reversal (ISO 8583:1993 A.9). */
const REASON_CODES: Readonly<Record<ReversalReason, string>> = {
  void: '4000', // customer cancellation
  'late-approval': '4006', // response received too late
  'unusable-response': '4020', // invalid response
  timeout: '4021', // time-out waiting for a response
};

/** The fields that a reversal, a refund or a completion repeats. Chip data, track and PIN must not be stored. */
const REPEATED = [
  'mti',
  'pan',
  'processingCode',
  'amount',
  'transmissionDateTime',
  'stan',
  'localDateTime',
  'expiry',
  'posDataCode',
  'panSequence',
  'merchantCategory',
  'acquirerId',
  'forwarderId',
  'rrn',
  'tid',
  'mid',
  'acceptorNameLocation',
  'additionalData',
  'currency',
] as const satisfies (keyof Type1993Message)[];

/** A financial request, which posts the sale; an authorization if a completion posts it. */
export function authorization(purchase: Purchase, config: Type1993Config): Type1993Message {
  const isPartialAllowed = config.profile?.partialApproval ?? profile.partialApproval;
  const { amountMinor } = purchase.amount;
  return {
    ...cardMessage(amountMinor, purchase, config),
    ...(config.completion
      ? { mti: '1100', functionCode: FUNCTION.authorization }
      : { mti: '1200', functionCode: FUNCTION.financial }),
    additionalData: isPartialAllowed ? PARTIAL_ALLOWED : undefined,
  };
}

/** Amount zero: the issuer verifies the card and its holder, and takes no money. */
export function mandateAuthorization(purchase: Purchase, config: Type1993Config): Type1993Message {
  const message = cardMessage(0, purchase, config);
  return { ...message, functionCode: FUNCTION.inquiry, processingCode: CARD_VERIFICATION };
}

function cardMessage(amountMinor: number, purchase: Purchase, config: Type1993Config): Type1993Message {
  const { card, terminal, merchant, pin } = purchase;
  const posNoPin = terminal.canTakePin ? POS_TAP_PIN_CAPABLE : POS_TAP_NO_PIN;
  return {
    mti: '1100',
    pan: card.pan,
    processingCode: GOODS_AND_SERVICES,
    amount: amountDigits(amountMinor),
    ...timesOf(purchase),
    expiry: card.expiry,
    posDataCode: pin ? POS_TAP_PIN_ENTERED : posNoPin,
    panSequence: card.panSequence,
    merchantCategory: merchant.mcc,
    acquirerId: config.acquirerId,
    forwarderId: config.forwarderId,
    track2: card.track2,
    rrn: purchase.rrn,
    tid: terminal.tid,
    mid: terminal.mid,
    acceptorNameLocation: acceptorAddress(merchant),
    currency: purchase.amount.currencyNumeric,
    pinBlock: pin?.block,
    securityControl: pin && encodePinControl(pin),
    icc: buildDe55(purchase.chip),
  };
}

export function refund({ original, rrn, amount, ...stamp }: Refund): Type1993Message {
  return {
    ...repeated(original),
    mti: '1200',
    functionCode: FUNCTION.financial,
    processingCode: RETURNS,
    amount: amountDigits(amount.amountMinor),
    ...timesOf(stamp),
    posDataCode: POS_REFUND,
    rrn,
    currency: amount.currencyNumeric,
    original: originalElements(original),
  };
}

export function originalData(request: Type1993Message): OriginalData {
  return keepFields(request, REPEATED);
}

/** 1420, and 1421 for each repeat, under the STAN of the reversed request, which DE56 identifies. */
export function reversal({ original, ...reversal }: Reversal): Type1993Message {
  return {
    ...repeated(original),
    mti: reversal.attempt === 1 ? '1420' : '1421',
    functionCode: FUNCTION.fullReversal,
    messageReason: REASON_CODES[reversal.reason],
    amount: original.amount,
    ...timesOf(reversal),
    originalAmounts: originalAmounts(original),
    authorizationCode: reversal.authorizationCode,
    original: originalElements(original),
  };
}

/** The fields of the original that identify card, merchant and terminal. */
function repeated(original: OriginalData): Omit<Type1993Message, 'mti'> {
  const { pan, processingCode, expiry, posDataCode, panSequence, merchantCategory, acquirerId, forwarderId } = original;
  const { rrn, tid, mid, acceptorNameLocation, currency } = original;
  return {
    ...{ pan, processingCode, expiry, posDataCode, panSequence, merchantCategory, acquirerId, forwarderId },
    ...{ rrn, tid, mid, acceptorNameLocation, currency },
  };
}

function timesOf({ stan, sentAtMs, localDateTime }: LocalStamp) {
  return { transmissionDateTime: transmissionDateTime(sentAtMs), stan, localDateTime: localDateTime.slice(2) };
}

/** DE30: the amount of the original, then that of its reconciliation, which is not known. */
function originalAmounts({ amount = '' }: OriginalData): string {
  return amount.padEnd(24, '0');
}

function originalElements({ mti, stan, localDateTime, acquirerId }: OriginalData): Type1993Message['original'] {
  return { messageType: mti, stan, localDateTime, acquirerId };
}

export function networkRequest(
  kind: NetworkRequestKind,
  { stan, sentAtMs }: MessageStamp,
): Type1993Message | undefined {
  const functionCode = profile.network[kind];
  if (functionCode === undefined) return undefined;
  return { mti: '1804', transmissionDateTime: transmissionDateTime(sentAtMs), stan, functionCode };
}

/**
 * The switch sends an echo, a cut-over, a sign-on or a sign-off: each is acknowledged with 800. A key announcement
 * without a key exchange is not.
 */
export function respondToSwitchRequest(request: Type1993Message): Type1993Message | undefined {
  if (request.mti !== '1804') return undefined;
  const { echo, cutOver, signOn, signOff } = profile.network;
  const isKnown = [echo, cutOver, signOn, signOff].includes(request.functionCode);
  return networkResponse(request, isKnown ? '00' : '40');
}

/** @param responseCode of 7.5 of the interface */
export function networkResponse(request: Type1993Message, responseCode: string): Type1993Message {
  const { transmissionDateTime, stan, functionCode } = request;
  return {
    mti: '1814',
    transmissionDateTime,
    stan,
    functionCode,
    responseCode: actionCode1993(responseCode, request.mti),
  };
}

export function isNetworkAccepted(response: Type1993Message): boolean {
  return response.mti === '1814' && response.responseCode === NETWORK_ACCEPTED;
}

/** DE64, or DE128 in a message with a second bitmap: ANSI X9.19 over the whole message before it. */
export const mac: MacRule<Type1993Message> = {
  method: MAC_ALGORITHMS['x9.19'],
  field: ['primaryMac', 'mac'],
  lengthBytes: 8,
  covered: (_message, body) => body,
  macBytes: 8,
  compose: (_keyNumber, mac) => mac,
  read: (mac) => ({ keyNumber: undefined, mac }),
};

/**
 * 000 approves, 901 acknowledges the advice with financial liability, 913 has accepted it before. 900 acknowledges it
 * without liability: the money is not certain, so the advice is repeated until a person looks.
 */
const ACKNOWLEDGING = ['000', '901', '913'];

/** 1220, and 1221 for each repeat: DE56 identifies the authorization to post, DE4 its amount. */
export const completion: CompletionAdvice<Type1993Config, Type1993Message> = {
  isWanted: ({ completion }) => completion,
  build: ({ original, ...advice }: Completion) => {
    const amount = amountDigits(advice.amountMinor);
    return {
      ...repeated(original),
      mti: advice.attempt === 1 ? '1220' : '1221',
      functionCode: amount === original.amount ? FUNCTION.completionSameAmount : FUNCTION.completionOtherAmount,
      amount,
      ...timesOf(advice),
      originalAmounts: originalAmounts(original),
      authorizationCode: advice.authorizationCode,
      original: originalElements(original),
    };
  },
  isAcknowledged: ({ mti, responseCode = '' }) => mti === '1230' && ACKNOWLEDGING.includes(responseCode),
};
