import { commandBody, type FieldReader, type HostCommand, type Lmk, lmkField } from '../host-command.ts';

/** Every translation limits a PIN to this length (CA and CC, Maximum PIN Length, value 12). */
const MAXIMUM_PIN_LENGTH = '12';
/** An enciphered PIN block under a TDES key (16 H). */
const PIN_BLOCK_CHARS = 16;

/**
 * PIN Block Format codes (2 N) of ISO 9564 formats. Sources: 01 and 05 in the PIN block list of the Thales Simulator
 * Library; 47 in public payShield 10K clients.
 *
 * Format 4 is missing on purpose. Public clients name code 48 for it, but no public source states how CC and G0 carry its
 * block of 32 H and the whole PAN.
 */
export const PIN_FORMAT_CODES = { 0: '01', 1: '05', 3: '47' } as const;

type ShortPinFormatCode = (typeof PIN_FORMAT_CODES)[keyof typeof PIN_FORMAT_CODES];

/** The fields that all PIN translations share. */
interface PinFields {
  readonly lmk: Lmk;
  /** The ZPK of the next hop under the LMK. */
  readonly destinationKey: string;
  /** 16 hex digits. */
  readonly block: string;
  readonly destinationFormat: ShortPinFormatCode;
  /** The 12 rightmost digits of the PAN without the check digit. */
  readonly accountNumber: string;
}

export interface TranslateZonePin extends PinFields {
  /** A TPK is translated by CA, a ZPK by CC. */
  readonly sourceType: 'TPK' | 'ZPK';
  readonly sourceKey: string;
  readonly sourceFormat: ShortPinFormatCode;
}

/**
 * CA (Translate a PIN from TPK to ZPK Encryption) and CC (Translate a PIN from One ZPK to Another): source key,
 * destination ZPK, Maximum PIN Length, Source PIN Block, source and destination format, Account Number.
 *
 * @returns the PIN block under the destination key, 16 hex digits
 */
export function translateZonePin(request: TranslateZonePin): HostCommand<string> {
  const { lmk, sourceType, sourceKey, destinationKey, block, sourceFormat, destinationFormat, accountNumber } = request;
  return {
    code: sourceType === 'TPK' ? 'CA' : 'CC',
    body: commandBody(
      sourceKey,
      destinationKey,
      MAXIMUM_PIN_LENGTH,
      block,
      sourceFormat,
      destinationFormat,
      accountNumber,
      lmkField(lmk),
    ),
    read: (fields) => readPinBlock(fields, destinationFormat),
  };
}

export interface TranslateDukptPin extends PinFields {
  readonly bdk: string;
  /** KSN Descriptor (3 H): how many digits of the KSN are key set id, sub-key id and device id. */
  readonly ksnDescriptor: string;
  /** 20 hex digits. */
  readonly ksn: string;
  readonly sourceFormat: ShortPinFormatCode;
  /** If the destination is a BDK: the KSN of the translated block, with the same descriptor. */
  readonly destinationKsn?: string | undefined;
}

/** Destination Key Flag of a BDK-1. A key block states its use, so there it is omitted. */
const DESTINATION_IS_BDK = '*';

/**
 * G0 (Translate a PIN from BDK to BDK or ZPK Encryption, Triple-DES DUKPT): BDK, Destination Key Flag, ZPK or destination
 * BDK, KSN Descriptor, KSN, for a BDK the destination's KSN Descriptor and KSN, source PIN block, source and destination
 * format, Account Number.
 *
 * @returns the PIN block under the destination key, 16 hex digits
 */
export function translateDukptPin(request: TranslateDukptPin): HostCommand<string> {
  const { lmk, bdk, destinationKey, ksnDescriptor, ksn, destinationKsn, block, destinationFormat } = request;
  const isToDukpt = destinationKsn !== undefined;
  return {
    code: 'G0',
    body: commandBody(
      bdk,
      isToDukpt && lmk.form === 'variant' ? DESTINATION_IS_BDK : '',
      destinationKey,
      ksnDescriptor,
      ksn,
      isToDukpt ? ksnDescriptor + destinationKsn : '',
      block,
      request.sourceFormat,
      destinationFormat,
      request.accountNumber,
      lmkField(lmk),
    ),
    read: (fields) => readPinBlock(fields, destinationFormat),
  };
}

/** PIN Length (2 N), the PIN block (16 H), its format code (2 N). */
function readPinBlock(fields: FieldReader, format: string): string {
  fields.digits(2);
  const block = fields.hex(PIN_BLOCK_CHARS);
  fields.literal(format);
  fields.end();
  return block;
}
