import { CardError } from '../../basics/errors/codec-errors.ts';
import { isDigits } from '../bytes/digits.ts';
import { toHex } from '../bytes/hex.ts';
import type { TlvValues } from './tlv-values.ts';

/**
 * The data that identify a card: PAN, track 2, expiry, service code and sequence number. They are read and checked
 * for form; their meaning is not judged.
 */

/** ISO/IEC 7812-1: at most 19 digits, check digit included. */
const MAX_PAN_DIGITS = 19;
/** ISO/IEC 7812-1: an issuer number has at least 8 digits, so shorter values are not PANs. */
const MIN_PAN_DIGITS = 8;
/**
 * A shorter PAN would have too few hidden digits with first 6 and last 4 shown (PCI DSS 3.4.1 allows no more than
 * these).
 */
const MASKED_HEAD_FROM_DIGITS = 13;
/** ISO/IEC 7813 and DE35: 37 characters between the sentinels. */
const MAX_TRACK2_CHARACTERS = 37;

const TRACK2 = 0x57;
const PAN = 0x5a;
const EXPIRATION_DATE = 0x5f24;
const SEQUENCE_NUMBER = 0x5f34;

/** As `inspect.custom` of Node, without importing it: browsers load this module, too. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** Prints only what may be shown of it, in logs, errors, JSON and templates; callers must access its parts by name. */
abstract class CardData {
  abstract toString(): string;

  toJSON(): string {
    return this.toString();
  }

  [INSPECT](): string {
    return this.toString();
  }
}

/** Track 2 in its parts. All of it is sensitive authentication data. */
export class Track2 extends CardData {
  readonly #pan: string;
  readonly #rest: string;

  /** @param rest what follows the separator: YYMM, service code, discretionary data */
  constructor(pan: string, rest: string) {
    super();
    this.#pan = pan;
    this.#rest = rest;
  }

  get pan(): string {
    return this.#pan;
  }

  /** YYMM as the card states it; the issuer decides whether it has passed. */
  get expiry(): string {
    return this.#rest.slice(0, 4);
  }

  /** Three digits (ISO/IEC 7813), undefined when the track ends before them. */
  get serviceCode(): string | undefined {
    const code = this.#rest.slice(4, 7);
    return code.length === 3 ? code : undefined;
  }

  /** The content of DE35: no sentinels, no padding, at most 37 characters. */
  text(separator: 'D' | '='): string {
    return `${this.#pan}${separator}${this.#rest}`;
  }

  override toString(): string {
    return '[track 2]';
  }
}

/** One card as a tap presents it. */
export class Card extends CardData {
  readonly #pan: string;
  readonly #expiry: string | undefined;
  /** Undefined if the tap carries only a PAN (5A). */
  readonly track2: Track2 | undefined;
  /** n3, as in DE23; undefined if the card has none. */
  readonly sequenceNumber: string | undefined;

  constructor(pan: string, expiry: string | undefined, track2: Track2 | undefined, sequenceNumber: string | undefined) {
    super();
    this.#pan = pan;
    this.#expiry = expiry;
    this.track2 = track2;
    this.sequenceNumber = sequenceNumber;
  }

  get pan(): string {
    return this.#pan;
  }

  /** YYMM, from track 2 or else from 5F24. */
  get expiry(): string | undefined {
    return this.#expiry;
  }

  get serviceCode(): string | undefined {
    return this.track2?.serviceCode;
  }

  override toString(): string {
    return `[card ${maskPan(this.#pan)}]`;
  }
}

/**
 * Reads the card of a tap.
 *
 * @throws {CardError} for a PAN, track, expiry or sequence number that is missing or not well-formed, or if the PANs
 * of 5A and 57 differ
 * @throws {TlvError} CONFLICTING_VALUES if a blob carries two different values
 */
export function readCard(tap: TlvValues): Card {
  const track2 = track2Of(tap);
  const pan = checkedPan(track2?.pan, panFrom5a(tap));
  return new Card(pan, track2?.expiry ?? expiryFrom5f24(tap), track2, sequenceNumberOf(tap));
}

/**
 * Track 2 from tag 57; undefined if the tag is missing.
 *
 * @throws {CardError} TRACK2_MALFORMED or TRACK2_TOO_LONG
 */
function track2Of(tap: TlvValues): Track2 | undefined {
  const text = hexOf(tap, TRACK2);
  return text === undefined ? undefined : parseTrack2(text);
}

/**
 * Parses a PAN; trailing `F` padding is dropped. The check digit is not verified.
 *
 * @throws {CardError} PAN_MALFORMED
 */
