import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { BlockKey, takeKey } from '../../../codecs/crypto/block-key.ts';
import { Refusal } from './refusal.ts';

/**
 * The pairs of the published test LMK by the last two characters of a key type code. They are the values that the open
 * Thales Simulator Library lists; no production device has them.
 */
const TEST_LMK_PAIRS: Readonly<Record<string, string>> = {
  '00': '40404040404040405151515151515151',
  '01': '61616161616161617070707070707070',
  '02': 'E0E0010101010101F1F1010101010101',
  '03': '1C587F1C13924FEF0101010101010101',
  '08': '16161616161616161919191919191919',
  '09': '1A1A1A1A1A1A1A1A1C1C1C1C1C1C1C1C',
};

/** Combined with the first byte of a pair, for the first digit of a key type code. */
const TYPE_VARIANTS = [0x00, 0xa6, 0x5a, 0x6a, 0xde, 0x2b, 0x50, 0x74, 0x9c, 0xfa];
/** Combined with the first byte of the second half, for each part of a double or triple length key. */
const PART_VARIANTS: Readonly<Record<number, readonly number[]>> = { 8: [0], 16: [0xa6, 0x5a], 24: [0x6a, 0xde, 0x2b] };

const PART_BYTES = 8;

/** Encrypts a TDES key under another one, each part under its own variant (schemes U and T); a single part under none. */
export function encryptWithVariants(wrapping: Uint8Array, clear: Uint8Array): Uint8Array {
  return mapParts(wrapping, clear, (key, part) => key.encrypt(part));
}

export function decryptWithVariants(wrapping: Uint8Array, cryptogram: Uint8Array): Uint8Array {
  return mapParts(wrapping, cryptogram, (key, part) => key.decrypt(part));
}

/** Protects a key of this type: 16 H, `U` + 32 H or `T` + 48 H. @throws Refusal 28 for an unknown key type */
export function protectWithVariantLmk(key: BlockKey, keyType: string): string {
  const scheme = { 8: '', 16: 'U', 24: 'T' }[key.lengthBytes];
  return scheme + toHex(key.useBytes((clear) => encryptWithVariants(pairOf(keyType), clear)));
}

/** @throws Refusal 28 for an unknown key type */
export function openWithVariantLmk(text: string, keyType: string): BlockKey {
  const hex = /^[A-Z]/.test(text) && text.length % 2 === 1 ? text.substring(1) : text;
  return takeKey('tdes', decryptWithVariants(pairOf(keyType), fromHex(hex)));
}

function pairOf(keyType: string): Uint8Array {
  const pair = TEST_LMK_PAIRS[keyType.substring(1)];
  const variant = TYPE_VARIANTS[Number(keyType[0])];
  if (pair === undefined || variant === undefined) throw new Refusal('28');
  const bytes = fromHex(pair);
  bytes[0]! ^= variant;
  return bytes;
}

function mapParts(
  wrapping: Uint8Array,
  parts: Uint8Array,
  work: (key: BlockKey, part: Uint8Array) => Uint8Array,
): Uint8Array {
  const mapped = new Uint8Array(parts.length);
  for (const [at, variant] of PART_VARIANTS[parts.length]!.entries()) {
    const key = Uint8Array.from(wrapping);
    key[PART_BYTES]! ^= variant;
    const part = parts.subarray(at * PART_BYTES, (at + 1) * PART_BYTES);
    mapped.set(work(new BlockKey('tdes', key), part), at * PART_BYTES);
  }
  return mapped;
}
