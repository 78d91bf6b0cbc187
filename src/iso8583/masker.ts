import { Cursor } from '../bytes/cursor.ts';
import { Iso8583Error, TlvError } from '../errors.ts';
import { FIELDS_PER_BLOCK, type MessageBitmap, messageBitmap } from './bitmap.ts';
import { blocksOf, headerField } from './codec.ts';
import { decodeError } from './field-codec.ts';
import { numeric } from './fields.ts';
import { leafVisitor } from './leaves/leaf-codec.ts';
import type { Mask } from './masks/mask.ts';
import { NumberedMasks } from './masks/mask-composite.ts';
import { fieldMask } from './masks/mask-field.ts';
import { leafMask } from './masks/mask-leaf.ts';
import type { Spec } from './spec.ts';

/** A compiled spec that processes the bytes of messages without creating values. */
export interface Masker {
  /**
   * A copy of the message from `start` to `end` in which everything that `messageRows` withholds is overwritten. Its
   * length is unchanged, and its description is the same. Use it only for messages that the codec of the same spec
   * has read or written: in others the fields may have other positions.
   *
   * @returns undefined if the message cannot be followed to its end
   */
  mask(bytes: Uint8Array, start?: number, end?: number): Uint8Array | undefined;
}

const MASKERS = new WeakMap<Spec, Masker>();

/** The masker of a spec that `compileSpec` accepts; created once. */
export function maskerOf(spec: Spec): Masker {
  const known = MASKERS.get(spec);
  if (known !== undefined) return known;
  const masker = new MessageMasker(spec);
  MASKERS.set(spec, masker);
  return masker;
}

class MessageMasker implements Masker {
  readonly #header: Mask | undefined;
  readonly #mti: Mask;
  readonly #bitmap: MessageBitmap;
  readonly #fields: NumberedMasks;

  constructor(spec: Spec) {
    const { encodings } = spec;
    const blocks = blocksOf(spec);
    const header = headerField(spec);
    const mti = numeric({ name: 'mti', digits: 4, encoding: spec.mti.encoding });
    this.#header = header && leafMask(header, 'header', encodings);
    this.#mti = leafVisitor(mti, 'mti', encodings, (cursor, _from, to) => {
      cursor.position = to;
    });
    this.#bitmap = messageBitmap(spec.bitmap, blocks);
    this.#fields = new NumberedMasks(spec.fields, '', blocks * FIELDS_PER_BLOCK, (field, path) =>
      fieldMask(field, path, encodings),
    );
  }

  mask(bytes: Uint8Array, start = 0, end = bytes.length): Uint8Array | undefined {
    const copy = Buffer.allocUnsafe(end - start);
    copy.set(bytes.subarray(start, end));
    const cursor = new Cursor(copy, 0, copy.length);
    try {
      this.#header?.(cursor);
      this.#mti(cursor);
      this.#bitmap.read(cursor, this.#fields.bits);
      this.#fields.mask(cursor);
      if (cursor.position < cursor.end) throw decodeError('TRAILING_BYTES', 'message', cursor.position, cursor);
      return copy;
    } catch (error) {
      copy.fill(0); // the memory is shared with other copies
      if (error instanceof Iso8583Error || error instanceof TlvError) return undefined;
      throw error;
    }
  }
}
