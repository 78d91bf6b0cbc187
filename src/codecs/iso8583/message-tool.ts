import type { Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { fromHex, toHex } from '../bytes/hex.ts';
import { compileSpec } from './codec.ts';
import { type DescribeOptions, type MessageRow, messageRows } from './describe.ts';
import { type Difference, diffMessages } from './diff.ts';
import { type JsonMessage, messageFromJson, messageToJson } from './message-json.ts';
import type { Spec } from './spec.ts';
import { decodeCaptured } from './strip-frame.ts';

/**
 * What `tapwire decode`, `encode` and `diff` do, and the console's page in a browser: nothing here needs Node or the
 * gateway.
 */

/** A message as people read it. */
export interface ReadMessage {
  /** What preceded the message. */
  readonly skipped: readonly { readonly what: string; readonly hex: string }[];
  /** What `encodeJson` reads; withheld values are null. Undefined for bytes that do not decode. */
  readonly message: JsonMessage | undefined;
  /** The fields; those before the fault if there is one. */
  readonly fields: readonly MessageRow[];
  readonly error: Iso8583Error | undefined;
}

export function readMessage(spec: Spec, bytes: Uint8Array, options?: DescribeOptions): ReadMessage {
  const { skipped, message, error } = decodeCaptured(compileSpec(spec), bytes);
  return {
    skipped: skipped.map(({ what, bytes: before }) => ({ what, hex: toHex(before) })),
    message: message && messageToJson(spec, message, options),
    fields: messageRows(spec, message ?? error?.partial ?? {}, options),
    error,
  };
}

/**
 * The bytes of a message in hex.
 *
 * @param json a message by field names, or the document of `tapwire decode --json` that contains one
 * @throws Iso8583Error
 */
export function encodeJson(spec: Spec, json: unknown): string {
  const isDocument = typeof json === 'object' && json !== null && 'message' in json && 'fields' in json;
  return toHex(compileSpec(spec).toBytes(messageFromJson(spec, isDocument ? json.message : json)));
}

/** Where two messages differ. @throws Iso8583Error if one does not decode */
export function compareMessages(
  spec: Spec,
  before: Uint8Array,
  after: Uint8Array,
  options?: DescribeOptions,
): Difference[] {
  const codec = compileSpec(spec);
  const [one, other] = [before, after].map((bytes) => {
    const { message, error } = decodeCaptured(codec, bytes);
    if (error !== undefined) throw error;
    return message;
  });
  return diffMessages(spec, one!, other!, options);
}

/** Hex with blanks and line breaks. @throws DigitError */
export function bytesOfHex(text: string): Uint8Array {
  return fromHex(text.replace(/\s+/g, ''));
}
