import { alphanumeric, binary, numeric, signedAmount, text, track2 } from '../../codecs/iso8583/fields.ts';
import * as mti from '../../codecs/iso8583/message.ts';
import { SPACES_RIGHT, type TextField } from '../../codecs/iso8583/rows.ts';
import type { OriginalData } from './purchase.ts';

/** A decoded ISO 8583 message: fields by name, text or bytes, composites nested. Its spec gives the exact type. */
export type IsoMessage = { mti: string } & Record<string, unknown>;

/** A message while it is being built. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Digit of the class: `1` authorization, `2` financial, `4` reversal, `8` network management. */
export function messageClass(message: IsoMessage): string {
  return message.mti.charAt(1);
}

export function isResponse(message: IsoMessage): boolean {
  return mti.isResponse(message.mti);
}

/** The MTI of the response to a request or its repeats; a type outside the standard is handled like a request. */
export function responseMti(requestMti: string): string {
  return mti.responseMti(requestMti) ?? `${requestMti.slice(0, 2)}10`;
}

/** Whether `response` has the message type of a response to `request`. */
export function isResponseTo(response: IsoMessage, request: IsoMessage): boolean {
  return response.mti === responseMti(request.mti);
}

/** The named text fields that the message contains: what a processor keeps of a request for its reversal. */
export function keepFields(message: IsoMessage, names: readonly string[]): OriginalData {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = message[name];
    if (typeof value === 'string') kept[name] = value;
  }
  return kept;
}

/** A field that each network uses in its own way, so it may have any content. */
function openField<const Name extends string>(name: Name): TextField<Name> {
  return text({ name, characters: 999, content: 'any', prefix: 'LLL' });
}

type ReservedFields<Numbers extends readonly number[]> = {
  readonly [Number in Numbers[number]]: TextField<`reserved${Number}`>;
};

/** Fields that are reserved for the standard, for countries or for private use: text of up to 999 characters. */
function reservedFields<const Numbers extends readonly number[]>(numbers: Numbers): ReservedFields<Numbers> {
  const rows = numbers.map((number) => [number, openField(`reserved${number}`)]);
  return Object.fromEntries(rows) as ReservedFields<Numbers>;
}

/** Identifiers are usually shorter than their field; the padding spaces are not part of the value. */
const PADDED = { ...SPACES_RIGHT, strip: true };

