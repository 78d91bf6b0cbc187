import { defaultEncoding } from '../../codecs/iso8583/leaves/leaf-parts.ts';
import {
  type BinaryEncoding,
  type Content,
  type Field,
  type Prefix,
  subfieldsOf,
  type TextEncoding,
} from '../../codecs/iso8583/rows.ts';
import { type BitmapLayout, defineSpec, type Encodings, type Spec } from '../../codecs/iso8583/spec.ts';
import { FieldNames, type Findings, type ImportedSpec, mostOf, type Place, readSize } from './spec-diff.ts';

/**
 * The JSON of moov-io/iso8583 (`specs/builder.go`): for each field a type, an encoding, a prefix and a padding. A value is
 * padded to its length, then encoded; the prefix counts the value before it is encoded (`field/packer_unpacker.go`).
 */
interface Row {
  readonly type?: unknown;
  readonly length?: unknown;
  readonly description?: unknown;
  readonly enc?: unknown;
  readonly prefix?: unknown;
  readonly padding?: { readonly type?: unknown; readonly pad?: unknown } | null;
  readonly tag?: Readonly<Record<string, unknown>> | null;
  readonly subfields?: Readonly<Record<string, Row>>;
  readonly bitmap?: Row | null;
  readonly disableAutoExpand?: unknown;
}

