import { CryptoError } from '../../../basics/errors.ts';
import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import type { BlockKey } from '../../../codecs/crypto/block-key.ts';
import {
  deriveTdesInitialKey,
  deriveTdesTransactionKey,
  deriveTdesWorkingKey,
} from '../../../codecs/crypto/dukpt-tdes.ts';
import { isSameMac, keyMac, type MacFunction, type MacMethod } from '../../../codecs/crypto/mac.ts';
import { decipherPin, encipherPin } from '../../../codecs/crypto/pin-block.ts';
import { FieldReader, responseCodeOf } from '../../../hsm-devices/payshield/host-command.ts';
import { exportKey, importKey, type KeyResponse, keyCheckValue, translateZpk } from './key-commands.ts';
import { CommandFields, errorCodeOf, KEY_USES, Refusal, refuseIf, type TestLmk } from './test-lmk.ts';

const MAC_CHARS: Readonly<Record<string, number>> = { '0': 8, '1': 16 };
const MAC_KEYS = [KEY_USES.TAK, KEY_USES.ZAK];

/** M6. */
function generateMac(command: CommandFields, lmk: TestLmk): string {
  const { mac } = readMac(command, lmk);
  command.end();
  return mac();
}

/** M8. @throws Refusal 01 for another MAC */
function verifyMac(command: CommandFields, lmk: TestLmk): string {
  const { mac, macChars } = readMac(command, lmk);
  const received = command.fields.hex(macChars);
  command.end();
  const isSame = isSameMac(Buffer.from(mac(), 'hex'), Buffer.from(received, 'hex'));
  refuseIf(!isSame, '01');
  return '';
}

/** The fields up to the message: modes other than the only block are not simulated. */
function readMac(command: CommandFields, lmk: TestLmk): { mac: () => string; macChars: number } {
  const { fields } = command;
  refuseIf(fields.text(1) !== '0', '02');
  refuseIf(fields.text(1) !== '0', '03');
  const macChars = MAC_CHARS[fields.text(1)];
  if (macChars === undefined) throw new Refusal('15');
  const algorithm = fields.text(1);
  const padding = fields.text(1);
  refuseIf(algorithm !== '1' && algorithm !== '3', '04');
  refuseIf(!['0', '1', '2'].includes(padding), '09');
  const keyType = fields.hex(3);
  const use = lmk.form === 'keyBlock' ? KEY_USES.ZAK : MAC_KEYS.find((each) => each.keyType === keyType);
  if (use === undefined) throw new Refusal('05');
  const keyText = command.key();
  const message = fields.bytes(Number.parseInt(fields.hex(4), 16));
  refuseIf(padding === '0' && message.length % 8 !== 0, '06');
  const key = lmk.open(keyText, use, '10');
  const method = { algorithm: algorithm === '3' ? 'retail' : 'cbc', padding: padding === '2' ? 2 : 1 } as const;
  return { macChars, mac: () => computeMac(() => toHex(macOf(key, method)(message)).substring(0, macChars)) };
}

/** The MAC functions in use, with their open ciphers; a key has at most four. */
const macs = new WeakMap<BlockKey, Map<string, MacFunction>>();

function macOf(key: BlockKey, method: MacMethod & { readonly padding: number }): MacFunction {
  const ofKey = macs.get(key) ?? new Map<string, MacFunction>();
  macs.set(key, ofKey);
  const name = `${method.algorithm} ${method.padding}`;
  const mac = ofKey.get(name) ?? keyMac(key, method);
  ofKey.set(name, mac);
  return mac;
}

function computeMac(compute: () => string): string {
  try {
    return compute();
  } catch (error) {
    throw error instanceof CryptoError ? new Refusal('27') : error;
  }
}

const FORMATS: Readonly<Record<string, 0 | 1 | 3>> = { '01': 0, '05': 1, '47': 3 };
const LONGEST_PIN = '12';

/** CA and CC. */
function translateZonePin(command: CommandFields, lmk: TestLmk, source: 'TPK' | 'ZPK'): string {
  const sourceKey = command.key();
  const destinationKey = command.key();
  const { fields } = command;
  refuseIf(fields.digits(2) !== LONGEST_PIN, '15');
  const block = fields.hex(16);
  const formats = { from: fields.digits(2), to: fields.digits(2) };
  const account = fields.digits(12);
  command.end();
  const from = lmk.open(sourceKey, KEY_USES[source], '10');
  return translate(block, formats, account, from, lmk.open(destinationKey, KEY_USES.ZPK, '11'));
}

/** The three parts of a KSN descriptor and the counter of 21 bits, five digits, fill the KSN. */
const ID_DIGITS = 15;

