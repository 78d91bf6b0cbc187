/**
 * Overwrites the secret digits of PANs and tracks. The length stays, and `parsePan` and `parseTrack2` still accept
 * the result.
 */
import { MAX_PAN_DIGITS, MAX_TRACK2_CHARACTERS, MIN_PAN_DIGITS, maskedSpan } from './card.ts';

const ZERO = 0x30;
const NINE = 0x39;
/** YYMM, which follows the separator of every track (ISO/IEC 7813). */
const LEAST_BEHIND_SEPARATOR = 4;

/** A PAN that keeps only the digits that `maskPan` shows; undefined for anything but a PAN. Trailing `F` stays. */
export function blankPan(text: string, filler = '0'): string | undefined {
  const digits = endOfDigits(text, 0);
  if (!isPanLength(digits) || digits < endOfContent(text)) return undefined;
  return withoutSecrets(text, digits, filler) + text.substring(digits);
}

/** Track 2 that keeps the same digits, and none after its separator; undefined for anything but a track. */
export function blankTrack2(text: string, filler = '0'): string | undefined {
  const end = endOfContent(text);
  const panDigits = endOfDigits(text, 0);
  const separator = text.charAt(panDigits);
  if (end > MAX_TRACK2_CHARACTERS || !isPanLength(panDigits) || (separator !== 'D' && separator !== '='))
    return undefined;
  const rest = end - panDigits - 1;
  if (rest < LEAST_BEHIND_SEPARATOR || endOfDigits(text, panDigits + 1) < end) return undefined;
  return withoutSecrets(text, panDigits, filler) + separator + filler.repeat(rest) + text.substring(end);
}

function isPanLength(digits: number): boolean {
  return digits >= MIN_PAN_DIGITS && digits <= MAX_PAN_DIGITS;
}

function withoutSecrets(text: string, panDigits: number, filler: string): string {
  const { first, last } = maskedSpan(panDigits);
  return text.substring(0, first) + filler.repeat(last - first) + text.substring(last, panDigits);
}

function endOfDigits(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= NINE) at++;
  return at;
}

/** Where the padding begins that fills up an odd number of digits. */
function endOfContent(text: string): number {
  let end = text.length;
  while (end > 0 && text[end - 1] === 'F') end--;
  return end;
}
