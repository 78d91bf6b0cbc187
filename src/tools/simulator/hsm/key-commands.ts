import { CryptoError } from '../../../basics/errors.ts';
import { fromHex, toHex } from '../../../codecs/bytes/hex.ts';
import { type BlockKey, hasOddParity, setOddParity, takeKey } from '../../../codecs/crypto/block-key.ts';
import { KCV_BYTES, kcv } from '../../../codecs/crypto/mac.ts';
import { unwrapTr31, wrapTr31 } from '../../../codecs/crypto/tr31.ts';
import {
  type CommandFields,
  decryptWithVariants,
  encryptWithVariants,
  KEY_USES,
  Refusal,
  refuseIf,
  type SimulatedKeyUse,
  type TestLmk,
  useOfType,
} from './test-lmk.ts';

/** The fields of a response, and 01 if the key had no odd parity. */
export interface KeyResponse {
  readonly errorCode: '00' | '01';
  readonly fields: string;
}

const LMK_SCHEMES: Readonly<Record<string, number>> = { Z: 8, U: 16, T: 24 };
const LONG_KCV_BYTES = 8;

/** A6. The Atalla variant and optional blocks are not simulated. */
export function importKey(command: CommandFields, lmk: TestLmk): KeyResponse {
  const { fields } = command;
  const keyType = fields.hex(3);
  const zmk = command.key();
  const received = command.key();
  const scheme = fields.text(1);
  command.lmkIdentifier();
  const attributes = command.hasDelimiter('#')
    ? { usage: fields.text(2), modeOfUse: fields.text(1), rest: fields.text(5) }
    : undefined;
  fields.end();
  refuseIf(attributes !== undefined && !/^\d\d[NS]00$/.test(attributes.rest), 'AA');
  const transport = lmk.open(zmk, KEY_USES.ZMK, '10');
  const { key, usage } = openReceived(received, transport);
  const keyUsage = usage ?? attributes?.usage;
  const use = lmk.form === 'keyBlock' ? useOfUsage(keyUsage, attributes?.modeOfUse) : useOfType(keyType);
  refuseIf(usage !== undefined && !use.usages.includes(usage), '28');
  return respondWithKey(key, use, scheme, lmk);
}

/** FA. */
export function translateZpk(command: CommandFields, lmk: TestLmk): KeyResponse {
  const zmk = command.key();
  const received = command.key();
  let scheme: string | undefined;
  let kcvBytes = LONG_KCV_BYTES;
  if (command.hasDelimiter(';')) {
    const [, lmkScheme, kcvType] = command.fields.text(3);
    scheme = lmkScheme;
    kcvBytes = kcvType === '1' ? KCV_BYTES : LONG_KCV_BYTES;
  }
  command.end();
  const { key } = openReceived(received, lmk.open(zmk, KEY_USES.ZMK, '10'));
  return respondWithKey(key, KEY_USES.ZPK, scheme, lmk, kcvBytes);
}

/** A8. @returns the key under the ZMK and its check value */
export function exportKey(command: CommandFields, lmk: TestLmk): string {
  const { fields } = command;
  const keyType = fields.hex(3);
  const zmk = command.key();
  const keyText = command.key();
  const scheme = fields.text(1);
  command.end();
  const transport = lmk.open(zmk, KEY_USES.ZMK, '10');
  const use = lmk.form === 'keyBlock' ? useOfUsage(keyText.substring(6, 8)) : useOfType(keyType);
  const key = lmk.open(keyText, use, '11');
  return wrapForExport(key, use, scheme, transport) + kcv(key);
}

/** BU. */
export function keyCheckValue(command: CommandFields, lmk: TestLmk): string {
  const { fields } = command;
  const typeCode = fields.text(2);
  const lengthFlag = fields.text(1);
  const keyText = command.key();
  let keyType = `0${typeCode}`;
  if (command.fields.peek(4).length === 4 && command.fields.peek(1) === ';' && typeCode === 'FF') {
    command.hasDelimiter(';');
    keyType = fields.hex(3);
  }
  let kcvBytes = LONG_KCV_BYTES;
  if (command.hasDelimiter(';')) kcvBytes = fields.text(3) === '001' ? KCV_BYTES : LONG_KCV_BYTES;
  command.end();
  const use = lmk.form === 'keyBlock' ? useOfUsage(keyText.substring(6, 8)) : useOfType(keyType);
  const key = lmk.open(keyText, use, '10');
  const expectedFlag = lmk.form === 'keyBlock' ? 'F' : String(key.lengthBytes / 8 - 1);
  refuseIf(lengthFlag !== expectedFlag, '05');
  return kcv(key, kcvBytes);
}

