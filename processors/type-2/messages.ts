import {
  acceptorNameLocation,
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
import type { Type2Config } from './config.ts';
import { profile } from './profile.ts';
import type { Type2Message } from './spec.ts';

/** DE3: the type of transaction. */
const GOODS_AND_SERVICES = '000000';
const RETURNS = '200000';

/**
 * DE22: 07 is contactless under chip rules; the last digit states whether a PIN could be entered. 01 is a stored
 * PAN.
 */
const CONTACTLESS_PIN = '071';
const CONTACTLESS_NO_PIN = '072';
const KEYED = '010';

/** DE25: a normal presentment, one that may be approved in part, a card verification without money. */
const NORMAL = '00';
export const PARTIAL_ALLOWED = '41';
/** DE25 of a card verification, which takes no money. */
export const VERIFICATION_ONLY = '51';

/** DE26: PINs have at most 12 digits. */
const PIN_CAPTURE = '12';

/** DE39 of a reversal request: its reason, as a response code. */
const REASON_CODES: Readonly<Record<ReversalReason, string>> = {
  void: '17',
  'late-approval': '68',
  'unusable-response': '20',
  timeout: '68',
};

/** The fields that a reversal or a refund repeats. Track, PIN and cryptogram must not be stored. */
const REPEATED = [
  'mti',
  'pan',
  'processingCode',
  'amount',
  'transmissionDateTime',
  'stan',
  'expiry',
  'merchantCategory',
  'posEntryMode',
  'panSequence',
  'networkId',
  'posCondition',
  'acquirerId',
  'rrn',
  'tid',
  'mid',
  'acceptorNameLocation',
  'currency',
] as const satisfies (keyof Type2Message)[];

export function authorization(purchase: Purchase, config: Type2Config): Type2Message {
  const isPartialAllowed = config.profile?.partialApproval ?? profile.partialApproval;
  return cardMessage(purchase.amount.amountMinor, isPartialAllowed ? PARTIAL_ALLOWED : NORMAL, purchase, config);
}

/** Amount zero; DE25 states that only the card is verified. */
export function mandateAuthorization(purchase: Purchase, config: Type2Config): Type2Message {
  return cardMessage(0, VERIFICATION_ONLY, purchase, config);
}

function cardMessage(amountMinor: number, posCondition: string, purchase: Purchase, config: Type2Config): Type2Message {
  const { card, terminal, merchant, pin } = purchase;
  return {
    mti: '0100',
    pan: card.track2 === undefined ? card.pan : undefined,
    processingCode: GOODS_AND_SERVICES,
    amount: amountDigits(amountMinor),
    ...timesOf(purchase),
    expiry: card.track2 === undefined ? card.expiry : undefined,
    merchantCategory: merchant.mcc,
    posEntryMode: terminal.canTakePin ? CONTACTLESS_PIN : CONTACTLESS_NO_PIN,
    panSequence: card.panSequence,
    networkId: config.networkId,
    posCondition,
    pinCaptureCode: pin && PIN_CAPTURE,
    acquirerId: config.acquirerId,
    track2: card.track2,
    rrn: purchase.rrn,
    tid: terminal.tid,
    mid: terminal.mid,
    acceptorNameLocation: acceptorNameLocation(merchant),
    submission: submissionOf(config, terminal.canTakePin),
    currency: purchase.amount.currencyNumeric,
    pinBlock: pin?.block,
    pinKsn: pin?.ksn,
    icc: buildDe55(purchase.chip),
  };
}

export function refund({ original, rrn, amount, ...stamp }: Refund, config: Type2Config): Type2Message {
  return {
    mti: '0100',
    pan: original.pan,
    processingCode: RETURNS,
    amount: amountDigits(amount.amountMinor),
    ...timesOf(stamp),
    expiry: original.expiry,
    merchantCategory: original.merchantCategory,
    posEntryMode: KEYED,
    panSequence: original.panSequence,
    networkId: config.networkId,
    posCondition: NORMAL,
    acquirerId: config.acquirerId,
    rrn,
    tid: original.tid,
    mid: original.mid,
    acceptorNameLocation: original.acceptorNameLocation,
    submission: submissionOf(config),
    currency: amount.currencyNumeric,
    original: originalElements(original),
  };
}

/**
 * The fields of the request that later messages repeat. PAN and expiry come from the track if there is one, because
 * the track must not be stored.
 */
export function originalData(request: Type2Message): OriginalData {
  const data = keepFields(request, REPEATED);
  if (request.track2 === undefined) return data;
  const [pan = '', rest = ''] = request.track2.split(/[D=]/, 2);
  return { ...data, pan, expiry: rest.slice(0, 4) };
}

/** 0400, and 0401 for each repeat, with a STAN of its own: DE56 identifies the reversed request. */
export function reversal(reversal: Reversal, config: Type2Config): Type2Message {
  return {
    ...followUp(reversal, config),
    mti: reversal.attempt === 1 ? '0400' : '0401',
    amount: reversal.original.amount,
    responseCode: REASON_CODES[reversal.reason],
  };
}

/** What a reversal and a completion repeat of the request that DE56 identifies. */
function followUp(
  { original, authorizationCode, ...stamp }: Pick<Reversal, 'original' | 'authorizationCode'> & LocalStamp,
  config: Type2Config,
) {
  return {
    pan: original.pan,
    processingCode: original.processingCode,
    ...timesOf(stamp),
    expiry: original.expiry,
    merchantCategory: original.merchantCategory,
    posEntryMode: original.posEntryMode,
    panSequence: original.panSequence,
    networkId: original.networkId,
    posCondition: original.posCondition,
    acquirerId: original.acquirerId,
    rrn: original.rrn,
    authorizationCode,
    tid: original.tid,
    mid: original.mid,
    acceptorNameLocation: original.acceptorNameLocation,
    submission: submissionOf(config),
    currency: original.currency,
    original: originalElements(original),
  };
}

export function networkRequest(
  kind: NetworkRequestKind,
  { stan, sentAtMs }: MessageStamp,
  { networkId }: Type2Config,
): Type2Message | undefined {
  const processingCode = profile.network[kind];
  if (processingCode === undefined) return undefined;
  return {
    mti: '0800',
    processingCode,
    transmissionDateTime: transmissionDateTime(sentAtMs),
    stan,
    networkId,
  };
}

/**
 * The switch sends an echo, a cut-over or a sign-off: each is acknowledged with 00. A key announcement without a key
 * exchange is not.
 */
export function respondToSwitchRequest(request: Type2Message): Type2Message | undefined {
  if (request.mti !== '0800') return undefined;
  const { echo, cutOver, signOn, signOff } = profile.network;
  const isKnown = [echo, cutOver, signOn, signOff].includes(request.processingCode);
  return networkResponse(request, isKnown ? '00' : '40');
}

export function networkResponse(
  { processingCode, transmissionDateTime, stan, networkId }: Type2Message,
  responseCode: string,
): Type2Message {
  return { mti: '0810', processingCode, transmissionDateTime, stan, networkId, responseCode };
}

/** DE64: ANSI X9.19 (ISO 9797-1 algorithm 3, padding method 1) over the whole message before it. */
export const mac: MacRule<Type2Message> = {
  method: MAC_ALGORITHMS['x9.19'],
  field: 'mac',
  lengthBytes: 8,
  covered: (_message, body) => body,
  macBytes: 8,
  compose: (_keyNumber, mac) => mac,
  read: (mac) => ({ keyNumber: undefined, mac }),
};

function timesOf({ stan, sentAtMs, localDateTime }: LocalStamp) {
  return {
    transmissionDateTime: transmissionDateTime(sentAtMs),
    stan,
    localTime: localDateTime.slice(8),
    localDate: localDateTime.slice(4, 8),
  };
}

function submissionOf({ appId, userId }: Type2Config, canTakePin?: boolean): Type2Message['submission'] {
  return { appId, userId, singleTap: canTakePin === undefined ? undefined : { isSupported: canTakePin ? '1' : '0' } };
}

function originalElements({ mti, stan, transmissionDateTime }: OriginalData): Type2Message['original'] {
  return { messageType: mti, stan, transmissionDateTime };
}

/**
 * 0220, and 0221 for each repeat, each with a STAN of its own: DE56 identifies the approval to post, DE4 its amount.
 */
export const completion: CompletionAdvice<Type2Config, Type2Message> = {
  isWanted: ({ completion }) => completion,
  build: (advice: Completion, config) => ({
    ...followUp(advice, config),
    mti: advice.attempt === 1 ? '0220' : '0221',
    amount: amountDigits(advice.amountMinor),
  }),
  // 94: the switch has accepted this advice before.
  isAcknowledged: ({ mti, responseCode = '' }) =>
    mti === '0230' && [...profile.codes.approved, '94'].includes(responseCode),
};
