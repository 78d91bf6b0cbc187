import type { Cursor } from '../../bytes/cursor.ts';
import {
  blocksOf,
  FIELDS_PER_BLOCK,
  headerField,
  type MessageBitmap,
  messageBitmap,
  mtiField,
  mtiReader,
  thirdBitmap,
} from '../bitmap.ts';
import { decodeError } from '../field-codec.ts';
import { matchesPattern } from '../message.ts';
import type { Field } from '../rows.ts';
import { derivedSpec, type Spec } from '../spec.ts';
import { NumberedMasks } from './mask-field.ts';
import type { Mask, MaskOf } from './mask-leaf.ts';

/** Follows the bytes of a message from field to field without creating values. */
export class MessageWalk {
  readonly #header: Mask | undefined;
  readonly #mti: Mask;
  readonly #bitmap: MessageBitmap;
  readonly #fields: NumberedMasks;
  readonly #layouts: readonly { readonly mti: string; readonly walk: MessageWalk }[];
  readonly #readMti: ReturnType<typeof mtiReader>;

  /** @param visitorOf creates what is done with a field; the paths of the first two are `header` and `mti` */
  constructor(spec: Spec, visitorOf: MaskOf<Field>) {
    const blocks = blocksOf(spec);
    const header = headerField(spec);
    this.#header = header && visitorOf(header, 'header');
    this.#mti = visitorOf(mtiField(spec), 'mti');
    this.#bitmap = messageBitmap(spec.bitmap, blocks);
    this.#fields = new NumberedMasks(
      spec.fields,
      '',
      blocks * FIELDS_PER_BLOCK,
      visitorOf,
      thirdBitmap(spec.bitmap, blocks),
    );
    this.#readMti = mtiReader(spec);
    this.#layouts = (spec.layouts ?? []).map((layout) => ({
      mti: layout.mti,
      walk: new MessageWalk(derivedSpec(spec, layout), visitorOf),
    }));
  }

  /** @throws {Iso8583Error}, {TlvError} if the message cannot be followed to its end */
  walk(cursor: Cursor): void {
    const other = this.#layouts.length === 0 ? undefined : this.#walkOf(cursor);
    if (other === undefined) this.#walkFields(cursor);
    else other.#walkFields(cursor);
  }

  /** The walk of the layout that the message has; undefined if it has none. */
  #walkOf(cursor: Cursor): MessageWalk | undefined {
    const mti = this.#readMti(cursor.bytes, cursor.position, cursor.end);
    return mti === undefined ? undefined : this.#layouts.find((each) => matchesPattern(mti, each.mti))?.walk;
  }

  #walkFields(cursor: Cursor): void {
    this.#header?.(cursor);
    this.#mti(cursor);
    this.#bitmap.read(cursor, this.#fields.bits);
    this.#fields.mask(cursor);
    if (cursor.position < cursor.end) throw decodeError('TRAILING_BYTES', 'message', cursor.position, cursor);
  }
}
