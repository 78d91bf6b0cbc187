import type { BinaryEncoding, Field, Prefix, TextEncoding } from '../../codecs/iso8583/rows.ts';
import { defineSpec } from '../../codecs/iso8583/spec.ts';
import { FieldNames, type Findings, type ImportedSpec, mostOf, type Place, readSize } from './spec-diff.ts';

/**
 * The dictionary of pyiso8583 (`iso8583/specs.py`) as JSON: for each field the encoding of its data and of its length,
 * the bytes of the length, and the greatest length. `h` is the header, `t` the MTI, `p` the bitmap and `1` the second.
 * The encodings are `b` for bytes and packed digits, `bcd` for lengths, or a codec of Python.
 */
type Row = Readonly<Record<string, unknown>>;

export function isPyiso8583Spec(json: unknown): json is Readonly<Record<string, Row>> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return false;
  const { p, t } = json as Record<string, unknown>;
  return [p, t].every((row) => isRow(row) && 'data_enc' in row);
}

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws StartError BAD_CONFIG with every field that cannot be expressed */
export function readPyiso8583Spec(json: Readonly<Record<string, Row>>, name: string, findings: Findings): ImportedSpec {
  const { h, t, p, '1': second, '65': third, ...rows } = json;
  if (third !== undefined)
    findings.note({ field: '65' }, 'it announces the third bitmap and is never written as a field');
  const fields: Record<number, Field> = {};
  const names = new FieldNames();
  for (const [key, row] of Object.entries(rows)) {
    findings.count({ field: key });
    const number = readSize(key);
    if (number === undefined || number < 2 || number > 192)
      findings.refuse({ field: key }, 'a field has a number from 2 to 192');
    else if (!isRow(row)) findings.refuse({ field: key }, 'expected an object');
    else {
      const form = readRow(row, key, findings);
      if (form !== undefined) fields[number] = { ...form, ...names.of(row.desc, key) } as Field;
    }
  }
  const bitmap = bitmapOf(p!, 'p', findings);
  if (second !== undefined && bitmapOf(second, '1', findings) !== bitmap)
    findings.refuse({ field: '1' }, 'the second bitmap has the encoding of the first one');
  const spec = {
    name,
    ...headerOf(h, findings),
    mti: { encoding: mtiOf(t!, findings) },
    bitmap: { encoding: bitmap },
    fields,
  };
  findings.check();
  return { spec: defineSpec(spec), notes: findings.notes };
}

function mtiOf(row: Row, findings: Findings): TextEncoding {
  const encoding = row.data_enc === 'b' ? 'bcd' : textEncodingOf(row.data_enc);
  const isFour = readSize(row.max_len) === (row.data_enc === 'b' ? 2 : 4) && readSize(row.len_type) === 0;
  if (encoding !== undefined && isFour) return encoding;
  findings.refuse({ field: 't' }, 'expected four digits of fixed length in ASCII, code page 500 or BCD');
  return 'ascii';
}

function bitmapOf(row: unknown, field: string, findings: Findings): BinaryEncoding {
  const { data_enc, max_len } = isRow(row) ? row : {};
  const encoding =
    data_enc === 'b' ? 'binary' : ({ ascii: 'hex', cp500: 'ebcdic-hex' } as const)[textEncodingOf(data_enc) as 'ascii'];
  if (encoding !== undefined && readSize(max_len) === (encoding === 'binary' ? 8 : 16)) return encoding;
  findings.refuse({ field }, 'expected 8 bytes, or 16 hex digits in ASCII or code page 500');
  return 'binary';
}

function headerOf(row: unknown, findings: Findings): { readonly headerBytes?: number } {
  if (row === undefined) return {};
  const { max_len, len_type, len_count } = isRow(row) ? row : {};
  const bytes = readSize(max_len) ?? -1;
  if (bytes === 0) return {};
  if (readSize(len_type) !== 0 || bytes < 0 || bytes > 255 || len_count === 'nibbles')
    findings.refuse({ field: 'h' }, 'a header has a fixed length of at most 255 bytes');
  return { headerBytes: bytes };
}