/** Opens a key under a ZMK: X, Y and 16 H are X9.17, U and T have variants, R is TR-31. */
function openReceived(text: string, zmk: BlockKey): { key: BlockKey; usage?: string } {
  const scheme = text[0]!;
  if (scheme === 'R') return openTr31(text.substring(1), zmk);
  refuseIf(scheme === 'S', '26');
  const hasScheme = text.length % 2 === 1;
  const bytes = fromHex(hasScheme ? text.substring(1) : text);
  const hasVariants = scheme === 'U' || scheme === 'T';
  const clear = hasVariants ? zmk.useBytes((key) => decryptWithVariants(key, bytes)) : zmk.decrypt(bytes);
  return { key: takeKey('tdes', clear) };
}

function openTr31(block: string, zmk: BlockKey): { key: BlockKey; usage: string } {
  try {
    const { key, keyUsage } = unwrapTr31(block, zmk);
    return { key, usage: keyUsage };
  } catch (error) {
    if (!(error instanceof CryptoError)) throw error;
    throw new Refusal(error.code === 'KEY_BLOCK_MAC' ? 'A4' : '83');
  }
}

function wrapForExport(key: BlockKey, { usages, modeOfUse }: SimulatedKeyUse, scheme: string, zmk: BlockKey): string {
  if (scheme === 'R') {
    const version = zmk.algorithm === 'aes' ? 'D' : 'B';
    const algorithm = key.algorithm === 'aes' ? 'A' : 'T';
    const [keyUsage] = usages;
    return `R${wrapTr31(key, { version, keyUsage, algorithm, modeOfUse, keyVersion: '00', exportability: 'N' }, zmk)}`;
  }
  const lengthBytes = { Z: 8, '0': 8, U: 16, X: 16, T: 24, Y: 24 }[scheme];
  refuseIf(lengthBytes !== key.lengthBytes, '26');
  const hasVariants = scheme === 'U' || scheme === 'T';
  const bytes = key.useBytes((clear) =>
    hasVariants ? zmk.useBytes((wrapping) => encryptWithVariants(wrapping, clear)) : zmk.encrypt(clear),
  );
  return (key.lengthBytes === 8 ? '' : scheme) + toHex(bytes);
}

/** Forces odd parity on a TDES key, and reports with 01 that it had another one. */
function respondWithKey(
  received: BlockKey,
  use: SimulatedKeyUse,
  scheme: string | undefined,
  lmk: TestLmk,
  kcvBytes = KCV_BYTES,
): KeyResponse {
  const isFit =
    lmk.form === 'keyBlock' ? scheme === 'S' : scheme === undefined || LMK_SCHEMES[scheme] === received.lengthBytes;
  refuseIf(!isFit, scheme !== undefined && Object.hasOwn(LMK_SCHEMES, scheme) ? '27' : '26');
  const hasParity = received.algorithm === 'aes' || received.useBytes(hasOddParity);
  const key = hasParity ? received : received.useBytes(withOddParity);
  return { errorCode: hasParity ? '00' : '01', fields: lmk.protect(key, use) + kcv(key, kcvBytes) };
}

function withOddParity(bytes: Uint8Array): BlockKey {
  const corrected = Uint8Array.from(bytes);
  setOddParity(corrected);
  return takeKey('tdes', corrected);
}

/** @throws Refusal A6 */
function useOfUsage(usage: string | undefined, modeOfUse?: string): SimulatedKeyUse {
  const use = Object.values<SimulatedKeyUse>(KEY_USES).find(
    ({ usages }) => usage !== undefined && usages.includes(usage),
  );
  if (usage === undefined || use === undefined) throw new Refusal('A6');
  return { ...use, usages: [usage, ...use.usages], modeOfUse: modeOfUse ?? use.modeOfUse };
}
