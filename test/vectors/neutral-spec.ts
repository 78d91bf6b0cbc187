import * as fields from '../../src/codecs/iso8583/fields.ts';
import type { BinaryEncoding, Field, Prefix, TextEncoding } from '../../src/codecs/iso8583/rows.ts';
import { defineSpec, type Spec } from '../../src/codecs/iso8583/spec.ts';

/** The schema of the vectors, which is independent of libraries. */
export interface NeutralSpec {
  readonly mti?: { readonly enc: string };
  readonly bitmap?: { readonly enc: string; readonly fixed_blocks?: number };
  /** Bytes before the MTI. */
  readonly header?: number;
  /** Bytes of a length before the message. */
  readonly header_length_bytes?: number;
  readonly fields?: Readonly<Record<string, NeutralField>>;
}

interface NeutralField {
  readonly enc: string;
  readonly len: number;
  readonly prefix?: { readonly enc: string; readonly digits: number; readonly bytes?: number };
  readonly unit?: 'bytes' | 'nibbles';
}

/** Encodings that the vectors name differently. Their EBCDIC is code page 500. */
const OUR_NAMES: Readonly<Record<string, string>> = { 'bcd-right-pad': 'bcd-right', ebcdic: 'cp500' };

/** The spec in the terms of this project. A field without a name is called `de` and its number. */
export function specOf(neutral: NeutralSpec): Spec {
  const { mti, bitmap, header, fields: rows = {} } = neutral;
  const blocks = bitmap!.fixed_blocks;
  return defineSpec({
    name: 'vector',
    ...(header === undefined ? {} : { headerBytes: header }),
    mti: { encoding: nameOf(mti!.enc) as TextEncoding },
    bitmap: {
      encoding: bitmap!.enc as BinaryEncoding,
      ...(blocks === undefined ? {} : { form: 'fixed' as const, blocks }),
    },
    fields: Object.fromEntries(Object.entries(rows).map(([number, row]) => [number, rowOf(`de${number}`, row)])),
  });
}

function rowOf(name: string, { enc, len: statedLength, prefix, unit }: NeutralField): Field {
  // Some vectors allow more than their prefix can express, which a spec of this project may not.
  const len =
    prefix === undefined || prefix.enc === 'binary' ? statedLength : Math.min(statedLength, 10 ** prefix.digits - 1);
  const length = prefix === undefined ? {} : { prefix: prefixOf(prefix) };
  if (enc === 'binary' || enc === 'hex') {
    return fields.binary({ name, bytes: len, encoding: enc, ...length, ...(unit === undefined ? {} : { unit }) });
  }
  if (enc === 'x+bcd') return fields.numeric({ name, digits: len, encoding: enc });
  if (enc === 'bcd' || enc === 'bcd-right-pad') {
    // Packed track 2 differs from digits only in its values; counts of nibbles use a fill of F.
    const fill = unit === 'nibbles' ? 'F' : '0';
    return fields.track2({ name, digits: len, encoding: nameOf(enc) as TextEncoding, fill, ...length });
  }
  return fields.text({ name, characters: len, content: 'any', encoding: nameOf(enc) as TextEncoding, ...length });
}

function prefixOf({ enc, digits, bytes }: NonNullable<NeutralField['prefix']>): Prefix {
  return enc === 'binary' ? { encoding: enc, bytes: bytes! } : { encoding: enc as 'ascii' | 'bcd' | 'ebcdic', digits };
}

function nameOf(enc: string): string {
  return OUR_NAMES[enc] ?? enc;
}
