import { createHash } from 'node:crypto';
import { fromHex } from '../../../codecs/bytes/hex.ts';
import { type BlockKey, setOddParity, takeKey, xor } from '../../../codecs/crypto/block-key.ts';
import { keyMac, type MacPadding } from '../../../codecs/crypto/mac.ts';

/** Keys and cryptograms of chip cards (EMV Book 2), as the card and its issuer compute them. Pure functions. */

/** How the key of a card follows from that of its issuer (EMV Book 2 A1.4). B differs only for PANs of more than 16 digits. */
export type CardKeyMethod = 'A' | 'B';

/**
 * How the key of a transaction follows from that of the card. `none`: it is the card's. `common`: from the ATC (EMV Book 2
 * A1.3.1). `mchip`: from the ATC and the unpredictable number (Mastercard's SKD, as pyemv and jPOS have it).
 */
export type SessionKeyMethod = 'none' | 'common' | 'mchip';

/** Values of a transaction that diversify its key. */
export interface TransactionValues {
  /** 9F36, two bytes. */
  readonly atc: Uint8Array;
  /** 9F37, four bytes. */
  readonly unpredictableNumber: Uint8Array;
}

/** Option A takes the last 16 digits of PAN and sequence number, and option B as many of their hash. */
const BLOCK_DIGITS = 16;
const ALL_BITS = new Uint8Array(8).fill(0xff);

/**
 * The key of a card.
 *
 * @param issuerKey the issuer's master key for application cryptograms, two DES keys
 * @param sequence the PAN sequence number (5F34), two digits
 */
export function deriveCardKey(issuerKey: BlockKey, pan: string, sequence: string, method: CardKeyMethod): BlockKey {
  const digits =
    method === 'B' && pan.length > BLOCK_DIGITS
      ? hashedDigits(pan + sequence)
      : (pan + sequence).slice(-BLOCK_DIGITS).padStart(BLOCK_DIGITS, '0');
  const left = fromHex(digits);
  return encryptedKey(issuerKey, left, xor(left, ALL_BITS));
}

/** The key of a transaction. @throws {CryptoError} DATA_LENGTH if a value has another length */
export function deriveSessionKey(
  cardKey: BlockKey,
  method: SessionKeyMethod,
  { atc, unpredictableNumber }: TransactionValues,
): BlockKey {
  if (method === 'none') return cardKey;
  const seed = (third: number) =>
    Uint8Array.of(...atc, third, 0, ...(method === 'mchip' ? unpredictableNumber : [0, 0, 0, 0]));
  return encryptedKey(cardKey, seed(0xf0), seed(0x0f));
}

/** The application cryptogram (ARQC, TC, AAC), 8 bytes: a MAC over the values of the transaction (EMV Book 2 A1.2.1). */
export function applicationCryptogram(key: BlockKey, data: Uint8Array, padding: MacPadding): Uint8Array {
  return keyMac(key, { algorithm: 'retail', padding })(data);
}

/**
 * The issuer's cryptogram (ARPC) by method 1, 8 bytes (EMV Book 2 8.2.1).
 *
 * @param responseCode two bytes, which follow the cryptogram in tag 91
 */
export function responseCryptogram1(key: BlockKey, arqc: Uint8Array, responseCode: Uint8Array): Uint8Array {
  const padded = new Uint8Array(8);
  padded.set(responseCode);
  return key.encrypt(xor(arqc, padded));
}

/**
 * The issuer's cryptogram (ARPC) by method 2, 4 bytes (EMV Book 2 8.2.2).
 *
 * @param update card status update, 4 bytes, and at most 8 bytes of the issuer; both follow the cryptogram in tag 91
 */
export function responseCryptogram2(key: BlockKey, arqc: Uint8Array, update: Uint8Array): Uint8Array {
  return applicationCryptogram(key, Buffer.concat([arqc, update]), 2).subarray(0, 4);
}

function encryptedKey(key: BlockKey, left: Uint8Array, right: Uint8Array): BlockKey {
  const derived = Uint8Array.from(key.encrypt(Buffer.concat([left, right])));
  setOddParity(derived);
  return takeKey('tdes', derived);
}

/** The first 16 decimal digits of SHA-1; if it has fewer, its letters follow, A as 0 to F as 5 (EMV Book 2 A1.4.2). */
function hashedDigits(digits: string): string {
  const hash = createHash('sha1')
    .update(fromHex(digits.length % 2 === 0 ? digits : `0${digits}`))
    .digest('hex');
  const letters = hash.replaceAll(/\d/g, '').replaceAll(/[a-f]/g, (letter) => String(letter.charCodeAt(0) - 97));
  return (hash.replaceAll(/\D/g, '') + letters).slice(0, BLOCK_DIGITS);
}
