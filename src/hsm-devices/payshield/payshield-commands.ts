import {
  commandBody,
  type FieldReader,
  type HostCommand,
  type KeyType,
  keyLengthBytes,
  keyTypeField,
  type Lmk,
  lmkField,
  readKeyField,
} from './host-command.ts';

export interface Diagnostics {
  /** Check value of the default local master key, 16 hex digits. */
  readonly lmkCheckValue: string;
  /** `0007-E000`. */
  readonly firmware: string;
}

/** NC (Perform Diagnostics): no fields. Response: LMK Check (16 H), Firmware Number (9 A). */
export function diagnostics(): HostCommand<Diagnostics> {
  return {
    code: 'NC',
    body: commandBody(),
    read(fields) {
      const lmkCheckValue = fields.hex(16);
      const firmware = fields.text(9);
      fields.end();
      return { lmkCheckValue, firmware };
    },
  };
}

interface DeviceStatus {
  readonly ioBufferBytes: number;
  readonly tcpSockets: number;
  readonly firmware: string;
}

const BUFFER_BYTES: Readonly<Record<string, number>> = { '0': 2_048, '1': 8_192, '2': 16_384, '3': 32_768 };
/** I/O buffer size (1 N), Ethernet type (1 N), sockets, Firmware Number (9 A), two reserved fields (1 and 4). */
const CHARS_BESIDE_SOCKETS = 16;

/**
 * NO (HSM Status), Mode Flag 00. The number of TCP sockets has 2 digits, and 4 since payShield 10K firmware 1.8a; its length
 * follows from that of the response.
 */
export function deviceStatus(): HostCommand<DeviceStatus> {
  return {
    code: 'NO',
    body: commandBody('00'),
    read(fields) {
      const ioBufferBytes = BUFFER_BYTES[fields.text(1)] ?? 0;
      fields.text(1);
      const socketDigits = fields.peek(CHARS_BESIDE_SOCKETS + 4).length - (CHARS_BESIDE_SOCKETS - 2);
      const tcpSockets = Number(fields.digits(socketDigits));
      const firmware = fields.text(9);
      fields.text(5);
      fields.end();
      return { ioBufferBytes, tcpSockets, firmware };
    },
  };
}

/** B2 (Echo Command): Length (4 H), Message Data. The device returns the data. */
export function echo(data: string): HostCommand<void> {
  const length = data.length.toString(16).toUpperCase().padStart(4, '0');
  return {
    code: 'B2',
    body: commandBody(length, data),
    read(fields) {
      fields.literal(data);
      fields.end();
    },
  };
}

/** Mode Flag 0: the only block of a single-block message. */
const ONLY_BLOCK = '0';
/** Input Format Flag 0: binary. */
const BINARY = '0';
/** MAC Size: 0 for 8 hex digits, 1 for 16. One public source has 4 hex digits for 1; a response of that length is refused. */
const MAC_SIZES = { 4: '0', 8: '1' } as const;

/** Message Length has 4 hex digits, but the I/O buffer of a device has at most 32 KB (NO, I/O buffer size). */
export const MAX_MAC_MESSAGE_BYTES = 30_000;

export interface MacFields {
  readonly lmk: Lmk;
  readonly keyType: KeyType;
  readonly key: string;
  /**
   * MAC Algorithm: 1 is ISO 9797 MAC algorithm 1, 3 is algorithm 3 (ANSI X9.19). Both are for DES keys. The digits of CMAC
   * and of AES MACs are in no public source.
   */
  readonly algorithm: '1' | '3';
  /** Padding Method: 1 and 2 are those of ISO 9797. */
  readonly padding: '1' | '2';
  readonly message: Uint8Array;
  readonly macBytes: 4 | 8;
}

/**
 * M6 (Generate MAC): Mode Flag, Input Format Flag, MAC Size, MAC Algorithm, Padding Method, Key Type, Key, Message
 * Length (4 H), Message.
 *
 * @returns hex digits
 */
export function generateMac(request: MacFields): HostCommand<string> {
  return {
    code: 'M6',
    body: commandBody(...fieldsOf(request), lmkField(request.lmk)),
    read(fields: FieldReader) {
      const mac = fields.hex(2 * request.macBytes);
      fields.end();
      return mac;
    },
  };
}

/** The error code of M9 if the MAC is another one (M8, MAC verification failed). */
const VERIFICATION_FAILED = '01';

