import { commandBody, type FieldReader, type HostCommand, type Lmk, lmkField } from '../host-command.ts';
import { type KeyType, keyTypeField } from '../key-field.ts';

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
