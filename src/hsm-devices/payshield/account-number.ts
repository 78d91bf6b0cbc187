import { CryptoError } from '../../basics/errors.ts';
import { isDigits } from '../../codecs/bytes/digits.ts';

const ACCOUNT_DIGITS = 12;
/** ISO/IEC 7812-1:2017 4.1. */
const PAN_DIGITS_LEAST = 8;
const PAN_DIGITS_MOST = 19;

/**
 * Account Number (12 N): the 12 rightmost digits of the PAN without its check digit. A shorter PAN is padded with zeros on the
 * left, as a format 0 block pads it (ISO 9564-1:2017 9.3.2.3).
 *
 * @throws {CryptoError} PIN_BLOCK
 */
export function accountNumberOf(pan: string): string {
  const isPan = pan.length >= PAN_DIGITS_LEAST && pan.length <= PAN_DIGITS_MOST && isDigits(pan);
  if (!isPan) throw new CryptoError('PIN_BLOCK');
  return pan.slice(0, -1).slice(-ACCOUNT_DIGITS).padStart(ACCOUNT_DIGITS, '0');
}