/** M8 (Verify MAC): the fields of M6, then the MAC. */
export function verifyMac(request: MacFields, mac: string): HostCommand<boolean> {
  return {
    code: 'M8',
    body: commandBody(...fieldsOf(request), mac, lmkField(request.lmk)),
    readableErrors: [VERIFICATION_FAILED],
    read(fields: FieldReader, errorCode: string) {
      fields.end();
      return errorCode !== VERIFICATION_FAILED;
    },
  };
}

function fieldsOf({ lmk, keyType, key, algorithm, padding, message, macBytes }: MacFields): (string | Uint8Array)[] {
  const flags = ONLY_BLOCK + BINARY + MAC_SIZES[macBytes] + algorithm + padding;
  const length = message.length.toString(16).toUpperCase().padStart(4, '0');
  return [flags, keyTypeField(lmk, keyType), key, length, message];
}

/** A key and its check value: the first 6 hex digits. */
export interface KeyResponse {
  /** The key, with its scheme. */
  readonly key: string;
  readonly kcv: string;
  readonly hasOddParity: boolean;
}

const KCV_CHARS = 6;
/** The error code of A7 for a key without odd parity. It is a warning: the fields of the response follow. */
const PARITY_WARNING = '01';

/** What the header of a new key block states if the imported key is a bare cryptogram (A6, fields after `#`). */
export interface KeyBlockAttributes {
  /** Key Usage (2 A), `P0`. */
  readonly usage: string;
  /** Mode of Use (1 A), `B`. */
  readonly modeOfUse: string;
}

export interface ImportKey {
  readonly lmk: Lmk;
  readonly keyType: KeyType;
  readonly zmk: string;
  /** The key under the ZMK: `X`, `Y` or no scheme for X9.17, `R` for TR-31. */
  readonly key: string;
  /** Key Scheme (LMK), 1 A. */
  readonly scheme: string;
  /** Required for a bare cryptogram under a key block LMK. */
  readonly attributes?: KeyBlockAttributes | undefined;
}

/**
 * A6 (Import a Key): Key Type, ZMK, Key (ZMK), Key Scheme (LMK), LMK Identifier, then for a bare cryptogram under a key block
 * LMK the delimiter `#`, Key Usage, Mode of Use, Key Version Number 00, Exportability N and no optional blocks.
 *
 * @returns the key under the LMK; undefined if the device refused a key without odd parity
 */
export function importKey(request: ImportKey): HostCommand<KeyResponse | undefined> {
  const { lmk, keyType, zmk, key, scheme, attributes } = request;
  const header = attributes === undefined ? '' : `#${attributes.usage}${attributes.modeOfUse}00N00`;
  return {
    code: 'A6',
    body: commandBody(keyTypeField(lmk, keyType), zmk, key, scheme, lmkField(lmk), header),
    readableErrors: [PARITY_WARNING],
    read: readKeyResponse,
  };
}

function readKeyResponse(fields: FieldReader, errorCode: string): KeyResponse | undefined {
  const hasOddParity = errorCode !== PARITY_WARNING;
  if (!hasOddParity && fields.isAtEnd) return undefined;
  const key = readKeyField(fields);
  const kcv = fields.hex(KCV_CHARS);
  fields.end();
  return { key, kcv, hasOddParity };
}

/** Key Type Code FF: the field Key Type follows after a delimiter. */
const TYPE_FOLLOWS = 'FF';
/** Reserved (2 A, 00) and Key Check Value Type 1: 6 H. */
const SHORT_KCV = '001';
/** Key Length Flag: single, double or triple length, or a key block. */
const LENGTH_FLAGS: Readonly<Record<number, string>> = { 8: '0', 16: '1', 24: '2' };
const LENGTH_FLAG_OF_BLOCK = 'F';

interface KeyCheckValueFields {
  readonly lmk: Lmk;
  readonly keyType: KeyType;
  readonly key: string;
}

/**
 * BU (Generate a Key Check Value): Key Type Code, Key Length Flag, Key, `;` Key Type, `;` reserved and Key Check Value
 * Type.
 *
 * @returns 6 hex digits
 */
export function keyCheckValue({ lmk, keyType, key }: KeyCheckValueFields): HostCommand<string> {
  const lengthFlag = LENGTH_FLAGS[keyLengthBytes(key) ?? 0] ?? LENGTH_FLAG_OF_BLOCK;
  return {
    code: 'BU',
    body: commandBody(TYPE_FOLLOWS, lengthFlag, key, `;${keyTypeField(lmk, keyType)};${SHORT_KCV}`, lmkField(lmk)),
    read(fields) {
      const kcv = fields.hex(6);
      fields.end();
      return kcv;
    },
  };
}

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

interface TranslateZonePin extends PinFields {
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

interface TranslateDukptPin extends PinFields {
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
