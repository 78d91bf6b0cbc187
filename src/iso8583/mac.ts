import { isSameMac, type MacFunction } from '../crypto/mac.ts';
import { Iso8583Error } from '../errors.ts';
import type { Codec } from './codec.ts';
import type { FieldSpan } from './composites/numbered-fields.ts';
import { byteCoding } from './encodings/bytes.ts';
import { specError } from './field-codec.ts';
import type { BinaryField } from './rows.ts';
import type { Spec } from './spec.ts';

/**
 * What a MAC covers: all bytes in front of it (ISO 8583:1987 4.3.14), or these fields one behind the other in order of
 * their numbers, each with the length in front of it. A field that is absent is left out.
 */
export type MacCover = 'preceding' | readonly number[];

export interface MacOptions {
  /** Number of the field: 64, 128 or 192, whichever is the last of the dialect's messages. */
  readonly field: number;
  readonly cover?: MacCover;
  readonly mac: MacFunction;
  /** The field's value from the whole MAC; its leftmost bytes when absent. Dialects put a key number in front. */
  readonly compose?: (mac: Uint8Array) => Uint8Array;
}

/** `absent`: a message without the field, which is none that may be trusted where MACs are agreed. */
export type MacVerdict = 'good' | 'bad' | 'absent';

export interface MacCodec<Message> {
  /**
   * `codec.encode` with the MAC in its field, whatever the message has there.
   *
   * @throws {Iso8583Error} FIELD_FORBIDDEN when a field stands behind the MAC, and as `codec.encode` does
   */
  encode(message: Message, target: Uint8Array, offset: number): number;
  /** Whether the MAC of received bytes is right, in a time that does not depend on where it differs. */
  verify(bytes: Uint8Array, start?: number, end?: number): MacVerdict;
}

/**
 * Puts MACs into the messages of a codec and checks them.
 *
 * @throws {Iso8583Error} SPEC_INVALID when the field is not binary and of fixed length
 */
export function macCodec<Message extends object>(
  spec: Spec,
  codec: Codec<Message>,
  { field: number, cover = 'preceding', mac, compose }: MacOptions,
): MacCodec<Message> {
  const field = macField(spec, number);
  const coding = byteCoding(field.encoding ?? spec.encodings.binary);
  const wireBytes = coding.wireBytes(field.max);
  const blank = new Uint8Array(field.max);
  const value = compose ?? ((whole: Uint8Array) => whole.subarray(0, field.max));

  function macOf(bytes: Uint8Array, start: number, macStart: number, spans: () => FieldSpan[]): Uint8Array {
    const covered = cover === 'preceding' ? bytes.subarray(start, macStart) : join(bytes, cover, spans());
    const composed = value(mac(covered));
    if (composed.length !== field.max) throw new Iso8583Error('LENGTH_INVALID', String(number), macStart - start);
    return composed;
  }

  return {
    encode(message, target, offset) {
      if (hasFieldBehind(spec, number, message)) throw new Iso8583Error('FIELD_FORBIDDEN', String(number), 0);
      const end = codec.encode({ ...message, [field.name]: blank }, target, offset);
      const macStart = end - wireBytes;
      const spans = () => codec.locate(target, offset, end);
      coding.write(macOf(target, offset, macStart, spans), target, macStart);
      return end;
    },
    verify(bytes, start = 0, end = bytes.length) {
      const spans = codec.locate(bytes, start, end);
      const last = spans.at(-1);
      if (last?.number !== number) return 'absent';
      const received = codec.decode(bytes, start, end)[field.name as keyof Message] as Uint8Array;
      return isSameMac(
        macOf(bytes, start, last.start, () => spans),
        received,
      )
        ? 'good'
        : 'bad';
    },
  };
}

function macField(spec: Spec, number: number): BinaryField {
  const field = spec.fields[number];
  if (field?.kind !== 'binary' || field.prefix !== undefined) {
    throw specError(String(number), 'a MAC is binary and of fixed length');
  }
  return field;
}

/** Whether the message has a field with a greater number, which the MAC would not be behind. */
function hasFieldBehind(spec: Spec, number: number, message: object): boolean {
  return Object.entries(spec.fields).some(
    ([key, { name }]) => Number(key) > number && (message as Record<string, unknown>)[name] !== undefined,
  );
}

function join(bytes: Uint8Array, numbers: readonly number[], spans: readonly FieldSpan[]): Uint8Array {
  const chosen = spans.filter(({ number }) => numbers.includes(number));
  return Buffer.concat(chosen.map(({ start, end }) => bytes.subarray(start, end)));
}