function readRow(row: Row, key: string, findings: Findings): object | undefined {
  const place: Place = { field: key };
  const width = readSize(row.len_type);
  const given = readSize(row.max_len);
  if (width === undefined)
    return findings.refuse({ ...place, property: 'len_type' }, 'expected the bytes of the length, or 0');
  if (given === undefined || given === 0)
    return findings.refuse({ ...place, property: 'max_len' }, 'expected a length from 1');
  const prefix = width === 0 ? undefined : prefixOf(row.len_enc, width);
  if (width > 0 && prefix === undefined)
    return findings.refuse({ ...place, property: 'len_enc' }, `no length of ${width} bytes has this encoding here`);
  const max = prefix === undefined ? given : Math.min(given, mostOf(prefix));
  const size = { min: prefix === undefined ? max : 0, max, ...(prefix === undefined ? {} : { prefix }) };
  const isNibbles = row.len_count === 'nibbles';
  if (row.data_enc !== 'b') {
    const encoding = textEncodingOf(row.data_enc);
    if (encoding === undefined)
      return findings.refuse({ ...place, property: 'data_enc' }, 'expected b, ascii, latin-1 or cp500');
    if (isNibbles) return findings.refuse({ ...place, property: 'len_count' }, 'characters are counted in half bytes');
    return { kind: 'text', content: 'any', encoding, ...size };
  }
  return isNibbles ? readNibbles(row, key, size, findings) : { kind: 'binary', encoding: 'binary', ...size };
}

/** Half bytes: packed digits if an odd number of them is filled up, otherwise bytes. */
function readNibbles(
  row: Row,
  key: string,
  { min, max, ...rest }: { readonly min: number; readonly max: number; readonly prefix?: Prefix },
  findings: Findings,
): object | undefined {
  const [left, right] = [row.left_pad, row.right_pad].map((pad) =>
    typeof pad === 'string' ? pad.slice(0, 1).toUpperCase() : '',
  );
  if (!left && !right) {
    if (min === max && max % 2 === 1) return findings.refuse({ field: key }, 'an odd number of half bytes has no pad');
    return { kind: 'binary', encoding: 'binary', unit: 'nibbles', min: min >> 1, max: max >> 1, ...rest };
  }
  const fill = left || right;
  if (fill !== '0' && fill !== 'F')
    return findings.refuse(
      { field: key, property: left ? 'left_pad' : 'right_pad' },
      'digits are filled up with 0 or F',
    );
  findings.note({ field: key }, 'digits only; pyiso8583 also writes A to F');
  return {
    kind: 'text',
    content: key === '35' ? 'z' : 'n',
    encoding: left ? 'bcd' : 'bcd-right',
    fill,
    unit: 'digits',
    min,
    max,
    ...rest,
  };
}

function prefixOf(encoding: unknown, width: number): Prefix | undefined {
  if (encoding === 'b') return width > 3 ? undefined : { bytes: width, encoding: 'binary' };
  if (encoding === 'bcd') return width > 3 ? undefined : { digits: width * 2, encoding: 'bcd' };
  const text = textEncodingOf(encoding) ?? (isEbcdic(encoding) ? 'cp500' : undefined);
  if (text === undefined || width > 6) return undefined;
  return { digits: width, encoding: text === 'ascii' ? 'ascii' : 'ebcdic' };
}

/** Digits have the same bytes in every EBCDIC codec of Python; other characters do not. */
const isEbcdic = (encoding: unknown) => /^cp(037|500|1026|1140)$/.test(String(encoding));

function textEncodingOf(encoding: unknown): 'ascii' | 'cp500' | undefined {
  const name = String(encoding).toLowerCase().replace(/[-_ ]/g, '');
  if (['ascii', 'usascii', 'latin1', 'iso88591', '88591'].includes(name)) return 'ascii';
  return name === 'cp500' ? 'cp500' : undefined;
}
