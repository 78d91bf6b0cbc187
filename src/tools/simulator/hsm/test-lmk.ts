import { createHash } from 'node:crypto';
import { CryptoError } from '../../../basics/errors.ts';
import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { LruMap } from '../../../codecs/bytes/lru-map.ts';
import { BlockKey, hasOddParity, takeKey } from '../../../codecs/crypto/block-key.ts';
import { unwrapTr31, wrapTr31 } from '../../../codecs/crypto/tr31.ts';
import { FieldFault, type FieldReader, readKeyField } from '../../../hsm-devices/payshield/host-command.ts';

/** The simulated device refuses a command with this error code. */
export class Refusal extends Error {
  readonly errorCode: string;

  constructor(errorCode: string) {
    super(`error code ${errorCode}`);
    this.errorCode = errorCode;
  }
}

/** Two characters for the field that is invalid, as the commands document them. */
export function refuseIf(isInvalid: boolean, errorCode: string): void {
  if (isInvalid) throw new Refusal(errorCode);
}

/** The fields of a command, with the end that all commands share. */
export class CommandFields {
  readonly fields: FieldReader;

  constructor(fields: FieldReader) {
    this.fields = fields;
  }

  key(): string {
    return readKeyField(this.fields);
  }

  /** Skips a delimiter. @returns whether it was there */
  hasDelimiter(delimiter: string): boolean {
    if (this.fields.peek(1) !== delimiter) return false;
    this.fields.text(1);
    return true;
  }

  /** Delimiter `%` and LMK Identifier, if they are there. The simulated device has one LMK. */
  lmkIdentifier(): void {
    if (this.hasDelimiter('%') && this.fields.digits(2) !== '00') throw new Refusal('13');
  }

  /** The last fields of most commands. */
  end(): void {
    this.lmkIdentifier();
    this.fields.end();
  }
}

/** @returns the error code for what a command threw; 15 is Invalid input data */
export function errorCodeOf(error: unknown): string {
  if (error instanceof Refusal) return error.errorCode;
  if (error instanceof FieldFault) return '15';
  throw error;
}

/** An AES key that everybody can compute: it protects nothing. */
const TEST_KEY_BLOCK_LMK = new BlockKey('aes', createHash('sha256').update('tapwire simulated key block LMK').digest());

/** The version of Thales key blocks under an AES LMK. */
const THALES_VERSION = '1';

interface KeyBlockHeader {
  readonly keyUsage: string;
  readonly modeOfUse: string;
}

/**
 * Protects a key in a key block with the header of a Thales key block (scheme `S`). How a device encrypts the key inside is
 * not public; here it is that of TR-31 version D. A host never looks inside.
 */
function protectWithKeyBlockLmk(key: BlockKey, { keyUsage, modeOfUse }: KeyBlockHeader): string {
  const algorithm = key.algorithm === 'aes' ? 'A' : key.lengthBytes === 8 ? 'D' : 'T';
  const header = { version: 'D', keyUsage, algorithm, modeOfUse, keyVersion: '00', exportability: 'N' } as const;
  return `S${THALES_VERSION}${wrapTr31(key, header, TEST_KEY_BLOCK_LMK).substring(1)}`;
}

/** @throws Refusal 26 for another scheme, A4 if the block is not authentic, A6 for another usage */
function openWithKeyBlockLmk(text: string, usages: readonly string[]): BlockKey {
  if (!text.startsWith(`S${THALES_VERSION}`)) throw new Refusal('26');
  try {
    const { key, keyUsage } = unwrapTr31(`D${text.substring(2)}`, TEST_KEY_BLOCK_LMK);
    if (!usages.includes(keyUsage)) throw new Refusal('A6');
    return key;
  } catch (error) {
    throw error instanceof CryptoError ? new Refusal('A4') : error;
  }
}

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
function protectWithVariantLmk(key: BlockKey, keyType: string): string {
  const scheme = { 8: '', 16: 'U', 24: 'T' }[key.lengthBytes];
  return scheme + toHex(key.useBytes((clear) => encryptWithVariants(pairOf(keyType), clear)));
}

/** @throws Refusal 28 for an unknown key type */
function openWithVariantLmk(text: string, keyType: string): BlockKey {
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

/** A use of keys: the key type code under a variant LMK, the header under a key block LMK. */
export interface SimulatedKeyUse {
  readonly keyType: string;
  /** The first is the usage of new key blocks. */
  readonly usages: readonly [string, ...string[]];
  readonly modeOfUse: string;
}

export const KEY_USES = {
  ZMK: { keyType: '000', usages: ['K0', '52'], modeOfUse: 'B' },
  ZPK: { keyType: '001', usages: ['P0', '72'], modeOfUse: 'B' },
  TPK: { keyType: '002', usages: ['P0', '71'], modeOfUse: 'B' },
  TAK: { keyType: '003', usages: ['M3', 'M1', 'M0'], modeOfUse: 'C' },
  ZAK: { keyType: '008', usages: ['M3', 'M1', 'M0'], modeOfUse: 'C' },
  BDK: { keyType: '009', usages: ['B0'], modeOfUse: 'X' },
} as const satisfies Readonly<Record<string, SimulatedKeyUse>>;

export type LmkForm = 'variant' | 'keyBlock';

/** More than the keys of a test installation. Opening a key takes three times as long as using it. */
const MAX_OPENED = 1_000;

/** The test local master key of the simulated device. Everybody knows it. */
export class TestLmk {
  readonly form: LmkForm;
  /** Opened keys: the same object for the same key, whose ciphers stay open. */
  readonly #opened = new LruMap<string, BlockKey>(MAX_OPENED);

  constructor(form: LmkForm) {
    this.form = form;
  }

  protect(key: BlockKey, { keyType, usages, modeOfUse }: SimulatedKeyUse, usage: string = usages[0]): string {
    if (this.form === 'keyBlock') return protectWithKeyBlockLmk(key, { keyUsage: usage, modeOfUse });
    return protectWithVariantLmk(key, keyType);
  }

  /** @param parityError error code if a byte has even parity: the key is of another type, or under another LMK */
  open(text: string, use: SimulatedKeyUse, parityError: string): BlockKey {
    const name = `${use.keyType} ${use.usages[0]} ${text}`;
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const key = this.#open(text, use, parityError);
    this.#opened.set(name, key);
    return key;
  }

  #open(text: string, { keyType, usages }: SimulatedKeyUse, parityError: string): BlockKey {
    if (this.form === 'keyBlock') return openWithKeyBlockLmk(text, usages);
    if (text.startsWith('S')) throw new Refusal('26');
    const key = openWithVariantLmk(text, keyType);
    if (!key.useBytes(hasOddParity)) throw new Refusal(parityError);
    return key;
  }
}

/** The use with this key type code. @throws Refusal 28 */
export function useOfType(keyType: string): SimulatedKeyUse {
  const use = Object.values(KEY_USES).find((each) => each.keyType === keyType);
  if (use === undefined) throw new Refusal('28');
  return use;
}