/** The fields of the primary bitmap that both versions of the standard define alike. */
const PRIMARY_FIELDS = {
  2: numeric({ name: 'pan', digits: 19, prefix: 'LL', unit: 'digits' }),
  3: numeric({ name: 'processingCode', digits: 6, safe: true }),
  4: numeric({ name: 'amount', digits: 12, safe: true }),
  6: numeric({ name: 'billingAmount', digits: 12, safe: true }),
  7: numeric({ name: 'transmissionDateTime', digits: 10, safe: true }),
  8: numeric({ name: 'billingFee', digits: 8, safe: true }),
  10: numeric({ name: 'billingConversionRate', digits: 8, safe: true }),
  11: numeric({ name: 'stan', digits: 6, safe: true }),
  14: numeric({ name: 'expiry', digits: 4 }),
  16: numeric({ name: 'conversionDate', digits: 4, safe: true }),
  17: numeric({ name: 'captureDate', digits: 4, safe: true }),
  19: numeric({ name: 'acquirerCountry', digits: 3, safe: true }),
  20: numeric({ name: 'panCountry', digits: 3, safe: true }),
  21: numeric({ name: 'forwarderCountry', digits: 3, safe: true }),
  23: numeric({ name: 'panSequence', digits: 3, safe: true }),
  32: numeric({ name: 'acquirerId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  33: numeric({ name: 'forwarderId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  34: text({ name: 'extendedPan', characters: 28, content: 'ns', prefix: 'LL' }),
  36: text({ name: 'track3', characters: 104, prefix: 'LLL' }),
  37: text({ name: 'rrn', characters: 12, content: 'anp', safe: true }),
  38: text({ name: 'authorizationCode', characters: 6, content: 'anp', pad: PADDED, safe: true }),
  41: text({ name: 'tid', characters: 8, pad: PADDED, safe: true }),
  42: text({ name: 'mid', characters: 15, pad: PADDED, safe: true }),
  45: text({ name: 'track1', characters: 76, prefix: 'LL' }),
  47: openField('additionalDataNational'),
  48: text({ name: 'additionalData', characters: 999, prefix: 'LLL' }),
  52: binary({ name: 'pinBlock', bytes: 8 }),
  54: text({ name: 'additionalAmounts', characters: 120, prefix: 'LLL' }),
  62: openField('reservedPrivate62'),
  63: openField('reservedPrivate63'),
  64: binary({ name: 'primaryMac', bytes: 8 }),
} as const;

/**
 * The fields of ISO 8583:1987 (section 4.3.1) that need no decision of a network: a processor spreads them into its table and
 * replaces those that its network defines otherwise. A switch may add any of them to a response. A field that the
 * table lacks would make the response unreadable, because the length of an unknown field is unknown.
 *
 * Values that could contain a card number, or whose use the standard leaves open, are not `safe`.
 */
export const PRIMARY_FIELDS_1987 = {
  ...PRIMARY_FIELDS,
  5: numeric({ name: 'settlementAmount', digits: 12, safe: true }),
  9: numeric({ name: 'settlementConversionRate', digits: 8, safe: true }),
  12: numeric({ name: 'localTime', digits: 6, safe: true }),
  13: numeric({ name: 'localDate', digits: 4, safe: true }),
  15: numeric({ name: 'settlementDate', digits: 4, safe: true }),
  18: numeric({ name: 'merchantCategory', digits: 4, safe: true }),
  22: numeric({ name: 'posEntryMode', digits: 3, safe: true }),
  24: numeric({ name: 'networkId', digits: 3, safe: true }),
  25: numeric({ name: 'posCondition', digits: 2, safe: true }),
  26: numeric({ name: 'pinCaptureCode', digits: 2, safe: true }),
  27: numeric({ name: 'authorizationIdLength', digits: 1, safe: true }),
  28: signedAmount({ name: 'transactionFee', digits: 8, safe: true }),
  29: signedAmount({ name: 'settlementFee', digits: 8, safe: true }),
  30: signedAmount({ name: 'transactionProcessingFee', digits: 8, safe: true }),
  31: signedAmount({ name: 'settlementProcessingFee', digits: 8, safe: true }),
  39: alphanumeric({ name: 'responseCode', characters: 2, safe: true }),
  40: text({ name: 'serviceCode', characters: 3 }),
  43: text({ name: 'acceptorNameLocation', characters: 40, safe: true }),
  44: text({ name: 'additionalResponseData', characters: 25, prefix: 'LL' }),
  46: openField('additionalDataIso'),
  49: numeric({ name: 'currency', digits: 3, safe: true }),
  50: numeric({ name: 'settlementCurrency', digits: 3, safe: true }),
  51: numeric({ name: 'billingCurrency', digits: 3, safe: true }),
  53: numeric({ name: 'securityControl', digits: 16 }),
  55: binary({ name: 'reservedIso55', bytes: 999, prefix: 'LLL' }),
  56: openField('reservedIso56'),
  57: openField('reservedNational57'),
  58: openField('reservedNational58'),
  59: openField('reservedNational59'),
  60: openField('reservedPrivate60'),
  61: openField('reservedPrivate61'),
} as const;

/** Reserved for the standard, for countries and for private use. */
const RESERVED_1987 = [
  105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127,
] as const;

/** The fields of the secondary bitmap that both versions define alike. */
const SECONDARY_FIELDS = {
  68: numeric({ name: 'receiverCountry', digits: 3, safe: true }),
  69: numeric({ name: 'settlementCountry', digits: 3, safe: true }),
  73: numeric({ name: 'actionDate', digits: 6, safe: true }),
  74: numeric({ name: 'creditCount', digits: 10, safe: true }),
  75: numeric({ name: 'creditReversalCount', digits: 10, safe: true }),
  76: numeric({ name: 'debitCount', digits: 10, safe: true }),
  77: numeric({ name: 'debitReversalCount', digits: 10, safe: true }),
  78: numeric({ name: 'transferCount', digits: 10, safe: true }),
  79: numeric({ name: 'transferReversalCount', digits: 10, safe: true }),
  80: numeric({ name: 'inquiryCount', digits: 10, safe: true }),
  81: numeric({ name: 'authorizationCount', digits: 10, safe: true }),
  86: numeric({ name: 'creditAmount', digits: 16, safe: true }),
  87: numeric({ name: 'creditReversalAmount', digits: 16, safe: true }),
  88: numeric({ name: 'debitAmount', digits: 16, safe: true }),
  89: numeric({ name: 'debitReversalAmount', digits: 16, safe: true }),
  98: text({ name: 'payee', characters: 25 }),
  100: numeric({ name: 'receiverId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  101: text({ name: 'fileName', characters: 17, prefix: 'LL' }),
  102: text({ name: 'account1', characters: 28, prefix: 'LL' }),
  103: text({ name: 'account2', characters: 28, prefix: 'LL' }),
  104: text({ name: 'transactionDescription', characters: 100, prefix: 'LLL' }),
  128: binary({ name: 'mac', bytes: 8 }),
} as const;

/** Fields of the secondary bitmap. DE65 would announce a third bitmap, which the standard defines and no network uses. */
export const SECONDARY_FIELDS_1987 = {
  ...SECONDARY_FIELDS,
  66: numeric({ name: 'settlementCode', digits: 1, safe: true }),
  67: numeric({ name: 'extendedPaymentCode', digits: 2, safe: true }),
  70: numeric({ name: 'networkCode', digits: 3, safe: true }),
  71: numeric({ name: 'messageNumber', digits: 4, safe: true }),
  72: numeric({ name: 'lastMessageNumber', digits: 4, safe: true }),
  82: numeric({ name: 'creditProcessingFee', digits: 12, safe: true }),
  83: numeric({ name: 'creditTransactionFee', digits: 12, safe: true }),
  84: numeric({ name: 'debitProcessingFee', digits: 12, safe: true }),
  85: numeric({ name: 'debitTransactionFee', digits: 12, safe: true }),
  90: numeric({ name: 'originalElements', digits: 42, safe: true }),
  91: alphanumeric({ name: 'fileUpdateCode', characters: 1, safe: true }),
  92: alphanumeric({ name: 'fileSecurityCode', characters: 2 }),
  93: alphanumeric({ name: 'responseIndicator', characters: 5, safe: true }),
  94: alphanumeric({ name: 'serviceIndicator', characters: 7, safe: true }),
  95: alphanumeric({ name: 'replacementAmounts', characters: 42, safe: true }),
  96: binary({ name: 'messageSecurityCode', bytes: 8 }),
  97: signedAmount({ name: 'netSettlement', digits: 16, safe: true }),
  99: numeric({ name: 'settlementInstitution', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  ...reservedFields(RESERVED_1987),
} as const;

/** DE46, DE66: up to six fees of 34 characters each. */
function fees<const Name extends string>(name: Name): TextField<Name> {
  return text({ name, characters: 204, prefix: 'LLL' });
}

/**
 * The fields of ISO 8583:1993 (section 4.3) that need no decision of a network, as `PRIMARY_FIELDS_1987` has those of
 * 1987. Many numbers have another meaning than in 1987: DE12 has date and time, DE15 the year too, DE22 twelve
 * positions, DE24 the function, DE39 three digits, DE43 a variable length, DE56 the original data elements.
 *
 * A field with the meaning that it has in 1987 has the same name.
 */
export const PRIMARY_FIELDS_1993 = {
  ...PRIMARY_FIELDS,
  5: numeric({ name: 'reconciliationAmount', digits: 12, safe: true }),
  9: numeric({ name: 'reconciliationConversionRate', digits: 8, safe: true }),
  12: numeric({ name: 'localDateTime', digits: 12, safe: true }),
  13: numeric({ name: 'effectiveDate', digits: 4 }),
  15: numeric({ name: 'settlementDate', digits: 6, safe: true }),
  18: numeric({ name: 'merchantType', digits: 4, safe: true }),
  22: alphanumeric({ name: 'posDataCode', characters: 12, safe: true }),
  24: numeric({ name: 'functionCode', digits: 3, safe: true }),
  25: numeric({ name: 'messageReason', digits: 4, safe: true }),
  26: numeric({ name: 'merchantCategory', digits: 4, safe: true }),
  27: numeric({ name: 'approvalCodeLength', digits: 1, safe: true }),
  28: numeric({ name: 'reconciliationDate', digits: 6, safe: true }),
  29: numeric({ name: 'reconciliationIndicator', digits: 3, safe: true }),
  30: numeric({ name: 'originalAmounts', digits: 24, safe: true }),
  31: text({ name: 'acquirerReference', characters: 99, prefix: 'LL' }),
  35: track2({ name: 'track2', prefix: 'LL' }),
  39: numeric({ name: 'responseCode', title: 'action code', digits: 3, safe: true }),
  40: numeric({ name: 'serviceCode', digits: 3 }),
  43: text({ name: 'acceptorNameLocation', characters: 99, prefix: 'LL', safe: true }),
  44: text({ name: 'additionalResponseData', characters: 99, prefix: 'LL' }),
  46: fees('feeAmounts'),
  49: alphanumeric({ name: 'currency', characters: 3, safe: true }),
  50: alphanumeric({ name: 'reconciliationCurrency', characters: 3, safe: true }),
  51: alphanumeric({ name: 'billingCurrency', characters: 3, safe: true }),
  53: binary({ name: 'securityControl', bytes: 48, prefix: 'LL' }),
  55: binary({ name: 'icc', bytes: 255, prefix: 'LLL' }),
  56: numeric({ name: 'originalElements', digits: 35, prefix: 'LL', unit: 'digits', safe: true }),
  57: numeric({ name: 'authorizationLifeCycle', digits: 3, safe: true }),
  58: numeric({ name: 'authorizingAgentId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  59: openField('transportData'),
  60: openField('reservedNational60'),
  61: openField('reservedNational61'),
} as const;

/** Reserved for the standard (111-115), for countries (116-122) and for private use (123-127). */
const RESERVED_1993 = [111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127] as const;

/** Fields of the secondary bitmap. DE65 is reserved for a third bitmap, which no network uses. */
export const SECONDARY_FIELDS_1993 = {
  ...SECONDARY_FIELDS,
  66: fees('originalFeeAmounts'),
  67: numeric({ name: 'extendedPaymentData', digits: 2, safe: true }),
  70: numeric({ name: 'authorizingAgentCountry', digits: 3, safe: true }),
  71: numeric({ name: 'messageNumber', digits: 8, safe: true }),
  72: openField('dataRecord'),
  82: numeric({ name: 'inquiryReversalCount', digits: 10, safe: true }),
  83: numeric({ name: 'paymentCount', digits: 10, safe: true }),
  84: numeric({ name: 'paymentReversalCount', digits: 10, safe: true }),
  85: numeric({ name: 'feeCollectionCount', digits: 10, safe: true }),
  90: numeric({ name: 'authorizationReversalCount', digits: 10, safe: true }),
  91: numeric({ name: 'destinationCountry', digits: 3, safe: true }),
  92: numeric({ name: 'originatorCountry', digits: 3, safe: true }),
  93: numeric({ name: 'destinationId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  94: numeric({ name: 'originatorId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  95: text({ name: 'issuerReference', characters: 99, prefix: 'LL' }),
  96: binary({ name: 'keyManagementData', bytes: 999, prefix: 'LLL' }),
  97: signedAmount({ name: 'netReconciliation', digits: 16, safe: true }),
  99: alphanumeric({ name: 'settlementInstitution', characters: 11, prefix: 'LL', safe: true }),
  105: numeric({ name: 'creditChargebackAmount', digits: 16, safe: true }),
  106: numeric({ name: 'debitChargebackAmount', digits: 16, safe: true }),
  107: numeric({ name: 'creditChargebackCount', digits: 10, safe: true }),
  108: numeric({ name: 'debitChargebackCount', digits: 10, safe: true }),
  109: text({ name: 'creditFeeAmounts', characters: 84, prefix: 'LL' }),
  110: text({ name: 'debitFeeAmounts', characters: 84, prefix: 'LL' }),
  ...reservedFields(RESERVED_1993),
} as const;
