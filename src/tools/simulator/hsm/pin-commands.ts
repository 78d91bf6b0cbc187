import { CryptoError } from '../../../basics/errors.ts';
import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import type { BlockKey } from '../../../codecs/crypto/block-key.ts';
import {
  deriveTdesInitialKey,
  deriveTdesTransactionKey,
  deriveTdesWorkingKey,
} from '../../../codecs/crypto/dukpt-tdes.ts';
import { decipherPin, encipherPin } from '../../../codecs/crypto/pin-block.ts';
import type { CommandFields } from './command-fields.ts';
import { Refusal, refuseIf } from './refusal.ts';
import { KEY_USES, type TestLmk } from './test-lmk.ts';

const FORMATS: Readonly<Record<string, 0 | 1 | 3>> = { '01': 0, '05': 1, '47': 3 };
const LONGEST_PIN = '12';

/** CA and CC. */
export function translateZonePin(command: CommandFields, lmk: TestLmk, source: 'TPK' | 'ZPK'): string {
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
export function translateDukptPin(command: CommandFields, lmk: TestLmk): string {
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
