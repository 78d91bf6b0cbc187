import { Iso8583Error, TlvError } from '../../basics/errors/codec-errors.ts';
import { Cursor } from '../bytes/cursor.ts';
import { bounded } from './composites/bounded.ts';
import { leafVisitor } from './leaves/leaf-codec.ts';
import { MessageWalk } from './masks/message-walk.ts';
import type { Field } from './rows.ts';
import type { Spec } from './spec.ts';

/** Called with the value of a field, without its length prefix: `from` to `to` of the bytes. */
export type OnWireField = (field: Field, path: string, from: number, to: number) => void;

/** A walk that visits every field of a message, composites as a whole. The first is `mti`, or `header` if there is one. */
export function wireWalk(spec: Spec, onField: OnWireField): MessageWalk {
  return new MessageWalk(spec, (field, path) => {
    const visit = (cursor: Cursor, from: number, to: number) => {
      onField(field, path, from, to);
      cursor.position = to;
    };
    if (field.kind === 'text' || field.kind === 'binary') return leafVisitor(field, path, spec.encodings, visit);
    const decode = (cursor: Cursor) => visit(cursor, cursor.position, cursor.end);
    return bounded({ decode, encode: neverEncodes }, field, path, spec.encodings).decode;
  });
}

/** The value of a field in a message. */
export interface WireField {
  readonly field: Field;
  /** Its number, `mti` or `header`. */
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** The walk of each spec, with the list that it fills: a bad message must not cost the compilation of a spec. */
const WALKS = new WeakMap<Spec, { readonly walk: MessageWalk; found: WireField[] }>();

/** The fields of a message in their order, as far as it can be followed. */
export function wireFields(spec: Spec, bytes: Uint8Array): WireField[] {
  const each = walkOf(spec);
  const found: WireField[] = [];
  each.found = found;
  try {
    each.walk.walk(new Cursor(bytes, 0, bytes.length));
  } catch (error) {
    if (!(error instanceof Iso8583Error) && !(error instanceof TlvError)) throw error;
  }
  each.found = [];
  return found;
}

function walkOf(spec: Spec) {
  const known = WALKS.get(spec);
  if (known !== undefined) return known;
  const walk = wireWalk(spec, (field, path, from, to) => made.found.push({ field, path, from, to }));
  const made: { readonly walk: MessageWalk; found: WireField[] } = { walk, found: [] };
  WALKS.set(spec, made);
  return made;
}

function neverEncodes(): never {
  throw new Error('a walk encodes nothing');
}
