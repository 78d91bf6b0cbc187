import { toHex } from '../../src/bytes/hex.ts';
import type { OtherElement } from '../../src/iso8583/rows.ts';

/** A message as JSON: by name, text unchanged, bytes in upper-case hex. */
type JsonMessage = { readonly [name: string]: JsonValue };
type JsonValue = string | JsonMessage | readonly JsonElement[];

/** An element of `others`; the value of an unknown tag is hex. */
interface JsonElement {
  readonly at: number;
  readonly tag: string;
  readonly value: JsonValue;
}

/** The whole message as `messageFromJson` reads it. */
export function messageToJson(message: object): JsonMessage {
  return recordToJson(message);
}

function recordToJson(record: object): JsonMessage {
  const present = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, valueToJson(value)]));
}

function valueToJson(value: unknown): JsonValue {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return toHex(value);
  if (Array.isArray(value)) {
    return (value as OtherElement[]).map((element) => ({ ...element, value: valueToJson(element.value) }));
  }
  return recordToJson(value as object);
}
