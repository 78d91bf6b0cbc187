import { Cursor } from '../bytes/cursor.ts';
import type { MessageWalk } from './masks/message-walk.ts';
import { derivedSpec, type Spec } from './spec.ts';
import { wireWalk } from './wire-fields.ts';

/** Where a field begins and ends in the message; both -1 if it is absent. */
interface Place {
  from: number;
  to: number;
}

/**
 * The values of a message as they are encoded, with their padding and without their length prefix. One object serves one
 * message after another.
 */
export class WireValues {
  readonly #walk: MessageWalk;
  readonly #places = new Map<string, Place>();
  #bytes: Uint8Array = new Uint8Array();
  #start = 0;
  #end = 0;
  #isWalked = true;

  constructor(spec: Spec) {
    const specs = [spec, ...(spec.layouts ?? []).map((layout) => derivedSpec(spec, layout))];
    const fields = specs.flatMap((each) => Object.values(each.fields));
    for (const name of ['header', 'mti', ...fields.map((field) => field.name)])
      this.#places.set(name, { from: -1, to: -1 });
    this.#walk = wireWalk(spec, ({ name }, _path, from, to) => {
      const place = this.#places.get(name)!;
      place.from = from;
      place.to = to;
    });
  }

  /** Turns to the message from `start` to `end`, which a codec of the same spec has read or written. */
  turnTo(bytes: Uint8Array, start: number, end: number): this {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.#isWalked = false;
    return this;
  }

  /**
   * A view of the value of a field of the message, or of `mti`; undefined if it is absent. The message is followed at the
   * first call.
   *
   * @throws {Iso8583Error} if the message does not follow the spec
   */
  valueOf(name: string): Uint8Array | undefined {
    if (!this.#isWalked) this.#followMessage();
    const place = this.#places.get(name);
    return place === undefined || place.from < 0 ? undefined : this.#bytes.subarray(place.from, place.to);
  }

  /**
   * The values of these fields one after another with a byte between them, empty for an absent field. A MAC over some
   * fields of every message takes them often, so this creates no view of each.
   */
  joined(names: readonly string[], separator: number): Uint8Array {
    if (!this.#isWalked) this.#followMessage();
    const bytes = this.#bytes;
    const places = names.map((name) => this.#places.get(name));
    const length = places.reduce((sum, place) => sum + lengthOf(place), Math.max(0, places.length - 1));
    const joined = new Uint8Array(length);
    let at = 0;
    for (const [index, place] of places.entries()) {
      if (index > 0) joined[at++] = separator;
      if (lengthOf(place) > 0) for (let from = place!.from; from < place!.to; from++) joined[at++] = bytes[from]!;
    }
    return joined;
  }

  #followMessage(): void {
    for (const place of this.#places.values()) place.from = -1;
    this.#walk.walk(new Cursor(this.#bytes, this.#start, this.#end));
    this.#isWalked = true;
  }
}

function lengthOf(place: Place | undefined): number {
  return place === undefined || place.from < 0 ? 0 : place.to - place.from;
}
