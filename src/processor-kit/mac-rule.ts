import type { IsoMessage } from './processor.ts';

/** X9.9 is a DES-CBC MAC, retail is ISO 9797-1 algorithm 3. */
export type MacAlgorithm = 'x9.9' | 'retail' | 'aes-cmac';

/**
 * Computes a MAC with a key that stays where it is. Synchronous, because it stands between a message and its socket.
 * Gives 8 bytes (16 for AES); a rule takes as many as its field has room for.
 */
export type MacFunction = (keyId: string, algorithm: MacAlgorithm, data: Uint8Array) => Uint8Array;

/** How a dialect authenticates its messages (DE64, DE128). */
export interface MacRule<Message extends IsoMessage = IsoMessage> {
  readonly algorithm: MacAlgorithm;
  /** The field, by name. It is binary, fixed, and the last one of a message (ISO 8583:1987 4.3.14). */
  readonly field: string;
  readonly lengthBytes: number;
  /** The bytes that the MAC covers. `body` is the encoded message without the MAC field's own bytes. */
  covered(message: Message, body: Uint8Array): Uint8Array;
  /** The field's value from the number of the key and the MAC. */
  compose(keyNumber: number, mac: Uint8Array): Uint8Array;
  /** Number of the key that made the field's value; undefined when the dialect does not carry one. */
  keyNumber(value: Uint8Array): number | undefined;
}