/** The name and length of a field; without a prefix, the length is fixed. */
interface Size {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly prefix?: Prefix;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function isMoovSpec(json: unknown): json is { readonly fields: Readonly<Record<string, Row>> } {
  if (!isObject(json) || !isObject(json.fields)) return false;
  return Object.values(json.fields).some(
    (row) => isObject(row) && typeof row.prefix === 'string' && /^[A-Z]/.test(String(row.type)),
  );
}

/** @throws StartError BAD_CONFIG with every field that cannot be expressed */
export function readMoovSpec(
  json: { readonly name?: unknown; readonly fields: Readonly<Record<string, Row>> },
  name: string,
  findings: Findings,
): ImportedSpec {
  const { '0': mti, '1': bitmap, ...rows } = json.fields;
  for (const key of Object.keys(rows))
    if (!/^[1-9]\d{0,2}$/.test(key)) findings.refuse({ field: key }, 'a field has a number');
  const layout = bitmapLayout(bitmap, findings);
  const spec = {
    name: typeof json.name === 'string' && json.name !== '' ? json.name.slice(0, 80) : name,
    mti: { encoding: mtiEncoding(mti, findings) },
    bitmap: layout,
    fields: readRows(rows, '', findings) as Record<number, Field>,
  };
  for (const number of layout.form === 'fixed' ? [] : [65, 129])
    if (number in spec.fields)
      findings.refuse({ field: `${number}` }, 'its bit announces a bitmap, so it is never written');
  const most = (layout.form === 'fixed' ? layout.blocks! : 3) * 64;
  for (const key of Object.keys(spec.fields))
    if (Number(key) > most) findings.refuse({ field: key }, `the bitmap has ${most} bits`);
  findings.check();
  return { spec: defineSpec(spec), notes: findings.notes };
}

function mtiEncoding(row: Row | undefined, findings: Findings): TextEncoding {
  const encoding = TEXT[String(row?.enc)] ?? (row?.enc === 'EBCDIC' ? 'cp500' : undefined);
  if (encoding !== undefined && readSize(row!.length) === 4 && prefixOf(row!.prefix) === 'fixed') return encoding;
  findings.refuse({ field: '0' }, 'expected four digits of fixed length, the MTI');
  return 'ascii';
}

const BITMAPS: Readonly<Record<string, BinaryEncoding>> = { Binary: 'binary', HexToASCII: 'hex' };

/** A bitmap of 8 bytes announces the next one in its first bit. A longer one is always written as a whole. */
function bitmapLayout(row: Row | undefined, findings: Findings): BitmapLayout {
  const encoding = BITMAPS[String(row?.enc)];
  const bytes = readSize(row?.length) || 8;
  if (row?.type !== 'Bitmap' || encoding === undefined || ![8, 16, 24].includes(bytes) || !isFixedPrefix(row.prefix)) {
    findings.refuse({ field: '1' }, 'expected a Bitmap of 8, 16 or 24 bytes, Binary or HexToASCII');
    return { encoding: 'binary' };
  }
  if (bytes === 8 && row.disableAutoExpand !== true) return { encoding };
  return { encoding, form: 'fixed', blocks: bytes / 8 };
}

function readRows(rows: Readonly<Record<string, Row>>, path: string, findings: Findings): Record<string, Field> {
  const names = new FieldNames();
  const fields: Record<string, Field> = {};
  for (const [key, row] of Object.entries(rows)) {
    findings.count({ field: path + key });
    const field = isObject(row) ? readRow(row, path + key, names.of(row.description, key), findings) : undefined;
    if (field !== undefined) fields[key] = field;
    else if (!isObject(row)) findings.refuse({ field: path + key }, 'expected an object');
  }
  return fields;
}

/** Encodings of characters. `EBCDIC` is left out: its table writes `|` as 6A, which no code page does. */
const TEXT: Readonly<Record<string, TextEncoding>> = {
  ASCII: 'ascii',
  EBCDIC1047: 'cp1047',
  BCD: 'bcd',
  LBCD: 'bcd-right',
};

function readRow(row: Row, path: string, named: { readonly name: string }, findings: Findings): Field | undefined {
  const place: Place = { field: path };
  const prefix = prefixOf(row.prefix);
  const length = readSize(row.length);
  if (prefix === undefined)
    return findings.refuse({ ...place, property: `prefix ${row.prefix}` }, 'no such length here');
  if (length === undefined || length === 0)
    return findings.refuse({ ...place, property: 'length' }, 'expected a length from 1');
  const isFixed = prefix === 'fixed' || prefix === 'hexFixed';
  const max = isFixed ? length : Math.min(length, mostOf(prefix));
  const size = { ...named, min: isFixed ? max : 0, max, ...(isFixed ? {} : { prefix }) };
  if (isObject(row.subfields) && Object.keys(row.subfields).length > 0) {
    if (prefix === 'hexFixed')
      return findings.refuse({ ...place, property: 'prefix Hex.Fixed' }, 'it writes twice the bytes that it reads');
    return readComposite(row, path, size, findings);
  }
  const property = `${row.type} with enc ${row.enc}`;
  const encoding = String(row.enc);
  // A fixed prefix in hex expects twice as many characters as it reads. Only hex digits that become bytes are both.
  const isHexText = encoding === 'ASCIIToHex' && prefix === 'hexFixed' && row.type === 'String';
  if (isHexText && !row.padding) return { kind: 'binary', encoding: 'binary', ...size };
  if (prefix === 'hexFixed' || encoding === 'ASCIIToHex')
    return findings.refuse(
      { ...place, property: `${property}, prefix ${row.prefix}` },
      'the length that it writes is not the one that it reads',
    );
  const bytes = BITMAPS[encoding];
  const isBytes = row.type === 'Binary' || row.type === 'Hex' || (row.type === 'String' && encoding === 'Binary');
  if (isBytes && bytes !== undefined) {
    if (row.padding && row.padding.type !== 'None')
      return findings.refuse({ ...place, property: 'padding' }, 'bytes are not padded');
    return { kind: 'binary', encoding: bytes, ...size };
  }
  return readText(row, place, property, size, findings);
}

function readText(row: Row, place: Place, property: string, size: Size, findings: Findings): Field | undefined {
  const isNumber = row.type === 'Numeric';
  const encoding = TEXT[String(row.enc)] ?? (row.enc === 'EBCDIC' && isNumber ? 'cp1047' : undefined);
  const isKnown = isNumber || ['String', 'Track1', 'Track2', 'Track3'].includes(String(row.type));
  if (row.enc === 'EBCDIC' && encoding === undefined)
    return findings.refuse(
      { ...place, property },
      'its table writes | as 6A, unlike code pages 500 and 1047; EBCDIC1047 is one of them',
    );
  if (!isKnown || encoding === undefined) return findings.refuse({ ...place, property }, 'no such value here');
  const isPacked = encoding === 'bcd' || encoding === 'bcd-right';
  const content: Content =
    isNumber || isPacked ? 'n' : row.type === 'Track2' ? 'z' : encoding === 'ascii' ? 'any' : 'ans';
  const text = { kind: 'text', content, encoding, ...size } as const;
  if (!row.padding || row.padding.type === 'None') return text;
  const { type, pad } = row.padding;
  if ((type !== 'Left' && type !== 'Right') || typeof pad !== 'string' || pad.length !== 1 || pad > '\u00ff')
    return findings.refuse({ ...place, property: 'padding' }, 'expected one character on the left or the right');
  if (size.prefix !== undefined)
    return findings.refuse(
      { ...place, property: 'padding' },
      'it fills a value that has a length prefix, and reads shorter ones',
    );
  if (isPacked && pad !== '0')
    return findings.refuse({ ...place, property: 'padding' }, 'only zeros can fill packed digits');
  // Zeros before digits are part of the value here; any other padding is not.
  if (content === 'n' && type === 'Left' && pad === '0') return text;
  return { ...text, pad: { side: type === 'Left' ? 'left' : 'right', with: pad, strip: true } };
}

function readComposite(row: Row, path: string, size: Size, findings: Findings): Field | undefined {
  const subfields = row.subfields!;
  const { tag, bitmap } = row;
  if (bitmap) {
    const encoding = BITMAPS[String(bitmap.enc)];
    const bytes = readSize(bitmap.length) || 8;
    const expands = bitmap.disableAutoExpand !== true && '1' in subfields;
    const isOutside = Object.keys(subfields).some((key) => !(readSize(key)! >= 1 && readSize(key)! <= bytes * 8));
    if (encoding === undefined || bytes > 24 || expands || isOutside || !isFixedPrefix(bitmap.prefix))
      return findings.refuse(
        { field: path, property: 'bitmap' },
        'expected one of at most 24 bytes that has all subfields and announces no other',
      );
    return {
      kind: 'bitmapped',
      ...size,
      bitmap: { bytes, encoding },
      fields: readRows(subfields, `${path}.`, findings),
    };
  }
  if (!tag) return findings.refuse({ field: path, property: 'tag' }, 'subfields have a bitmap, tags or an order');
  if (tag.enc === undefined || tag.enc === '') return readOrdered(subfields, tag, path, size, findings);
  findings.note({ field: path }, 'moov sorts its elements; the table writes them in the order that they are given in');
  return tag.enc === 'BerTLVTag'
    ? readBerTlv(subfields, tag, path, size, findings)
    : readTagged(subfields, tag, path, size, findings);
}

function readOrdered(
  subfields: Readonly<Record<string, Row>>,
  tag: Readonly<Record<string, unknown>>,
  path: string,
  size: Size,
  findings: Findings,
): Field | undefined {
  const base = { StringsByInt: 10, StringsByHex: 16 }[String(tag.sort)];
  if (base === undefined)
    return findings.refuse({ field: path, property: 'tag.sort' }, 'expected StringsByInt or StringsByHex');
  const fields = readRows(subfields, `${path}.`, findings);
  const keys = Object.keys(subfields).sort((a, b) => Number.parseInt(a, base) - Number.parseInt(b, base));
  return { kind: 'positional', ...size, fields: keys.flatMap((key) => fields[key] ?? []) };
}

function readBerTlv(
  subfields: Readonly<Record<string, Row>>,
  tag: Readonly<Record<string, unknown>>,
  path: string,
  size: Size,
  findings: Findings,
): Field | undefined {
  const tags = Object.keys(subfields);
  const isTlv = tags.every((key) => /^([0-9A-F]{2}){1,3}$/.test(key) && subfields[key]?.prefix === 'BerTLV');
  if (!isTlv)
    return findings.refuse(
      { field: path, property: 'tag' },
      'elements of BER-TLV have tags in hex and the prefix BerTLV',
    );
  findings.note({ field: path }, 'the value is its TLV; the encodings of the elements are not part of the table');
  const allow = tag.skipUnknownTLVTags === true ? {} : { allow: tags.map((key) => Number.parseInt(key, 16)) };
  return { kind: 'tlv', ...size, ...allow };
}

const TAGS: Readonly<Record<string, 'ascii' | 'bcd' | 'binary'>> = { ASCII: 'ascii', BCD: 'bcd', ASCIIToHex: 'binary' };

function readTagged(
  subfields: Readonly<Record<string, Row>>,
  tag: Readonly<Record<string, unknown>>,
  path: string,
  size: Size,
  findings: Findings,
): Field | undefined {
  const encoding = TAGS[String(tag.enc)];
  const length = readSize(tag.length);
  if (encoding === undefined || length === undefined || length < 1 || length > 8)
    return findings.refuse(
      { field: path, property: 'tag' },
      'expected tags of 1 to 8 characters or bytes, ASCII, BCD or ASCIIToHex',
    );
  if (tag.skipUnknownTLVTags === true)
    return findings.refuse(
      { field: path, property: 'tag.skipUnknownTLVTags' },
      'unknown elements are kept or refused, not dropped',
    );
  const read = Object.values(readRows(subfields, `${path}.`, findings));
  const rows = Object.keys(subfields).map((key, index) => [key, read[index]] as const);
  if (read.length < rows.length) return undefined;
  const prefixes = new Set(read.map(({ prefix }) => JSON.stringify(prefix)));
  const elementPrefix = read[0]?.prefix;
  if (prefixes.size > 1 || elementPrefix === undefined)
    return findings.refuse({ field: path, property: 'subfields' }, 'all elements have one kind of length prefix');
  const padding = tag.padding as Row['padding'];
  const isPadded = padding?.type === 'Left' && padding.pad === '0';
  if (padding && !isPadded)
    return findings.refuse({ field: path, property: 'tag.padding' }, 'tags are padded with zeros on the left');
  const width = encoding === 'binary' ? length * 2 : length;
  const fields = Object.fromEntries(
    rows.map(([key, field]) => {
      const { prefix: _, ...rest } = field!;
      return [isPadded ? key.padStart(width, '0') : key, rest as Field];
    }),
  );
  return { kind: 'tagged', ...size, tag: { encoding, length }, elementPrefix, fields };
}

/** `ASCII.LL` and so on; `Hex.L` is one byte as two hex digits. A fixed length in hex counts differently from the others. */
function prefixOf(text: unknown): Prefix | 'fixed' | 'hexFixed' | undefined {
  const [, kind, letters] = /^(ASCII|BCD|EBCDIC|EBCDIC1047|Binary|Hex)\.(Fixed|L{1,6})$/.exec(String(text)) ?? [];
  if (kind === undefined || letters === undefined) return undefined;
  if (letters === 'Fixed') return kind === 'Hex' ? 'hexFixed' : 'fixed';
  const count = letters.length;
  if (kind === 'Hex') return count > 3 ? undefined : { digits: count * 2, encoding: 'hex' };
  if (kind === 'Binary') return count > 3 ? undefined : { bytes: count, encoding: 'binary' };
  const encoding = kind === 'ASCII' ? 'ascii' : kind === 'BCD' ? 'bcd' : 'ebcdic';
  return { digits: count, encoding };
}

const isFixedPrefix = (prefix: unknown) => /\.Fixed$/.test(String(prefix));

/**
 * A spec in the JSON of moov. Each form has one inverse, that of the reading above.
 *
 * @throws StartError BAD_CONFIG with every field that moov cannot express
 */
export function writeMoovSpec(spec: Spec, findings: Findings): string {
  const { bitmap, encodings } = spec;
  if (spec.layouts?.length)
    findings.refuse({ property: 'layouts' }, 'a spec of moov has the same fields for every MTI');
  if (spec.rules?.length)
    findings.note({ property: 'rules' }, 'moov checks no presence of fields; the rules are left out');
  if (spec.headerBytes) findings.refuse({ property: 'headerBytes' }, 'a spec of moov has no header');
  const isFixed = bitmap.form === 'fixed';
  if (bitmap.thirdAt !== undefined || (!isFixed && (bitmap.blocks ?? 1) > 1))
    findings.refuse(
      { property: 'bitmap' },
      'moov writes a second bitmap only if a message needs it, and the third one after it',
    );
  const enc = encOfBytes(bitmap.encoding);
  const mti = encOfText(spec.mti.encoding);
  if (enc === undefined) findings.refuse({ property: 'bitmap' }, `moov has no bitmap in ${bitmap.encoding}`);
  if (mti === undefined) findings.refuse({ property: 'mti' }, `moov has no digits in ${spec.mti.encoding}`);
  if (!isFixed && spec.fields[65] !== undefined)
    findings.refuse({ field: '65' }, 'its bit announces a bitmap, so moov never writes it');
  const blocks = bitmap.blocks ?? Math.ceil(Math.max(1, ...Object.keys(spec.fields).map(Number)) / 64);
  const rows = {
    0: { type: 'String', length: 4, description: 'MTI', enc: mti, prefix: 'ASCII.Fixed' },
    1: {
      type: 'Bitmap',
      length: isFixed ? blocks * 8 : 8,
      description: 'Bitmap',
      enc,
      prefix: 'ASCII.Fixed',
      ...(isFixed ? { disableAutoExpand: true } : {}),
    },
    ...rowsOf(spec.fields, '', encodings, findings),
  };
  findings.check();
  return `${JSON.stringify({ name: spec.name, fields: rows }, null, 2)}\n`;
}

function rowsOf(
  fields: Readonly<Record<string, Field>>,
  path: string,
  encodings: Encodings,
  findings: Findings,
  elementPrefix?: Prefix,
): Record<string, object> {
  const rows: Record<string, object> = {};
  for (const [key, field] of Object.entries(fields)) {
    const row = rowOf(
      elementPrefix === undefined ? field : { ...field, prefix: elementPrefix },
      path + key,
      encodings,
      findings,
    );
    if (row !== undefined) rows[key] = row;
  }
  return rows;
}

function rowOf(field: Field, path: string, encodings: Encodings, findings: Findings): object | undefined {
  const place = { field: path };
  const prefix = field.prefix === undefined ? 'ASCII.Fixed' : prefixInMoov(field.prefix, encodings);
  if (prefix === undefined || field.end !== undefined) return findings.refuse(place, 'moov has no such length');
  const row = { length: field.max, description: field.title ?? field.name, prefix };
  switch (field.kind) {
    case 'binary': {
      const enc = encOfBytes(field.encoding ?? encodings.binary);
      if (enc === undefined || (field.prefix !== undefined && (field.unit ?? 'bytes') !== 'bytes'))
        return findings.refuse(place, 'moov has bytes or upper-case hex, counted in bytes');
      return { type: 'Binary', ...row, enc };
    }
    case 'text': {
      const encoding = field.encoding ?? defaultEncoding(field.content, encodings);
      const enc = encOfText(encoding);
      const isPacked = enc === 'BCD' || enc === 'LBCD';
      const isCounted = field.prefix === undefined || field.unit !== 'bytes' || !isPacked;
      const hasFill = isPacked && field.max % 2 === 1 && field.fill === 'F';
      if (
        enc === undefined ||
        !isCounted ||
        hasFill ||
        (isPacked && (field.content !== 'n' || (field.prefix !== undefined && field.fill === 'F')))
      )
        return findings.refuse(place, `moov has no ${field.content} in ${encoding} with this length and fill`);
      const padding = field.pad && {
        padding: { type: field.pad.side === 'left' ? 'Left' : 'Right', pad: field.pad.with },
      };
      return { type: 'String', ...row, enc, ...padding };
    }
    case 'positional':
      if (field.separator !== undefined) return findings.refuse(place, 'moov has no separators');
      return {
        type: 'Composite',
        ...row,
        tag: { sort: 'StringsByInt' },
        subfields: rowsOf(subfieldsOf(field), `${path}.`, encodings, findings),
      };
    case 'bitmapped': {
      const enc = encOfBytes(field.bitmap.encoding ?? encodings.binary);
      if (enc === undefined || field.bitmap.form === 'chained')
        return findings.refuse(place, 'moov has subfields with one bitmap, in bytes or upper-case hex');
      const bitmap = {
        type: 'Bitmap',
        length: field.bitmap.bytes,
        enc,
        prefix: 'ASCII.Fixed',
        disableAutoExpand: true,
      };
      return { type: 'Composite', ...row, bitmap, subfields: rowsOf(field.fields, `${path}.`, encodings, findings) };
    }
    case 'tagged': {
      const enc = Object.keys(TAGS).find((name) => TAGS[name] === field.tag.encoding);
      if (enc === undefined || field.first === 'length' || field.lengthCounts?.length || field.unknown === 'keep')
        return findings.refuse(place, 'moov has a tag, then the length of the value, and no EBCDIC tags');
      const tag = { length: field.tag.length, enc, sort: enc === 'ASCIIToHex' ? 'StringsByHex' : 'StringsByInt' };
      return {
        type: 'Composite',
        ...row,
        tag,
        subfields: rowsOf(field.fields, `${path}.`, encodings, findings, field.elementPrefix),
      };
    }
    case 'tlv':
      if ((field.encoding ?? 'binary') !== 'binary') return findings.refuse(place, 'moov has TLV in bytes');
      findings.note(place, 'moov does not check that these bytes are TLV');
      return { type: 'Binary', ...row, enc: 'Binary' };
    default:
      return findings.refuse(place, 'moov has no datasets');
  }
}

const encOfBytes = (encoding: BinaryEncoding) => Object.keys(BITMAPS).find((name) => BITMAPS[name] === encoding);
const encOfText = (encoding: TextEncoding) => Object.keys(TEXT).find((name) => TEXT[name] === encoding);

function prefixInMoov(prefix: Prefix, encodings: Encodings): string | undefined {
  const letters = (count: number) => (count <= 4 ? 'L'.repeat(count) : undefined);
  const named = (kind: string, count: number) => letters(count) && `${kind}.${letters(count)}`;
  if (typeof prefix === 'string') {
    const { prefix: encoding } = encodings;
    if (encoding === 'binary') return named('Binary', prefix.length <= 2 ? 1 : prefix.length <= 4 ? 2 : 3);
    return prefixInMoov({ digits: prefix.length, encoding }, encodings);
  }
  if ('bytes' in prefix) return prefix.encoding === 'binary' ? named('Binary', prefix.bytes) : undefined;
  if (prefix.encoding === 'hex') return prefix.digits % 2 === 0 ? named('Hex', prefix.digits / 2) : undefined;
  return named({ ascii: 'ASCII', bcd: 'BCD', ebcdic: 'EBCDIC' }[prefix.encoding], prefix.digits);
}
