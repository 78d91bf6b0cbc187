import type { MacFunction, MacMethod } from '../crypto/mac.ts';
import type { Spec } from '../iso8583/spec.ts';
import type { IsoMessage } from './iso-message.ts';

/**
 * Prepares the key with that id for MACs; the key itself stays in the HSM. Called once per key when a connection is
 * opened, because computing a MAC must be synchronous: it happens between encoding a message and writing it.
 */
export type MacKeys = (keyId: string, method: MacMethod) => MacFunction;

/** A prepared key, with the number that identifies it in messages. */
export interface NumberedMacKey {
  readonly number: number;
  readonly mac: MacFunction;
}

/** The MAC keys that are currently valid for a switch. The first key makes MACs; each key can verify them. */
export interface MacKeySet {
  readonly keys: readonly NumberedMacKey[];
}

/** How a dialect authenticates its messages (DE64, DE128). */
export interface MacRule<Message extends IsoMessage = IsoMessage> {
  readonly method: MacMethod;
  /** Name of the field. It is binary, of fixed length, and the last one of a message (ISO 8583:1987 4.3.14). */
  readonly field: string;
  readonly lengthBytes: number;
  /** The bytes that the MAC covers. `body` is the encoded message up to the MAC field. */
  covered(message: Message, body: Uint8Array): Uint8Array;
  /** The field's value, from the key number and the whole MAC; the MAC is truncated to the length of the field. */
  compose(keyNumber: number, mac: Uint8Array): Uint8Array;
  /** Number of the key that made the field's value; undefined if the dialect does not carry one. */
  keyNumber(value: Uint8Array): number | undefined;
}

/**
 * Why a MAC cannot be written where the rule places it; undefined if it can. A codec writes the MAC over the end of the
 * message, so the field must be the last one and have a fixed length.
 */
export function macFault(
  spec: Spec,
  { field, lengthBytes }: Pick<MacRule, 'field' | 'lengthBytes'>,
): string | undefined {
  const last = spec.fields[Math.max(...Object.keys(spec.fields).map(Number))];
  if (last?.name !== field) return `${field} is not the last field`;
  const isBinary = last.kind === 'binary' && (last.encoding ?? spec.encodings.binary) === 'binary';
  if (!isBinary || last.prefix !== undefined) return `${field} is not binary with a fixed length`;
  return last.max === lengthBytes ? undefined : `${field} must have ${lengthBytes} bytes`;
}