export function parsePan(text: string): string {
  const pan = withoutPadding(text);
  if (!isPan(pan)) throw new CardError('PAN_MALFORMED');
  return pan;
}

/**
 * Parses track 2: PAN, `D` or `=`, YYMM, then any digits. Trailing `F` padding is dropped.
 *
 * @throws {CardError} TRACK2_MALFORMED or TRACK2_TOO_LONG
 */
export function parseTrack2(text: string): Track2 {
  const track = withoutPadding(text);
  if (track.length > MAX_TRACK2_CHARACTERS) throw new CardError('TRACK2_TOO_LONG');
  const parts = /^(\d+)[D=](\d{4,})$/.exec(track);
  if (parts === null || !isPan(parts[1]!)) throw new CardError('TRACK2_MALFORMED');
  return new Track2(parts[1]!, parts[2]!);
}

/**
 * The sequence number of 5F34 as n3; undefined if missing (EMV Book 3 Annex A: it distinguishes the cards of one
 * PAN).
 *
 * @throws {CardError} SEQUENCE_NUMBER_MALFORMED unless it is two digits
 */
function sequenceNumberOf(tap: TlvValues): string | undefined {
  const digits = hexOf(tap, SEQUENCE_NUMBER);
  if (digits === undefined) return undefined;
  if (digits.length !== 2 || !isDigits(digits)) throw new CardError('SEQUENCE_NUMBER_MALFORMED');
  return `0${digits}`;
}

/**
 * The part of a PAN that may be shown: first 6, stars, last 4, in the length of the PAN. Under 13 digits only the
 * last 4 are shown, under 5 none.
 */
export function maskPan(pan: string): string {
  const { first, last } = maskedSpan(pan.length);
  return pan.slice(0, first) + '*'.repeat(last - first) + pan.slice(last);
}

/** The range of the digits of a PAN that must not be shown; the end is exclusive. */
function maskedSpan(panDigits: number): { readonly first: number; readonly last: number } {
  return { first: panDigits < MASKED_HEAD_FROM_DIGITS ? 0 : 6, last: panDigits < 5 ? panDigits : panDigits - 4 };
}

/** Checks Luhn's check digit, ISO/IEC 7812-1 Annex B. `digits` must contain digits only. */
export function isLuhnValid(digits: string): boolean {
  let sum = 0;
  for (let fromRight = 0; fromRight < digits.length; fromRight++) {
    const digit = digits.charCodeAt(digits.length - 1 - fromRight) - 0x30;
    const doubled = fromRight % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return digits.length > 0 && sum % 10 === 0;
}

function checkedPan(fromTrack2: string | undefined, from5a: string | undefined): string {
  const pan = fromTrack2 ?? from5a;
  if (pan === undefined) throw new CardError('PAN_MISSING');
  if (from5a !== undefined && from5a !== pan) throw new CardError('PAN_MISMATCH');
  if (!isLuhnValid(pan)) throw new CardError('PAN_LUHN');
  return pan;
}

function panFrom5a(tap: TlvValues): string | undefined {
  const text = hexOf(tap, PAN);
  return text === undefined ? undefined : parsePan(text);
}

function expiryFrom5f24(tap: TlvValues): string | undefined {
  const digits = hexOf(tap, EXPIRATION_DATE);
  if (digits === undefined) return undefined;
  if (digits.length !== 6 || !isDigits(digits)) throw new CardError('EXPIRY_MALFORMED');
  return digits.slice(0, 4);
}

function isPan(text: string): boolean {
  return text.length >= MIN_PAN_DIGITS && text.length <= MAX_PAN_DIGITS && isDigits(text);
}

function hexOf(tap: TlvValues, tag: number): string | undefined {
  const value = tap.single(tag);
  return value && toHex(value);
}

function withoutPadding(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === 'F') end--;
  return text.slice(0, end);
}

const ZERO = 0x30;
const NINE = 0x39;
/** YYMM, which follows the separator of every track (ISO/IEC 7813). */
const LEAST_BEHIND_SEPARATOR = 4;

/**
 * Overwrites the digits of a PAN that `maskPan` does not show; undefined for anything but a PAN. The length and a
 * trailing `F` stay, and `parsePan` still accepts the result.
 */
export function blankPan(text: string, filler = '0'): string | undefined {
  const digits = endOfDigits(text, 0);
  if (!isPanLength(digits) || digits < endOfContent(text)) return undefined;
  return withoutSecrets(text, digits, filler) + text.substring(digits);
}

/**
 * Overwrites the same digits of track 2, and all after its separator; undefined for anything but a track. The length
 * stays, and `parseTrack2` still accepts the result.
 */
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
