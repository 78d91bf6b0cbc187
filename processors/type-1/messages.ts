import {
  acceptorNameLocation,
  amountDigits,
  keepFields,
  type MacRule,
  type MessageStamp,
  type NetworkRequestKind,
  type OriginalData,
  type Purchase,
  type Refund,
  type Reversal,
  type ReversalReason,
  toHex,
  transmissionDateTime,
} from '#processor-kit';
import { chipFields } from './chip.ts';
import type { Type1Config } from './config.ts';
import { profile } from './profile.ts';
import { encodeSecurityControl } from './security-control.ts';
import type { Type1Message } from './spec.ts';

/** DE3: the type of transaction, the source account and the target account. 00 leaves the account to the issuer. */
const GOODS_AND_SERVICES = '000000';
const RETURNS = '200000';
const CARD_VERIFICATION = '380000';

/** DE22: 07 is contactless under chip rules; the last digit states whether a PIN could be entered. */
const CONTACTLESS_PIN = '071';
const CONTACTLESS_NO_PIN = '072';
/** DE22 of a refund: the PAN was stored, no card is present. */
const KEYED = '010';

/** DE25: a normal presentment, or one that may be approved in part. */
const NORMAL = '00';
export const PARTIAL_ALLOWED = '41';

/** DE26: PINs have at most 12 digits. */
const PIN_CAPTURE = '12';

/**
 * DE123, by position: 1 input capability (`A` contactless chip), 2 cardholder authentication capability (1 PIN, 0
 * none), 3 cannot retain cards, 4 attended on the premises, 5 cardholder present, 6 card present, 7 read by
 * contactless chip, 8 cardholder authentication method (5 PIN, 0 none), 9 verifier of the cardholder (3 the issuer,
 * 0 none), 10 cannot write cards (1; 0 not stated), 11 displays and prints (4 both), 12 operated by a merchant,
 * 13 maximum number of PIN digits (C twelve, 0 none), 14 and 15 terminal type (21 attended, online only).
 */
const POS_TAP_PIN_ENTERED = 'A10101A53144C21';
const POS_TAP_PIN_CAPABLE = 'A10101A00044C21';
const POS_TAP_NO_PIN = 'A00101A00044021';
const POS_REFUND = 'A00100600044021';

const REASON_CODES: Readonly<Record<ReversalReason, string>> = {
  void: '4000',
  'late-approval': '4006',
  'unusable-response': '4020',
  timeout: '4021',
};

/**
 * The fields that a reversal repeats. Chip data, track and PIN must not be stored, and the switch does not require
 * them.
 */
const REPEATED = [
  'mti',
  'pan',
  'processingCode',
  'amount',
  'transmissionDateTime',
  'stan',
  'localTime',
  'localDate',
  'expiry',
  'merchantCategory',
  'posEntryMode',
  'panSequence',
  'posCondition',
  'acquirerId',
  'forwarderId',
  'rrn',
  'tid',
  'mid',
  'acceptorNameLocation',
  'currency',
  'posDataCode',
] as const satisfies (keyof Type1Message)[];

export function authorization(purchase: Purchase, config: Type1Config): Type1Message {
  return cardMessage('0200', GOODS_AND_SERVICES, purchase.amount.amountMinor, purchase, config);
}

/** Amount zero: the issuer verifies the card and its holder, and takes no money. */
export function mandateAuthorization(purchase: Purchase, config: Type1Config): Type1Message {
  return cardMessage('0100', CARD_VERIFICATION, 0, purchase, config);
}

function cardMessage(
  mti: string,
  processingCode: string,
  amountMinor: number,
  purchase: Purchase,
  config: Type1Config,
): Type1Message {
  const { card, terminal, merchant, pin, rrn } = purchase;
  const at = transmissionDateTime(purchase.sentAtMs);
  return {
    mti,
    pan: card.pan,
    processingCode,
    amount: amountDigits(amountMinor),
    transmissionDateTime: at,
    stan: purchase.stan,
    localTime: purchase.localDateTime.slice(8),
    localDate: purchase.localDateTime.slice(4, 8),
    expiry: card.expiry,
    merchantCategory: merchant.mcc,
    posEntryMode: terminal.canTakePin ? CONTACTLESS_PIN : CONTACTLESS_NO_PIN,
    panSequence: card.panSequence,
    posCondition: allowsPartial(config) ? PARTIAL_ALLOWED : NORMAL,
    pinCaptureCode: pin && PIN_CAPTURE,
    acquirerId: config.acquirerId,
    forwarderId: config.forwarderId,
    track2: card.track2,
    rrn,
    serviceCode: card.track2 && serviceCodeOf(card.track2),
    tid: terminal.tid,
    mid: terminal.mid,
    acceptorNameLocation: acceptorNameLocation(merchant),
    currency: purchase.amount.currencyNumeric,
    pinBlock: pin?.block,
    securityControl: pin?.keyNumber === undefined ? undefined : encodeSecurityControl('pin', pin.keyNumber),
    posDataCode: posDataCode(terminal.canTakePin, pin !== undefined),
    switchData: { switchKey: switchKey(at, rrn), ...chipFields(purchase.chip, config.iccForm) },
  };
}

function allowsPartial(config: Type1Config): boolean {
  return config.profile?.partialApproval ?? profile.partialApproval;
}

