import type { MacFunction, MacMethod } from '../crypto/mac.ts';
import type { Spec } from '../iso8583/spec.ts';
import type { IsoMessage } from './iso-message.ts';

/**
 * Readies the key of that id for MACs; the key itself stays where it is. Called once per key when a line is opened, so
 * that computing a MAC is synchronous: it stands between a message and its socket.
 */
export type MacKeys = (keyId: string, method: MacMethod) => MacFunction;

/** A key made ready, with the number by which messages name it. */
export interface NumberedMacKey {
  readonly number: number;
  readonly mac: MacFunction;
}

/** The MAC keys of a line as they are at this moment: the first makes MACs, each of them checks. */
export interface MacKeySet {
  readonly keys: readonly NumberedMacKey[];
}

/** How a dialect authenticates its messages (DE64, DE128). */
export interface MacRule<Message extends IsoMessage = IsoMessage> {
  readonly method: MacMethod;
  /** The field, by name. It is binary, of fixed length, and the last one of a message (ISO 8583:1987 4.3.14). */
  readonly field: string;
  readonly lengthBytes: number;
  /** The bytes that the MAC covers. `body` is the encoded message up to the MAC field. */
  covered(message: Message, body: Uint8Array): Uint8Array;
  /** The field's value from the number of the key and the whole MAC; it takes as much of it as it has room for. */
  compose(keyNumber: number, mac: Uint8Array): Uint8Array;
  /** Number of the key that made the field's value; undefined when the dialect does not carry one. */
  keyNumber(value: Uint8Array): number | undefined;
}

/**
 * Why MACs cannot be put where the rule says; undefined when they can. A codec writes them over the end of the message, so
 * nothing may stand behind the field, and its length on the wire must be known.
 */
export function macFault(
  spec: Spec,
  { field, lengthBytes }: Pick<MacRule, 'field' | 'lengthBytes'>,
): string | undefined {
  const last = spec.fields[Math.max(...Object.keys(spec.fields).map(Number))];
  if (last?.name !== field) return `${field} is not the last field`;
  const isBinary = last.kind === 'binary' && (last.encoding ?? spec.encodings.binary) === 'binary';
  if (!isBinary || last.prefix !== undefined) return `${field} is not binary and of fixed length`;
  return last.max === lengthBytes ? undefined : `${field} has another length than ${lengthBytes}`;
}
