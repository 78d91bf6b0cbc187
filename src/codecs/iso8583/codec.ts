import { Iso8583Error } from '../../basics/errors/codec-errors.ts';
import { Cursor } from '../bytes/cursor.ts';
import { newRecord, type PlainRecord } from '../bytes/record.ts';
import { Scratch, Sink } from '../bytes/sink.ts';
import {
  blocksOf,
  countBits,
  FIELDS_PER_BLOCK,
  headerField,
  type MessageBitmap,
  messageBitmap,
  mtiField,
  mtiReader,
  thirdBitmap,
} from './bitmap.ts';
import { compileField } from './compile-field.ts';
import { type CompileField, NumberedFields } from './composites/numbered-fields.ts';
import { decodeError, encodeError, type FieldCodec } from './field-codec.ts';
import { leafCodec } from './leaves/leaf-codec.ts';
import { matchesPattern } from './message.ts';
import { type CheckRules, compileRules } from './rules.ts';
import { derivedSpec, type MessageOf, type Spec } from './spec.ts';
import { fieldsAfterFault } from './wire-fields.ts';

/** The longest message to read or write: a field of LLLLLL reaches 999,999 bytes, and no switch sends two. */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** The first size that `toBytes` tries; card messages seldom reach a quarter of it. */
const FIRST_TARGET_BYTES = 4_096;

/** A compiled spec. It keeps no state of a message between two calls. */
export interface Codec<Message> {
  /** The spec that it was compiled from. */
  readonly spec: Spec;
  /**
   * Writes `message` into `target` at `offset`, bitmaps and lengths included, without allocating.
   *
   * @returns the offset after the last byte written
   * @throws {Iso8583Error} if a value does not fit its field or the message does not fit the target; then the
   * written bytes are not a message
   */
  encode(message: Message, target: Uint8Array, offset: number): number;
  /** Encodes into a new array. */
  toBytes(message: Message): Uint8Array;
  /**
   * Reads the message that occupies `start` to `end` completely. Every field is checked and decoded. Binary values
   * are views of `bytes`, so do not overwrite these while the message is in use. Text of 13 characters and more is
   * cut from the text of the whole message, which stays in memory as long as such a text.
   *
   * @throws {Iso8583Error} with the field, the offset from `start`, and what was decoded before
   */
  decode(bytes: Uint8Array, start?: number, end?: number): Message;
}

/**
 * Creates the codec of a spec: each field becomes a closure with its place, its lengths and its tables.
 *
 * @throws {Iso8583Error} SPEC_INVALID if the spec is not usable
 */
export function compileSpec<S extends Spec>(spec: S): Codec<MessageOf<S>> {
  const codec = new MessageCodec(spec);
  if (spec.layouts?.length) return layoutCodec(spec, codec) as Codec<MessageOf<S>>;
  return {
    spec,
    encode: (message, target, offset) => codec.encode(message, target, offset),
    toBytes: (message) => codec.toBytes(message),
    decode: (bytes, start = 0, end = bytes.length) => codec.decode(bytes, start, end) as MessageOf<S>,
  };
}

/** Chooses the codec of a message for the MTI that it has. */
function layoutCodec(spec: Spec, base: MessageCodec): Codec<unknown> {
  const layouts = spec.layouts!.map((layout) => ({
    mti: layout.mti,
    codec: new MessageCodec(derivedSpec(spec, layout)),
  }));
  const codecOf = (mti: unknown) =>
    (typeof mti === 'string' ? layouts.find((each) => matchesPattern(mti, each.mti))?.codec : undefined) ?? base;
  const readMti = mtiReader(spec);
  const mtiOf = (message: unknown) => (message as { readonly mti?: unknown } | null)?.mti;
  return {
    spec,
    encode: (message, target, offset) => codecOf(mtiOf(message)).encode(message, target, offset),
    toBytes: (message) => codecOf(mtiOf(message)).toBytes(message),
    decode(bytes, start = 0, end = bytes.length) {
      const isInside = start >= 0 && start <= end && end <= bytes.length;
      return (isInside ? codecOf(readMti(bytes, start, end)) : base).decode(bytes, start, end);
    },
  };
}

