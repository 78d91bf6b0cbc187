import { alphanumeric, binary, numeric, signedAmount, text } from '../iso8583/fields.ts';
import type { TextField } from '../iso8583/rows.ts';

/** A field that each network uses in its own way, so it may have any content. */
function open<const Name extends string>(name: Name): TextField<Name> {
  return text({ name, characters: 999, content: 'any', prefix: 'LLL' });
}

/**
 * The fields of ISO 8583:1987 (section 4.3.1) that need no decision of a network: a processor spreads them into its table and
 * replaces those that its network defines otherwise. A switch may add any of them to a response. A field that the
 * table lacks would make the response unreadable, because the length of an unknown field is unknown.
 *
 * Values that could contain a card number, or whose use the standard leaves open, are not `safe`.
 */
export const PRIMARY_FIELDS_1987 = {
  2: numeric({ name: 'pan', digits: 19, prefix: 'LL', unit: 'digits' }),
  3: numeric({ name: 'processingCode', digits: 6, safe: true }),
  4: numeric({ name: 'amount', digits: 12, safe: true }),
  5: numeric({ name: 'settlementAmount', digits: 12, safe: true }),
  6: numeric({ name: 'billingAmount', digits: 12, safe: true }),
  7: numeric({ name: 'transmissionDateTime', digits: 10, safe: true }),
  8: numeric({ name: 'billingFee', digits: 8, safe: true }),
  9: numeric({ name: 'settlementConversionRate', digits: 8, safe: true }),
  10: numeric({ name: 'billingConversionRate', digits: 8, safe: true }),
  11: numeric({ name: 'stan', digits: 6, safe: true }),
  12: numeric({ name: 'localTime', digits: 6, safe: true }),
  13: numeric({ name: 'localDate', digits: 4, safe: true }),
  14: numeric({ name: 'expiry', digits: 4 }),
  15: numeric({ name: 'settlementDate', digits: 4, safe: true }),
  16: numeric({ name: 'conversionDate', digits: 4, safe: true }),
  17: numeric({ name: 'captureDate', digits: 4, safe: true }),
  18: numeric({ name: 'merchantCategory', digits: 4, safe: true }),
  19: numeric({ name: 'acquirerCountry', digits: 3, safe: true }),
  20: numeric({ name: 'panCountry', digits: 3, safe: true }),
  21: numeric({ name: 'forwarderCountry', digits: 3, safe: true }),
  22: numeric({ name: 'posEntryMode', digits: 3, safe: true }),
  23: numeric({ name: 'panSequence', digits: 3, safe: true }),
  24: numeric({ name: 'networkId', digits: 3, safe: true }),
  25: numeric({ name: 'posCondition', digits: 2, safe: true }),
  26: numeric({ name: 'pinCaptureCode', digits: 2, safe: true }),
  27: numeric({ name: 'authorizationIdLength', digits: 1, safe: true }),
  28: signedAmount({ name: 'transactionFee', digits: 8, safe: true }),
  29: signedAmount({ name: 'settlementFee', digits: 8, safe: true }),
  30: signedAmount({ name: 'transactionProcessingFee', digits: 8, safe: true }),
  31: signedAmount({ name: 'settlementProcessingFee', digits: 8, safe: true }),
  32: numeric({ name: 'acquirerId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  33: numeric({ name: 'forwarderId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  34: text({ name: 'extendedPan', characters: 28, content: 'ns', prefix: 'LL' }),
  36: text({ name: 'track3', characters: 104, prefix: 'LLL' }),
  37: text({ name: 'rrn', characters: 12, content: 'anp', safe: true }),
  38: text({ name: 'authorizationCode', characters: 6, content: 'anp', safe: true }),
  39: alphanumeric({ name: 'responseCode', characters: 2, safe: true }),
  40: text({ name: 'serviceCode', characters: 3 }),
  41: text({ name: 'tid', characters: 8, safe: true }),
  42: text({ name: 'mid', characters: 15, safe: true }),
  43: text({ name: 'acceptorNameLocation', characters: 40, safe: true }),
  44: text({ name: 'additionalResponseData', characters: 25, prefix: 'LL' }),
  45: text({ name: 'track1', characters: 76, prefix: 'LL' }),
  46: open('additionalDataIso'),
  47: open('additionalDataNational'),
  48: text({ name: 'additionalData', characters: 999, prefix: 'LLL' }),
  49: numeric({ name: 'currency', digits: 3, safe: true }),
  50: numeric({ name: 'settlementCurrency', digits: 3, safe: true }),
  51: numeric({ name: 'billingCurrency', digits: 3, safe: true }),
  52: binary({ name: 'pinBlock', bytes: 8 }),
  53: numeric({ name: 'securityControl', digits: 16 }),
  54: text({ name: 'additionalAmounts', characters: 120, prefix: 'LLL' }),
  55: binary({ name: 'reservedIso55', bytes: 999, prefix: 'LLL' }),
  56: open('reservedIso56'),
  57: open('reservedNational57'),
  58: open('reservedNational58'),
  59: open('reservedNational59'),
  60: open('reservedPrivate60'),
  61: open('reservedPrivate61'),
  62: open('reservedPrivate62'),
  63: open('reservedPrivate63'),
  64: binary({ name: 'primaryMac', bytes: 8 }),
} as const;

/** Reserved for the standard, for countries and for private use: text of up to 999 characters. */
const RESERVED = [
  105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127,
] as const;

type ReservedFields = { readonly [Number in (typeof RESERVED)[number]]: TextField<`reserved${Number}`> };

function reservedFields(): ReservedFields {
  const row = (number: number) => open(`reserved${number}`);
  return Object.fromEntries(RESERVED.map((number) => [number, row(number)])) as unknown as ReservedFields;
}

/** Fields of the secondary bitmap. DE65 would announce a third bitmap, which the standard defines and no network uses. */
export const SECONDARY_FIELDS_1987 = {
  66: numeric({ name: 'settlementCode', digits: 1, safe: true }),
  67: numeric({ name: 'extendedPaymentCode', digits: 2, safe: true }),
  68: numeric({ name: 'receiverCountry', digits: 3, safe: true }),
  69: numeric({ name: 'settlementCountry', digits: 3, safe: true }),
  70: numeric({ name: 'networkCode', digits: 3, safe: true }),
  71: numeric({ name: 'messageNumber', digits: 4, safe: true }),
  72: numeric({ name: 'lastMessageNumber', digits: 4, safe: true }),
  73: numeric({ name: 'actionDate', digits: 6, safe: true }),
  74: numeric({ name: 'creditCount', digits: 10, safe: true }),
  75: numeric({ name: 'creditReversalCount', digits: 10, safe: true }),
  76: numeric({ name: 'debitCount', digits: 10, safe: true }),
  77: numeric({ name: 'debitReversalCount', digits: 10, safe: true }),
  78: numeric({ name: 'transferCount', digits: 10, safe: true }),
  79: numeric({ name: 'transferReversalCount', digits: 10, safe: true }),
  80: numeric({ name: 'inquiryCount', digits: 10, safe: true }),
  81: numeric({ name: 'authorizationCount', digits: 10, safe: true }),
  82: numeric({ name: 'creditProcessingFee', digits: 12, safe: true }),
  83: numeric({ name: 'creditTransactionFee', digits: 12, safe: true }),
  84: numeric({ name: 'debitProcessingFee', digits: 12, safe: true }),
  85: numeric({ name: 'debitTransactionFee', digits: 12, safe: true }),
  86: numeric({ name: 'creditAmount', digits: 16, safe: true }),
  87: numeric({ name: 'creditReversalAmount', digits: 16, safe: true }),
  88: numeric({ name: 'debitAmount', digits: 16, safe: true }),
  89: numeric({ name: 'debitReversalAmount', digits: 16, safe: true }),
  90: numeric({ name: 'originalElements', digits: 42, safe: true }),
  91: alphanumeric({ name: 'fileUpdateCode', characters: 1, safe: true }),
  92: alphanumeric({ name: 'fileSecurityCode', characters: 2 }),
  93: alphanumeric({ name: 'responseIndicator', characters: 5, safe: true }),
  94: alphanumeric({ name: 'serviceIndicator', characters: 7, safe: true }),
  95: alphanumeric({ name: 'replacementAmounts', characters: 42, safe: true }),
  96: binary({ name: 'messageSecurityCode', bytes: 8 }),
  97: signedAmount({ name: 'netSettlement', digits: 16, safe: true }),
  98: text({ name: 'payee', characters: 25 }),
  99: numeric({ name: 'settlementInstitution', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  100: numeric({ name: 'receiverId', digits: 11, prefix: 'LL', unit: 'digits', safe: true }),
  101: text({ name: 'fileName', characters: 17, prefix: 'LL' }),
  102: text({ name: 'account1', characters: 28, prefix: 'LL' }),
  103: text({ name: 'account2', characters: 28, prefix: 'LL' }),
  104: text({ name: 'transactionDescription', characters: 100, prefix: 'LLL' }),
  ...reservedFields(),
  128: binary({ name: 'mac', bytes: 8 }),
} as const;
