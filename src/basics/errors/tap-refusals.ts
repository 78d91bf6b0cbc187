import { CARD_ERRORS } from './card-errors.ts';
import type { TlvErrorCode } from './codec-errors.ts';

const MALFORMED = 'is not well-formed BER-TLV, or exceeds a limit';
const TLV_REFUSALS: Readonly<Record<TlvErrorCode, string>> = {
  TAG_TRUNCATED: MALFORMED,
  TAG_TOO_LONG: MALFORMED,
  TAG_INVALID: MALFORMED,
  LENGTH_MISSING: MALFORMED,
  LENGTH_TRUNCATED: MALFORMED,
  LENGTH_TOO_LONG: MALFORMED,
  LENGTH_INDEFINITE: MALFORMED,
  VALUE_TRUNCATED: MALFORMED,
  TOO_DEEP: MALFORMED,
  TOO_MANY_OBJECTS: MALFORMED,
  TOO_LARGE: MALFORMED,
  CONFLICTING_VALUES: 'contains two different values of one tag',
};

/**
 * Why a tap was refused before it was sent, by code. The words say what is wrong with the blob that the error points
 * to; none of them contains a value.
 */
export const TAP_REFUSALS = {
  ...TLV_REFUSALS,
  ...CARD_ERRORS,
  CARD_DATA_UNREADABLE: 'cannot be opened: it is damaged, or was sealed for another key, device or reference',
  AMOUNT_MISSING: 'must contain the amount (9F02) as 12 digits',
  AMOUNT_ZERO: 'must contain an amount (9F02) greater than zero',
  AMOUNT_CONFLICT: 'contains a binary amount (81) that differs from 9F02',
  AMOUNT_NOT_OF_LINK: 'must contain the amount (9F02) and currency (5F2A) of the link',
  AMOUNT_OTHER_UNSUPPORTED: 'contains a cashback amount (9F03 or 9F04), which is not supported',
  CURRENCY_MISSING: 'must contain the numeric code of an ISO 4217 currency (5F2A)',
  CURRENCY_EXPONENT_CONFLICT: 'contains a currency exponent (5F36) that differs from the currency',
  DATE_TOO_OLD: 'contains a date (9A) of more than two years ago: set the clock of the reader',
  TEXT_MALFORMED: 'contains a text that is too long or not printable ASCII',
  TRANSACTION_TYPE_MISSING: 'must contain the transaction type (9C)',
  TRANSACTION_TYPE_UNSUPPORTED: 'must contain the transaction type 00 (9C), a purchase',
  ARQC_MISSING: 'announces an ARQC (9F27) but does not contain it (9F26)',
  VALUE_MALFORMED: 'contains a value that does not fit the message to the switch',
  OTHER_TAP: 'must belong to the tap for which the PIN was requested',
  PIN_MALFORMED: 'contains a PIN block or KSN of the wrong length',
  PIN_NOT_TAKEN: 'contains a PIN, which the terminal or the switch does not accept',
  PIN_REPEATED: 'contains a PIN block that was submitted before',
  PIN_UNEXPECTED: 'contains a PIN, but the CVM results (9F34) announce none',
} as const;

export type TapRefusalCode = keyof typeof TAP_REFUSALS;