class MessageCodec {
  readonly #spec: Spec;
  readonly #fields: NumberedFields;
  readonly #bitmap: MessageBitmap;
  readonly #mti: FieldCodec;
  readonly #header: FieldCodec | undefined;
  readonly #checkRules: CheckRules | undefined;
  readonly #scratch = new Scratch(FIRST_TARGET_BYTES, MAX_MESSAGE_BYTES);

  constructor(spec: Spec) {
    this.#spec = spec;
    const blocks = blocksOf(spec);
    const { encodings } = spec;
    const compile: CompileField = (field, path) => compileField(field, path, encodings);
    const apart = headerField(spec) === undefined ? ['mti'] : ['mti', 'header'];
    this.#fields = new NumberedFields(
      spec.fields,
      '',
      blocks * FIELDS_PER_BLOCK,
      compile,
      apart,
      thirdBitmap(spec.bitmap, blocks),
    );
    this.#bitmap = messageBitmap(spec.bitmap, blocks);
    this.#mti = leafCodec(mtiField(spec), 'mti', encodings);
    this.#header = headerCodec(spec);
    this.#checkRules = spec.rules?.length ? compileRules(spec.rules, spec.fields) : undefined;
  }

  encode(message: unknown, target: Uint8Array, offset: number): number {
    if (!(offset >= 0)) throw new RangeError('the offset is negative');
    const sink = new Sink(target, offset, Math.min(target.length, offset + MAX_MESSAGE_BYTES));
    if (typeof message !== 'object' || message === null) throw encodeError('VALUE_TYPE', 'message', offset, sink);
    const record = message as PlainRecord;
    const fields = this.#fields;
    const breach = this.#checkRules?.(record);
    if (breach !== undefined) throw encodeError(breach.code, breach.path, offset, sink);
    try {
      if (this.#header !== undefined) this.#header.encode(record.header, sink);
      this.#mti.encode(record.mti, sink);
      fields.take(record, sink);
      this.#bitmap.write(sink, fields.bits);
      fields.encode(sink);
    } catch (error) {
      fields.forget();
      throw error;
    }
    return sink.position;
  }

  toBytes(message: unknown): Uint8Array {
    return this.#scratch.copyOf((target) => this.encode(message, target, 0), isTargetTooSmall);
  }

  decode(bytes: Uint8Array, start: number, end: number): PlainRecord {
    const cursor = messageCursor(bytes, start, end);
    const fields = this.#fields;
    let record: PlainRecord | undefined;
    let header: unknown;
    let mti: unknown;
    try {
      if (this.#header !== undefined) header = this.#header.decode(cursor);
      mti = this.#mti.decode(cursor);
      this.#bitmap.read(cursor, fields.bits);
      record = newRecord(countBits(fields.bits) + 2);
      if (header !== undefined) record.header = header;
      record.mti = mti;
      const last = fields.decode(cursor, record);
      if (cursor.position < end) {
        throw decodeError('TRAILING_BYTES', last === 0 ? 'bitmap' : String(last), cursor.position, cursor);
      }
      const breach = this.#checkRules?.(record);
      if (breach !== undefined) throw decodeError(breach.code, breach.path, end, cursor);
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
      const later = record === undefined ? {} : fieldsAfterFault(this.#spec, bytes.subarray(start, end));
      throw error.withPartial({ ...later, ...(record ?? { header, mti }) });
    }
    return record;
  }
}

function isTargetTooSmall(error: unknown): boolean {
  return error instanceof Iso8583Error && error.code === 'TARGET_TOO_SMALL';
}

function messageCursor(bytes: Uint8Array, start: number, end: number): Cursor {
  if (start < 0 || start > end || end > bytes.length) throw new RangeError('start and end are not inside the bytes');
  const cursor = new Cursor(bytes, start, end);
  if (end - start > MAX_MESSAGE_BYTES) throw decodeError('MESSAGE_TOO_LONG', 'message', start, cursor);
  return cursor;
}

function headerCodec(spec: Spec): FieldCodec | undefined {
  const field = headerField(spec);
  return field && leafCodec(field, 'header', spec.encodings);
}
