import {
  acceptorNameLocation,
  amountDigits,
  buildDe55,
  keepFields,
  type MessageStamp,
  type NetworkRequestKind,
  type OriginalData,
  type Purchase,
  type Reversal,
  transmissionDateTime,
} from '#processor-kit';
import type { AcmeConfig } from './config.ts';
import { profile } from './profile.ts';
import type { AcmeMessage } from './spec.ts';

/** The fields that a reversal repeats. They are stored, so they must not include a track, a PIN or a cryptogram. */
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
  'rrn',
  'tid',
  'mid',
  'acceptorNameLocation',
  'currency',
];

// EDIT: the sale message of your switch. The same purchase must always give the same message.
export function authorization(purchase: Purchase, config: AcmeConfig): AcmeMessage {
  const { card, terminal, merchant, amount, localDateTime } = purchase;
  return {
    mti: '0100',
    pan: card.pan,
    processingCode: '000000',
    amount: amountDigits(amount.amountMinor),
    transmissionDateTime: transmissionDateTime(purchase.sentAtMs),
    stan: purchase.stan,
    localTime: localDateTime.slice(8),
    localDate: localDateTime.slice(4, 8),
    expiry: card.expiry,
    merchantCategory: merchant.mcc,
    posEntryMode: terminal.canTakePin ? '071' : '072',
    panSequence: card.panSequence,
    posCondition: config.posCondition,
    track2: card.track2,
    rrn: purchase.rrn,
    tid: terminal.tid,
    mid: terminal.mid,
    acceptorNameLocation: acceptorNameLocation(merchant),
    currency: amount.currencyNumeric,
    pinBlock: purchase.pin?.block,
    icc: buildDe55(purchase.chip),
  };
}

export function originalData(request: AcmeMessage): OriginalData {
  return keepFields(request, REPEATED);
}

// EDIT: the reversal message of your switch, and how it names its original.
export function reversal({ original, ...reversal }: Reversal): AcmeMessage {
  const { mti = '', stan = '', transmissionDateTime: originalAt = '', ...repeated } = original;
  return {
    ...repeated,
    mti: reversal.attempt === 1 ? '0400' : '0401',
    transmissionDateTime: transmissionDateTime(reversal.sentAtMs),
    stan: reversal.stan,
    authorizationCode: reversal.authorizationCode,
    originalElements: `${mti}${stan}${originalAt}`.padEnd(42, '0'),
  };
}

// EDIT: how a session is opened, kept and closed; undefined for messages that your switch does not support.
export function networkRequest(kind: NetworkRequestKind, { stan, sentAtMs }: MessageStamp): AcmeMessage | undefined {
  const networkCode = profile.network[kind];
  if (networkCode === undefined) return undefined;
  return { mti: '0800', transmissionDateTime: transmissionDateTime(sentAtMs), stan, networkCode };
}

// EDIT: the response to requests that your switch initiates.
export function respondToSwitchRequest(request: AcmeMessage): AcmeMessage | undefined {
  if (request.mti !== '0800') return undefined;
  const { transmissionDateTime, stan, networkCode } = request;
  return { mti: '0810', transmissionDateTime, stan, networkCode, responseCode: '00' };
}
