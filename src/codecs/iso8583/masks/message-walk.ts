import type { Cursor } from '../../bytes/cursor.ts';
import { FIELDS_PER_BLOCK, type MessageBitmap, messageBitmap } from '../bitmap.ts';
import { decodeError } from '../field-codec.ts';
import { numeric } from '../fields.ts';
import { blocksOf, headerField } from '../message-layout.ts';
import type { Field } from '../rows.ts';
import type { Spec } from '../spec.ts';
import type { Mask, MaskOf } from './mask.ts';
import { NumberedMasks } from './mask-composite.ts';

/** Follows the bytes of a message from field to field without creating values. */
export class MessageWalk {
  readonly #header: Mask | undefined;
  readonly #mti: Mask;
  readonly #bitmap: MessageBitmap;
  readonly #fields: NumberedMasks;

  /** @param visitorOf creates what is done with a field; the paths of the first two are `header` and `mti` */
  constructor(spec: Spec, visitorOf: MaskOf<Field>) {
    const blocks = blocksOf(spec);
    const header = headerField(spec);
    this.#header = header && visitorOf(header, 'header');
    this.#mti = visitorOf(numeric({ name: 'mti', digits: 4, encoding: spec.mti.encoding, safe: true }), 'mti');
    this.#bitmap = messageBitmap(spec.bitmap, blocks);
    this.#fields = new NumberedMasks(spec.fields, '', blocks * FIELDS_PER_BLOCK, visitorOf);
  }

  /** @throws {Iso8583Error}, {TlvError} if the message cannot be followed to its end */
  walk(cursor: Cursor): void {
    this.#header?.(cursor);
    this.#mti(cursor);
    this.#bitmap.read(cursor, this.#fields.bits);
    this.#fields.mask(cursor);
    if (cursor.position < cursor.end) throw decodeError('TRAILING_BYTES', 'message', cursor.position, cursor);
  }
}
