import { Iso8583Error, TlvError } from '../../basics/errors/codec-errors.ts';
import { Cursor } from '../bytes/cursor.ts';
import { fieldMask } from './masks/mask-field.ts';
import { MessageWalk } from './masks/message-walk.ts';
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
  readonly #walk: MessageWalk;

  constructor(spec: Spec) {
    this.#walk = new MessageWalk(spec, (field, path) => fieldMask(field, path, spec.encodings));
  }

  mask(bytes: Uint8Array, start = 0, end = bytes.length): Uint8Array | undefined {
    const copy = Buffer.allocUnsafe(end - start);
    copy.set(bytes.subarray(start, end));
    const cursor = new Cursor(copy, 0, copy.length);
    try {
      this.#walk.walk(cursor);
      return copy;
    } catch (error) {
      copy.fill(0); // the memory is shared with other copies
      if (error instanceof Iso8583Error || error instanceof TlvError) return undefined;
      throw error;
    }
  }
}