/** G0. The destination is a BDK if there is a flag, or if its key block is one of a BDK. */
function translateDukptPin(command: CommandFields, lmk: TestLmk): string {
  const bdkText = command.key();
  const hasFlag = command.hasDelimiter('*');
  const destinationText = command.key();
  const isToDukpt = hasFlag || (lmk.form === 'keyBlock' && destinationText.substring(6, 8) === 'B0');
  const { fields } = command;
  const ksn = readKsn(command);
  const destinationKsn = isToDukpt ? readKsn(command) : undefined;
  const block = fields.hex(16);
  const formats = { from: fields.digits(2), to: fields.digits(2) };
  const account = fields.digits(12);
  command.end();
  const bdk = lmk.open(bdkText, KEY_USES.BDK, '10');
  const destination = lmk.open(destinationText, destinationKsn === undefined ? KEY_USES.ZPK : KEY_USES.BDK, '11');
  const to = destinationKsn === undefined ? destination : dukptPinKey(destination, destinationKsn);
  return translate(block, formats, account, dukptPinKey(bdk, ksn), to);
}

function readKsn({ fields }: CommandFields): Uint8Array {
  const idDigits = [...fields.hex(3)].reduce((sum, digit) => sum + Number.parseInt(digit, 16), 0);
  refuseIf(idDigits !== ID_DIGITS, '15');
  return fromHex(fields.hex(20));
}

function dukptPinKey(bdk: BlockKey, ksn: Uint8Array): BlockKey {
  refuseIf(bdk.lengthBytes !== 16, '27');
  try {
    return deriveTdesWorkingKey(deriveTdesTransactionKey(deriveTdesInitialKey(bdk, ksn), ksn), 'pin');
  } catch (error) {
    throw error instanceof CryptoError ? new Refusal('15') : error;
  }
}

/** PIN Length, PIN block, format. @throws Refusal 20, 23 */
function translate(
  block: string,
  formats: { readonly from: string; readonly to: string },
  account: string,
  from: BlockKey,
  to: BlockKey,
): string {
  const [source, destination] = [FORMATS[formats.from], FORMATS[formats.to]];
  if (source === undefined || destination === undefined) throw new Refusal('23');
  // PIN blocks use the account number, which has no check digit; a PAN has one.
  const pan = `${account}0`;
  try {
    const pin = decipherPin(source, fromHex(block), pan, from);
    const digits = String(pin.reveal().length).padStart(2, '0');
    const translated = toHex(encipherPin(destination, pin, pan, to));
    pin.reveal().fill(0);
    return digits + translated + formats.to;
  } catch (error) {
    throw error instanceof CryptoError ? new Refusal('20') : error;
  }
}

/** The check value of the published test LMK is not computed here; this value identifies the simulated device. */
const SIMULATED_LMK_CHECK_VALUE = '5A1057ED00000000';
const FIRMWARE = '0000-SIM0';
/** 32 KB, TCP, 64 sockets, and two reserved fields. */
const STATUS_00 = `3164${FIRMWARE}00000`;
const UNKNOWN_COMMAND = '68';

type CommandResponse = string | KeyResponse;

const COMMANDS: Readonly<Record<string, (command: CommandFields, lmk: TestLmk) => CommandResponse>> = {
  CA: (command, lmk) => translateZonePin(command, lmk, 'TPK'),
  CC: (command, lmk) => translateZonePin(command, lmk, 'ZPK'),
  G0: translateDukptPin,
  M6: generateMac,
  M8: verifyMac,
  A6: importKey,
  A8: exportKey,
  BU: keyCheckValue,
  FA: translateZpk,
  NC({ fields }) {
    fields.end();
    return SIMULATED_LMK_CHECK_VALUE + FIRMWARE;
  },
  NO({ fields }) {
    refuseIf(fields.text(2) !== '00', '15');
    fields.end();
    return STATUS_00;
  },
  B2({ fields }) {
    const data = fields.text(Number.parseInt(fields.hex(4), 16));
    fields.end();
    return data;
  },
};

/**
 * Carries out one command.
 *
 * @param message Command Code and fields, without the header
 * @returns Response Code, Error Code and fields
 */
export function respondToCommand(message: Uint8Array, lmk: TestLmk): string {
  const fields = new FieldReader(message);
  const code = fields.peek(2);
  const responseCode = code.length === 2 ? responseCodeOf(code) : 'ZZ';
  const command = Object.hasOwn(COMMANDS, code) ? COMMANDS[code] : undefined;
  if (command === undefined) return responseCode + UNKNOWN_COMMAND;
  try {
    fields.text(2);
    const response = command(new CommandFields(fields), lmk);
    return typeof response === 'string'
      ? `${responseCode}00${response}`
      : responseCode + response.errorCode + response.fields;
  } catch (error) {
    return responseCode + errorCodeOf(error);
  }
}