/** A refund: a financial request of its own, tied to the sale with the sale's key. */
export function refund({ original, ...refund }: Refund, config: Type1Config): Type1Message {
  const at = transmissionDateTime(refund.sentAtMs);
  return {
    mti: '0200',
    pan: original.pan,
    processingCode: RETURNS,
    amount: amountDigits(refund.amount.amountMinor),
    transmissionDateTime: at,
    stan: refund.stan,
    localTime: refund.localDateTime.slice(8),
    localDate: refund.localDateTime.slice(4, 8),
    expiry: original.expiry,
    merchantCategory: original.merchantCategory,
    posEntryMode: KEYED,
    panSequence: original.panSequence,
    posCondition: NORMAL,
    acquirerId: config.acquirerId,
    forwarderId: config.forwarderId,
    rrn: refund.rrn,
    tid: original.tid,
    mid: original.mid,
    acceptorNameLocation: original.acceptorNameLocation,
    currency: refund.amount.currencyNumeric,
    posDataCode: POS_REFUND,
    switchData: {
      switchKey: switchKey(at, refund.rrn),
      originalKey: switchKey(original.transmissionDateTime ?? '', original.rrn ?? ''),
    },
  };
}

export function originalData(request: Type1Message): OriginalData {
  return keepFields(request, REPEATED);
}

/**
 * 0420, and 0421 for each repeat. A reversal keeps the STAN of the original. Each attempt has a DE7 of its own, so
 * that responses to repeats differ.
 */
export function reversal({ original, ...reversal }: Reversal, _config: Type1Config): Type1Message {
  const { mti: originalMti = '', stan = '', transmissionDateTime: originalAt = '', ...repeated } = original;
  return {
    ...repeated,
    mti: reversal.attempt === 1 ? '0420' : '0421',
    transmissionDateTime: transmissionDateTime(reversal.sentAtMs),
    stan: reversal.stan,
    authorizationCode: reversal.authorizationCode,
    reasonCode: REASON_CODES[reversal.reason],
    originalElements: [
      originalMti,
      stan,
      originalAt,
      (original.acquirerId ?? '').padStart(11, '0'),
      (original.forwarderId ?? '').padStart(11, '0'),
    ].join(''),
    replacementAmounts: NOTHING_STANDS,
    switchData: {
      // DE7 has seconds: without the suffix, a reversal within the second of its sale would have the key of the sale.
      switchKey: `${switchKey(transmissionDateTime(reversal.sentAtMs), original.rrn ?? '')}R${reversal.attempt}`,
      originalKey: switchKey(originalAt, original.rrn ?? ''),
    },
  };
}

/** DE95: actual amount and settlement amount after the reversal, then both fees: the whole amount is reversed. */
export const NOTHING_STANDS = `${'0'.repeat(24)}C00000000C00000000`;

export function networkRequest(kind: NetworkRequestKind, stamp: MessageStamp): Type1Message | undefined {
  const networkCode = profile.network[kind];
  if (networkCode === undefined) return undefined;
  return {
    mti: '0800',
    transmissionDateTime: transmissionDateTime(stamp.sentAtMs),
    stan: stamp.stan,
    networkCode,
  };
}

/**
 * The switch sends an echo, a cut-over or a sign-off: each is acknowledged with 00. A key announcement without a key
 * exchange is not.
 */
export function respondToSwitchRequest(request: Type1Message): Type1Message | undefined {
  if (request.mti !== '0800') return undefined;
  const { echo, cutOver, signOn, signOff } = profile.network;
  const isKnown = [echo, cutOver, signOn, signOff].includes(request.networkCode);
  return networkResponse(request, isKnown ? '00' : '40');
}

export function networkResponse(
  { transmissionDateTime, stan, networkCode }: Type1Message,
  responseCode: string,
): Type1Message {
  return { mti: '0810', transmissionDateTime, stan, responseCode, networkCode };
}

/**
 * DE128: number of the key, the first four bytes of the MAC, three zeros. The MAC (ISO 9797-1 algorithm 1, padding method 1)
 * is that of ANSI X9.9 under a single-length key and `tdes-cbc-mac` under a longer one. It covers the values
 * that decide about money, each followed by a space; an absent one is the space alone. DE53 in hex follows, if
 * present.
 */
export const mac: MacRule<Type1Message> = {
  method: { algorithm: 'cbc', padding: 1 },
  field: 'mac',
  lengthBytes: 8,
  covered: (_message, _body, wire) => {
    const values = wire.joined(MAC_FIELDS, SPACE);
    const securityControl = wire.valueOf('securityControl');
    return securityControl === undefined ? values : Buffer.concat([values, Buffer.from(` ${toHex(securityControl)}`)]);
  },
  macBytes: 4,
  compose: (keyNumber, mac) => Uint8Array.of(keyNumber, ...mac, 0, 0, 0),
  read: (value) => ({ keyNumber: value[0], mac: value.subarray(1, 5) }),
};

const MAC_FIELDS = [
  'mti',
  'pan',
  'processingCode',
  'amount',
  'transmissionDateTime',
  'stan',
  'rrn',
  'authorizationCode',
  'responseCode',
  'tid',
  'mid',
  'currency',
  'networkCode',
  'originalElements',
  'replacementAmounts',
] as const satisfies (keyof Type1Message)[];

const SPACE = 0x20;

/** 127.2: identifies a message across the switch. DE7 and RRN, unique for a sale or refund. */
function switchKey(at: string, rrn: string): string {
  return `${at}${rrn}`;
}

/** Track 2 after the separator: expiry (4), service code (3). */
function serviceCodeOf(track2: string): string | undefined {
  const separator = track2.search(/[D=]/);
  const code = separator < 0 ? '' : track2.slice(separator + 5, separator + 8);
  return code.length === 3 ? code : undefined;
}

function posDataCode(canTakePin: boolean, hasPin: boolean): string {
  if (!canTakePin) return POS_TAP_NO_PIN;
  return hasPin ? POS_TAP_PIN_ENTERED : POS_TAP_PIN_CAPABLE;
}
