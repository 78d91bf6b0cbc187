import { CryptoError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { BlockKey, type KeyAlgorithm } from '../../src/codecs/crypto/block-key.ts';
import {
  type AesDukptUsage,
  deriveAesInitialKey,
  deriveAesTransactionKey,
  deriveAesWorkingKey,
} from '../../src/codecs/crypto/dukpt-aes.ts';
import {
  deriveTdesInitialKey,
  deriveTdesTransactionKey,
  deriveTdesWorkingKey,
  type TdesDukptUsage,
} from '../../src/codecs/crypto/dukpt-tdes.ts';
import { cbcMac, cmac, kcv, keyMac, type MacPadding, padMessage, retailMac } from '../../src/codecs/crypto/mac.ts';
import {
  decipherPin,
  decodePinBlock,
  encipherPin,
  encodePinBlock,
  longPanField,
  longPinField,
  type Pin,
  parsePin,
} from '../../src/codecs/crypto/pin-block.ts';
import { unwrapTr31 } from '../../src/codecs/crypto/tr31.ts';
import type { CaseResult } from './run-file.ts';

type Hex = string;
type Check = (name: string, actual: () => string, expected: string | undefined) => void;

interface TdesStep {
  ksn: Hex;
  txnKey: Hex;
  encryptedPinBlock: Hex;
  requestMac: Hex;
  responseMac: Hex;
  encryptedRequestData: Hex;
  requestCmac_handCrafted?: Hex;
  responseCmac_handCrafted?: Hex;
}

interface TdesDukpt {
  bdk: Hex;
  initialKsn: Hex;
  initialKey: Hex;
  pan: string;
  pin: string;
  clearPinBlockIso0: Hex;
  macAndDataInputAscii: string;
  sequence?: TdesStep[];
  rollover?: TdesStep[];
}

type AesStep = { ksn: Hex; txnKey: Hex; encryptedPinBlockIso4?: Hex } & Record<string, Hex | undefined>;

interface AesDukpt {
  bdk: Hex;
  initialKeyId: Hex;
  initialKey: Hex;
  pin: string;
  pan: string;
  pinField: Hex;
  panField: Hex;
  first8?: AesStep[];
  counters_1fffe_20000_20001?: AesStep[];
  last4?: AesStep[];
}

interface PinBlockCase {
  format: 0 | 1 | 2 | 3 | 4;
  pin?: string;
  pan?: string;
  block?: Hex;
  blockPrefix?: Hex;
  nonce?: Hex;
  key?: Hex;
  pinFieldPrefix?: Hex;
  panField?: Hex;
}

interface RetailMacCase {
  key?: Hex;
  key1Ascii?: string;
  key2Ascii?: string;
  padding: MacPadding;
  ascii: string;
  mac4?: Hex;
  mac8?: Hex;
}

interface CryptoVectors {
  dukptTdes?: TdesDukpt;
  dukptAes?: { aes128?: AesDukpt; aes256?: AesDukpt };
  pinBlocks?: PinBlockCase[];
  macs?: {
    retailMac?: RetailMacCase[];
    cbcMacTdes?: { key: Hex; padding: MacPadding; ascii: string; mac8: Hex }[];
    aesCmac?: { key: Hex; message: Hex; cmac: Hex }[];
    paddings?: { method: MacPadding; inHex: Hex; out: Hex }[];
  };
  kcv?: { vectors: { alg: 'TDES' | 'AES'; key: Hex; kcv: Hex }[] };
  tr31?: { blocks: { kbpk: Hex; keyBlock: string; key: Hex; kcv?: Hex; ksn?: Hex; source?: string }[] };
}

/** One result for each published value of a file in the format of `crypto.json`; sections may be missing. */
export function runFile(json: unknown): CaseResult[] {
  const vectors = json as CryptoVectors;
  const results: CaseResult[] = [];
  const check: Check = (name, actual, expected) => {
    if (expected !== undefined) results.push(compare(name, actual, expected));
  };
  /** A case that cannot be set up is one failure; the other cases still run. */
  const attempt = (name: string, run: () => void) => {
    try {
      run();
    } catch (error) {
      results.push({ name, outcome: 'failed', why: String(error) });
    }
  };
  const { dukptTdes, dukptAes, pinBlocks = [], macs = {} } = vectors;
  if (dukptTdes) attempt('DUKPT TDES', () => checkTdesDukpt(dukptTdes, check));
  for (const length of ['aes128', 'aes256'] as const) {
    const dukpt = dukptAes?.[length];
    if (dukpt) attempt(`DUKPT ${length}`, () => checkAesDukpt(`DUKPT ${length}`, dukpt, check));
  }
  for (const [index, pinBlock] of pinBlocks.entries()) {
    attempt(`PIN block ${index}`, () => checkPinBlock(index, pinBlock, check));
  }
  attempt('MACs', () => checkMacs(macs, check));
  for (const { alg, key, kcv: expected } of vectors.kcv?.vectors ?? []) {
    const algorithm = alg === 'AES' ? 'aes' : 'tdes';
    check(`KCV ${alg} ${expected}`, () => kcv(keyOf(algorithm, key), expected.length / 2), expected);
  }
  for (const block of vectors.tr31?.blocks ?? []) results.push(...runKeyBlock(block));
  return results;
}

function compare(name: string, actual: () => string, expected: string): CaseResult {
  try {
    const value = actual();
    return value === expected
      ? { name, outcome: 'passed' }
      : { name, outcome: 'failed', why: `expected ${expected}, got ${value}` };
  } catch (error) {
    return { name, outcome: 'failed', why: String(error) };
  }
}

function checkTdesDukpt(dukpt: TdesDukpt, check: Check): void {
  const initialKey = deriveTdesInitialKey(keyOf('tdes', dukpt.bdk), fromHex(dukpt.initialKsn));
  const pin = parsePin(dukpt.pin);
  const data = Buffer.from(dukpt.macAndDataInputAscii, 'ascii');
  check('DUKPT TDES initial key', () => bytesOf(initialKey), dukpt.initialKey);
  check('DUKPT TDES clear PIN block', () => toHex(encodePinBlock(0, pin, dukpt.pan)), dukpt.clearPinBlockIso0);
  for (const step of [...(dukpt.sequence ?? []), ...(dukpt.rollover ?? [])]) {
    const name = `DUKPT TDES ${step.ksn}`;
    const key = deriveTdesTransactionKey(initialKey, fromHex(step.ksn));
    const working = (usage: TdesDukptUsage) => deriveTdesWorkingKey(key, usage);
    const retail = (usage: TdesDukptUsage) =>
      toHex(keyMac(working(usage), { algorithm: 'retail', padding: 1 })(data), 0, 4);
    check(`${name} key`, () => bytesOf(key), step.txnKey);
    check(`${name} PIN`, () => toHex(encipherPin(0, pin, dukpt.pan, working('pin'))), step.encryptedPinBlock);
    check(`${name} request MAC`, () => retail('macRequest'), step.requestMac);
    check(`${name} response MAC`, () => retail('macResponse'), step.responseMac);
    check(`${name} request CMAC`, () => toHex(cmac(working('macRequest'))(data)), step.requestCmac_handCrafted);
    check(`${name} response CMAC`, () => toHex(cmac(working('macResponse'))(data)), step.responseCmac_handCrafted);
    const encrypted = () => toHex(working('dataRequest').encryptCbc(padMessage(data, 1, 8), new Uint8Array(8)));
    check(`${name} data`, encrypted, step.encryptedRequestData);
  }
}

const AES_WORKING_KEYS: Record<string, AesDukptUsage> = {
  pinKey: 'pin',
  macGenKey: 'macGeneration',
  dataEncKey: 'dataEncryption',
};

function checkAesDukpt(name: string, dukpt: AesDukpt, check: Check): void {
  const initialKey = deriveAesInitialKey(keyOf('aes', dukpt.bdk), fromHex(dukpt.initialKeyId));
  const pin = parsePin(dukpt.pin);
  check(`${name} initial key`, () => bytesOf(initialKey), dukpt.initialKey);
  check(`${name} PAN field`, () => toHex(longPanField(dukpt.pan)), dukpt.panField);
  const random = fromHex(dukpt.pinField.slice(16));
  check(`${name} PIN field`, () => toHex(longPinField(pin, random)), dukpt.pinField);
  const { first8 = [], counters_1fffe_20000_20001: jump = [], last4 = [] } = dukpt;
  for (const step of [...first8, ...jump, ...last4]) {
    const ksn = fromHex(step.ksn);
    const key = deriveAesTransactionKey(initialKey, ksn);
    check(`${name} ${step.ksn} key`, () => bytesOf(key), step.txnKey);
    for (const [label, usage] of Object.entries(AES_WORKING_KEYS)) {
      for (const keyType of ['AES128', 'AES192', 'AES256'] as const) {
        const expected = step[`${label}Aes${keyType.slice(3)}`];
        check(
          `${name} ${step.ksn} ${label} ${keyType}`,
          () => bytesOf(deriveAesWorkingKey(key, ksn, usage, keyType)),
          expected,
        );
      }
    }
    const pinKey = deriveAesWorkingKey(key, ksn, 'pin', 'AES128');
    const block = () => toHex(encipherPin(4, pin, dukpt.pan, pinKey, random));
    check(`${name} ${step.ksn} PIN block`, block, step.encryptedPinBlockIso4);
  }
}

function checkPinBlock(index: number, pinBlock: PinBlockCase, check: Check): void {
  const { format, pan = '', key } = pinBlock;
  const name = `PIN block ${index} format ${format}`;
  check(`${name} PAN field`, () => toHex(longPanField(pan)), pinBlock.panField);
  if (pinBlock.pin === undefined) return;
  const pin = parsePin(pinBlock.pin);
  check(`${name} PIN field`, () => toHex(longPinField(pin, new Uint8Array(8)), 0, 8), pinBlock.pinFieldPrefix);
  if (format !== 4) {
    // The author of the format 1 case takes the fill from the end of its nonce.
    const random = pinBlock.nonce === undefined ? undefined : fromHex(pinBlock.nonce).reverse();
    const clear = () => toHex(encodePinBlock(format, pin, pan, random));
    check(name, clear, pinBlock.block);
    check(`${name} prefix`, () => clear().slice(0, pinBlock.blockPrefix?.length), pinBlock.blockPrefix);
    const block = fromHex(pinBlock.block ?? clear());
    check(`${name} read back`, () => digitsOf(decodePinBlock(format, block, pan)), pinBlock.pin);
  } else if (key !== undefined && pinBlock.block !== undefined) {
    const cipherKey = keyOf('aes', key);
    const block = fromHex(pinBlock.block);
    const random = new Uint8Array(8).fill(0xff);
    check(name, () => toHex(encipherPin(4, pin, pan, cipherKey, random)), pinBlock.block);
    check(`${name} read back`, () => digitsOf(decipherPin(4, block, pan, cipherKey)), pinBlock.pin);
  }
}

function checkMacs(macs: NonNullable<CryptoVectors['macs']>, check: Check): void {
  for (const { key, key1Ascii, key2Ascii, padding, ascii, mac4, mac8 } of macs.retailMac ?? []) {
    const mac = () =>
      key === undefined
        ? retailMac(asciiKey(key1Ascii!), asciiKey(key2Ascii!), padding)
        : keyMac(keyOf('tdes', key), { algorithm: 'retail', padding });
    const value = () => toHex(mac()(Buffer.from(ascii, 'ascii')));
    check(`retail MAC padding ${padding}`, () => value().slice(0, mac4?.length), mac4);
    check(`retail MAC padding ${padding}`, value, mac8);
  }
  for (const { key, padding, ascii, mac8 } of macs.cbcMacTdes ?? []) {
    check(`CBC MAC padding ${padding}`, () => toHex(cbcMac(keyOf('tdes', key), padding)(Buffer.from(ascii))), mac8);
  }
  for (const { key, message, cmac: expected } of macs.aesCmac ?? []) {
    const bytes = fromHex(message);
    check(`AES CMAC of ${bytes.length} bytes`, () => toHex(cmac(keyOf('aes', key))(bytes)), expected);
  }
  for (const { method, inHex, out } of macs.paddings ?? []) {
    check(`padding ${method} of ${inHex.length / 2} bytes`, () => toHex(padMessage(fromHex(inHex), method, 8)), out);
  }
}

/** The gateway refuses versions A, C and E, so their key cannot be compared: only the refusal is tested. */
function runKeyBlock(block: NonNullable<CryptoVectors['tr31']>['blocks'][number]): CaseResult[] {
  const version = block.keyBlock[0]!;
  const name = `TR-31 ${block.keyBlock.slice(0, 16)}${block.source === undefined ? '' : ` of ${block.source}`}`;
  const open = () => unwrapTr31(block.keyBlock, keyOf(version === 'D' ? 'aes' : 'tdes', block.kbpk));
  if (version !== 'B' && version !== 'D') {
    return refusesVersion(() => unwrapTr31(block.keyBlock, new BlockKey('aes', new Uint8Array(16))))
      ? [{ name, outcome: 'skipped', why: `version ${version} is refused on purpose: B and D are taken` }]
      : [{ name, outcome: 'failed', why: `version ${version} was not refused as unsupported` }];
  }
  const outcomes = [compare(name, () => bytesOf(open().key), block.key)];
  const { kcv: check, ksn } = block;
  if (check !== undefined) outcomes.push(compare(`${name} KCV`, () => kcv(open().key, check.length / 2), check));
  if (ksn !== undefined) {
    const optional = () => open().optionalBlocks.find(({ id }) => id === 'KS')?.data ?? 'none';
    outcomes.push(compare(`${name} KSN`, optional, ksn));
  }
  return outcomes;
}

function refusesVersion(open: () => unknown): boolean {
  try {
    open();
    return false;
  } catch (error) {
    return error instanceof CryptoError && error.code === 'KEY_BLOCK_UNSUPPORTED';
  }
}

function keyOf(algorithm: KeyAlgorithm, hex: Hex): BlockKey {
  return new BlockKey(algorithm, fromHex(hex));
}

function asciiKey(text: string): BlockKey {
  return new BlockKey('tdes', Buffer.from(text, 'ascii'));
}

function bytesOf(key: BlockKey): Hex {
  return key.useBytes((bytes) => toHex(bytes));
}

function digitsOf(pin: Pin): string {
  return pin.reveal().join('');
}
