import { CryptoError } from '../../../basics/errors.ts';
import { toHex } from '../../../codecs/bytes/hex.ts';
import type { BlockKey } from '../../../codecs/crypto/block-key.ts';
import { isSameMac, keyMac, type MacFunction, type MacMethod } from '../../../codecs/crypto/mac.ts';
import type { CommandFields } from './command-fields.ts';
import { Refusal, refuseIf } from './refusal.ts';
import { KEY_USES, type TestLmk } from './test-lmk.ts';

const MAC_CHARS: Readonly<Record<string, number>> = { '0': 8, '1': 16 };
const MAC_KEYS = [KEY_USES.TAK, KEY_USES.ZAK];

/** M6. */
export function generateMac(command: CommandFields, lmk: TestLmk): string {
  const { mac } = readMac(command, lmk);
  command.end();
  return mac();
}

/** M8. @throws Refusal 01 for another MAC */
export function verifyMac(command: CommandFields, lmk: TestLmk): string {
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
