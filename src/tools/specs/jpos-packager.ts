import {
  type BinaryEncoding,
  type Field,
  type Prefix,
  subfieldsOf,
  type TextEncoding,
  type TextField,
} from '../../codecs/iso8583/rows.ts';
import { type BitmapLayout, defineSpec, type Encodings, type Spec } from '../../codecs/iso8583/spec.ts';
import { FieldNames, type Findings, formOf, type ImportedSpec, MAX_SPEC_DEPTH, mostOf, readSize } from './spec-diff.ts';

/**
 * The XML of jPOS (`org.jpos.iso.packager.GenericPackager`): an `isofield` with a class for each field, and an
 * `isofieldpackager` for each field with subfields. The classes that jPOS names `IFA_LLNUM` and so on combine an
 * interpreter, a padder and a prefixer; this table lists those three for each class that our form can express.
 *
 * The contents are those of the class names. jPOS checks none: it writes any character that a class is given. The table
 * refuses such a value and never writes other bytes for it. EBCDIC of jPOS is code page 1047 as Java has it, whose
 * line feed differs from ours; so EBCDIC text is limited to printable characters.
 *
 * A number of fixed length is not padded with zeros here: its value has all its digits, as everywhere in this gateway.
 */
type ClassForm =
  | {
      readonly content: 'n' | 'x+n' | 'text';
      readonly encoding: TextEncoding;
      readonly prefix?: Prefix;
      /** An odd number of packed digits ends with `F`; with `pad="true"` it begins with a zero instead. */
      readonly fill?: 'F';
      readonly unit?: 'bytes';
      /** The side of packed digits that is filled, regardless of `pad`. */
      readonly side?: 'left' | 'right';
    }
  | { readonly content: 'b'; readonly encoding: BinaryEncoding; readonly prefix?: Prefix };

const PREFIX = {
  ascii: (digits: number): Prefix => ({ digits, encoding: 'ascii' }),
  ebcdic: (digits: number): Prefix => ({ digits, encoding: 'ebcdic' }),
  bcd: (digits: number): Prefix => ({ digits, encoding: 'bcd' }),
  binary: (bytes: number): Prefix => ({ bytes, encoding: 'binary' }),
} as const;

/** Classes with a prefix of these numbers of digits: `IFA_` + `LL` + `CHAR`. A binary prefix `LLH` has one byte, `LLLH` two. */
function prefixed(
  start: string,
  kind: keyof typeof PREFIX,
  lengths: readonly number[],
  ends: Readonly<Record<string, ClassForm>>,
): [string, ClassForm][] {
  return lengths.flatMap((length) =>
    Object.entries(ends).map(([end, form]): [string, ClassForm] => {
      const letters = kind === 'binary' ? `${'L'.repeat(length + 1)}H` : 'L'.repeat(length);
      return [`${start}_${letters}${end}`, { ...form, prefix: PREFIX[kind](length) } as ClassForm];
    }),
  );
}

const ASCII: ClassForm = { content: 'text', encoding: 'ascii' };
const EBCDIC: ClassForm = { content: 'text', encoding: 'cp1047' };
const DIGITS: ClassForm = { content: 'n', encoding: 'ascii' };
const EBCDIC_DIGITS: ClassForm = { content: 'n', encoding: 'cp1047' };
const PACKED: ClassForm = { content: 'n', encoding: 'bcd' };
const PACKED_F: ClassForm = { ...PACKED, fill: 'F' };
const BYTES: ClassForm = { content: 'b', encoding: 'binary' };

const CLASSES: ReadonlyMap<string, ClassForm> = new Map<string, ClassForm>([
  ['IFA_NUMERIC', DIGITS],
  ['IFE_NUMERIC', EBCDIC_DIGITS],
  ['IFB_NUMERIC', PACKED],
  ['IFB_FNUMERIC', PACKED_F],
  ['IFB_AMOUNT2003', PACKED],
  ['IF_CHAR', ASCII],
  ['IFE_CHAR', EBCDIC],
  ['IF_ECHAR', EBCDIC],
  ['IFB_BINARY', BYTES],
  ['IFA_BINARY', { content: 'b', encoding: 'hex' }],
  ['IFE_BINARY', { content: 'b', encoding: 'ebcdic-hex' }],
  ['IFA_AMOUNT', { content: 'x+n', encoding: 'ascii' }],
  ['IFE_AMOUNT', { content: 'x+n', encoding: 'cp1047' }],
  ['IFB_AMOUNT', { content: 'x+n', encoding: 'x+bcd' }],
  ...prefixed('IFA', 'ascii', [2, 3], { NUM: DIGITS }),
  ...prefixed('IFA', 'ascii', [1, 2, 3, 4, 5, 6], { CHAR: ASCII, BINARY: BYTES }),
  ...prefixed('IFE', 'ebcdic', [1, 2, 3], { NUM: EBCDIC_DIGITS }),
  ...prefixed('IFE', 'ebcdic', [1, 2, 3, 4], { CHAR: EBCDIC, BINARY: BYTES }),
  ...prefixed('IFB', 'bcd', [2, 3], { NUM: PACKED, CHAR: ASCII, BINARY: BYTES }),
  ...prefixed('IFB', 'bcd', [4], { CHAR: ASCII, BINARY: BYTES }),
  ...prefixed('IFB', 'bcd', [6], { CHAR: ASCII }),
  ...prefixed('IFB', 'binary', [1, 2], { NUM: PACKED, CHAR: ASCII, ECHAR: EBCDIC, BINARY: BYTES }),
  ['IFB_FLLNUM', { ...PACKED_F, prefix: PREFIX.bcd(2) } as ClassForm],
  ['IFB_FLLLNUM', { ...PACKED_F, prefix: PREFIX.bcd(3) } as ClassForm],
  ['IFEA_LLCHAR', { ...ASCII, prefix: PREFIX.ebcdic(2) } as ClassForm],
  ['IFAE_LLCHAR', { ...EBCDIC, prefix: PREFIX.ascii(2) } as ClassForm],
  ['IFEB_LLNUM', { ...PACKED_F, side: 'right', unit: 'bytes', prefix: PREFIX.ebcdic(2) } as ClassForm],
]);

const BITMAPS: Readonly<Record<string, BinaryEncoding>> = {
  IFB_BITMAP: 'binary',
  IFA_BITMAP: 'hex',
  IFE_BITMAP: 'ebcdic-hex',
};

/** Why classes and packagers that occur in public files are not converted. */
const REASONS: Readonly<Record<string, string>> = {
  IFA_FLLCHAR: 'its prefix is the length before it is padded, so bytes follow that no length counts',
  IFA_FLLNUM: 'its prefix is the length before it is padded, so bytes follow that no length counts',
  IFEP_LLCHAR: 'it is an element with a tag, which only a packager of tagged elements can read',
  IFEP_LLLBINARY: 'it is an element with a tag, which only a packager of tagged elements can read',
  EuroSubFieldPackager:
    'it takes the length of an element for its number, and four characters may precede the elements',
  GICCSubFieldPackager: 'a filler without a length may precede its elements',
  DatasetPackager: 'it announces TLV with the last bit of any part of the bitmap and numbers the elements otherwise',
  GenericTaggedFieldsPackager: 'its tags are in a class of Java, not in this file',
  TaggedSequencePackager: 'its tags are mapped by a class of Java, not in this file',
};

/** Elements of GenericValidatingPackager: checks of values that change no byte. */
const VALIDATORS = ['isofieldvalidator', 'isovalidator', 'property'];

/** @throws StartError BAD_CONFIG with every field that cannot be expressed */
export function readJposPackager(text: string, name: string, findings: Findings): ImportedSpec {
  const root = readXml(text, findings);
  if (root.name !== 'isopackager') throw findings.fault(root, `Expected an isopackager, not ${root.name}.`);
  const { headerLength, emitBitmap, bitmapField, firstField, thirdBitmapField } = root.attributes;
  if (emitBitmap !== undefined && !isTrue(emitBitmap))
    findings.refuse(
      { line: root.line, property: 'emitBitmap' },
      'a message without a bitmap is no message of ISO 8583',
    );
  for (const [property, value, expected] of [
    ['bitmapField', bitmapField, 1],
    ['firstField', firstField, 2],
  ] as const)
    if (value !== undefined && readSize(value) !== expected)
      findings.refuse({ line: root.line, property }, `the bitmap is field 1 and the first field is 2, not ${value}`);
  const headerBytes = headerLength === undefined ? 0 : readSize(headerLength);
  if (headerBytes === undefined)
    findings.refuse({ line: root.line, property: 'headerLength' }, 'expected a number of bytes');
  const rows = rowsById(root, '', findings);
  const mti = rows.get(0);
  const bitmap = rows.get(1);
  const numbers = [...rows.keys()].filter((id) => id > 1);
  const spec = {
    name,
    ...(headerBytes ? { headerBytes } : {}),
    mti: { encoding: mtiEncoding(mti, findings) },
    bitmap: bitmapLayout(bitmap, numbers, { thirdBitmapField, rows }, findings),
    fields: fieldTable(
      rows,
      numbers.filter((id) => id !== readSize(thirdBitmapField)),
      '',
      findings,
    ),
  };
  findings.check();
  return { spec: defineSpec(spec), notes: findings.notes };
}

function mtiEncoding(element: XmlElement | undefined, findings: Findings): TextEncoding {
  const form = element && CLASSES.get(classOf(element));
  if (form?.content === 'n' && form.prefix === undefined && readSize(element!.attributes.length) === 4)
    return form.encoding;
  findings.refuse({ line: element?.line, field: '0' }, 'expected four digits of fixed length, the MTI');
  return 'ascii';
}

function bitmapLayout(
  element: XmlElement | undefined,
  numbers: readonly number[],
  { thirdBitmapField, rows }: { thirdBitmapField: string | undefined; rows: ReadonlyMap<number, XmlElement> },
  findings: Findings,
): BitmapLayout {
  const encoding = element && BITMAPS[classOf(element)];
  if (encoding === undefined) {
    findings.refuse(
      { line: element?.line, field: '1', property: element && `class ${classOf(element)}` },
      'no bitmap of a message',
    );
    return { encoding: 'binary' };
  }
  const place = { line: element!.line, field: '1' };
  const bytes = readSize(element!.attributes.length) ?? 0;
  const third = thirdBitmapField === undefined ? undefined : readSize(thirdBitmapField);
  const thirdRow = third === undefined ? undefined : rows.get(third);
  const isThird = third === 65 || third === 128;
  if (thirdBitmapField !== undefined && !(isThird && thirdRow && classOf(thirdRow) === classOf(element!)))
    findings.refuse(place, 'a third bitmap can be field 65 or 128, in the encoding of the others');
  const most = third === undefined ? bytes * 8 : 192;
  if (bytes % 8 !== 0 || numbers.some((number) => number > most))
    findings.refuse(place, `a bitmap of ${bytes} bytes does not have every field of the table`);
  if (encoding === 'ebcdic-hex' && bytes > 8)
    findings.note(
      place,
      'if no field above 32 is present, this class writes a second bitmap that it does not read; the table writes none',
    );
  return { encoding, ...(isThird ? { thirdAt: third } : {}) };
}

/** The elements of the fields inside an element, by number. */
function rowsById(parent: XmlElement, path: string, findings: Findings): ReadonlyMap<number, XmlElement> {
  const rows = new Map<number, XmlElement>();
  for (const element of parent.children) {
    if (VALIDATORS.includes(element.name)) continue;
    const id = readSize(element.attributes.id);
    const place = { line: element.line, field: path + (element.attributes.id ?? '?') };
    findings.count(place);
    if (element.name !== 'isofield' && element.name !== 'isofieldpackager')
      findings.refuse(place, `the element ${element.name} is no field`);
    else if (id === undefined || id > 192) findings.refuse(place, 'a field has a number from 0 to 192');
    else {
      if (rows.has(id)) findings.note(place, 'it replaces an earlier field with this number, as in jPOS');
      rows.set(id, element);
    }
  }
  return rows;
}

function fieldTable(
  rows: ReadonlyMap<number, XmlElement>,
  numbers: readonly number[],
  path: string,
  findings: Findings,
): Record<number, Field> {
  const names = new FieldNames();
  const fields: Record<number, Field> = {};
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const element = rows.get(number)!;
    const field = readField(element, path + number, names, findings);
    if (field !== undefined) fields[number] = field;
  }
  return fields;
}

/** A class that writes nothing, wherever its bit is set. */
const isEmpty = (element: XmlElement) =>
  classOf(element) === 'IF_NOP' || (classOf(element) === 'IF_CHAR' && readSize(element.attributes.length) === 0);

function readField(element: XmlElement, path: string, names: FieldNames, findings: Findings): Field | undefined {
  const className = classOf(element);
  const place = { line: element.line, field: path, property: `class ${className}` };
  const { attributes } = element;
  if (isEmpty(element))
    return void findings.note(place, 'it has no bytes and is left out: a message that has it is refused');
  for (const property of ['params', 'encoding'])
    if (attributes[property]) return findings.refuse({ ...place, property }, 'it changes what the class does');
  if (isTrue(attributes.inclusive))
    return findings.refuse({ ...place, property: 'inclusive' }, 'a length that counts itself');
  if (isTrue(attributes.trim))
    return findings.refuse({ ...place, property: 'trim' }, 'only the last subfield of a list can be shorter');
  if (className === 'IFE_BINARY')
    findings.note(place, 'jPOS reads the hex digits A to F of this class as B to G; the table does not');
  const form = CLASSES.get(className);
  const max = readSize(attributes.length);
  if (form === undefined) return findings.refuse(place, REASONS[className] ?? 'an unknown class');
  if (max === undefined || max === 0)
    return findings.refuse({ ...place, property: 'length' }, 'expected a length from 1');
  if (form.prefix !== undefined && max > mostOf(form.prefix))
    return findings.refuse(
      { ...place, property: 'length' },
      `${max} does not fit the prefix of ${className}, and jPOS refuses it as well`,
    );
  const { name } = attributes;
  const named = names.of(name, path.split('.').at(-1)!);
  if (element.name === 'isofieldpackager') return readComposite(element, path, form, max, named, findings);
  const field = leafOf(form, max, isTrue(attributes.pad), isTrack(path));
  if (field === undefined)
    return findings.refuse(place, 'packed digits after a sign must fill whole bytes or begin with a zero');
  return { ...field, ...named } as Field;
}

/** Track 2 and 3 contain `=` or `D`, which numbers do not. */
const isTrack = (path: string) => path === '35' || path === '36';

type Unnamed<F> = F extends unknown ? Omit<F, 'name'> : never;

/** The row of a class. `isPadded` is the attribute `pad`: packed digits are filled on the left. */
function leafOf(form: ClassForm, max: number, isPadded: boolean, isTrackField = false): Unnamed<Field> | undefined {
  const { prefix } = form;
  const size = { min: prefix === undefined ? max : 0, max, ...(prefix === undefined ? {} : { prefix }) };
  if (form.content === 'b') return { kind: 'binary', encoding: form.encoding, ...size };
  if (form.encoding === 'x+bcd') {
    // Without `pad`, an odd number of digits after the sign would end with a zero.
    return max % 2 === 1 || isPadded ? { kind: 'text', content: 'x+n', encoding: 'x+bcd', ...size } : undefined;
  }
  if (form.content === 'text') {
    const content = form.encoding === 'ascii' ? 'any' : 'ans';
    const pad = prefix === undefined ? { pad: { side: 'right', with: ' ' } as const } : {};
    return { kind: 'text', content, encoding: form.encoding, ...size, ...pad };
  }
  const content = form.content === 'n' && isTrackField ? 'z' : form.content;
  if (form.encoding !== 'bcd') return { kind: 'text', content, encoding: form.encoding, ...size };
  const isLeft = (form.side ?? (isPadded ? 'left' : 'right')) === 'left';
  const fill = isLeft ? '0' : (form.fill ?? '0');
  const isDefault = content === 'n' && fill === '0';
  return {
    kind: 'text',
    content,
    encoding: isLeft ? 'bcd' : 'bcd-right',
    ...size,
    ...(isDefault ? {} : { fill }),
    ...(form.unit === undefined ? {} : { unit: form.unit }),
  };
}

/** Packagers whose subfields have a bitmap or follow one another. jPOS packs them to bytes first, so only those matter. */
function readComposite(
  element: XmlElement,
  path: string,
  form: ClassForm,
  max: number,
  named: { readonly name: string },
  findings: Findings,
): Field | undefined {
  const packager = (element.attributes.packager ?? '').trim().split('.').at(-1)!;
  const place = { line: element.line, field: path, property: `packager ${packager}` };
  const isRaw =
    form.content === 'b'
      ? form.encoding === 'binary'
      : form.content === 'text' && form.encoding === 'ascii' && form.prefix;
  if (!isRaw)
    return findings.refuse(
      { ...place, property: `class ${classOf(element)}` },
      'it encodes the bytes of its subfields once more',
    );
  const { prefix } = form;
  const outer = { ...named, min: prefix === undefined ? max : 0, max, ...(prefix === undefined ? {} : { prefix }) };
  const rows = rowsById(element, `${path}.`, findings);
  if (packager === 'Base1SubFieldPackager') return base1Fields(rows, path, outer, place, findings);
  if (packager !== 'GenericSubFieldPackager')
    return findings.refuse(place, REASONS[packager] ?? 'what this class does with its subfields is not in the file');
  const { emitBitmap, bitmapField = '1', firstField } = element.attributes;
  for (const [property, value] of Object.entries({ bitmapField, firstField }))
    if (value !== undefined && readSize(value) === undefined)
      return findings.refuse({ ...place, property }, 'expected the number of a subfield');
  const isBitmap = (id: number) => rows.has(id) && classOf(rows.get(id)!).includes('BITMAP');
  const byDefault = rows.get(0)?.name === 'isofieldpackager' ? 0 : isBitmap(1) ? 2 : 1;
  const first = firstField === undefined ? byDefault : readSize(firstField)!;
  const ids = [...rows.keys()].filter((id) => id >= first).sort((a, b) => a - b);
  if (emitBitmap !== undefined && !isTrue(emitBitmap)) return listedFields(rows, ids, path, outer, findings);
  const at = readSize(bitmapField)!;
  const bitmap = rows.get(at);
  const encoding = bitmap && BITMAPS[classOf(bitmap)];
  if (encoding === undefined || ids.includes(at))
    return findings.refuse(place, `it takes subfield ${at} for the bitmap, which it is not`);
  const bytes = readSize(bitmap!.attributes.length) ?? 0;
  const bitmapPlace = { line: bitmap!.line, field: `${path}.${at}`, property: `class ${classOf(bitmap!)}` };
  const isChained = ids.some((id) => id > 64);
  if (ids.some((id) => id > bytes * 8) || (isChained && bytes !== 16))
    return findings.refuse(
      bitmapPlace,
      'subfields have a bitmap of up to 8 bytes, or of 16 that the first bit announces',
    );
  if (bytes > 8 && ids.includes(1))
    return findings.refuse(
      bitmapPlace,
      'subfield 1 and a second bitmap have the same bit, and jPOS then reads other bytes than it writes',
    );
  if (encoding === 'ebcdic-hex') return findings.refuse(bitmapPlace, 'its length depends on the highest subfield');
  const fields = fieldTable(rows, ids, `${path}.`, findings);
  return {
    kind: 'bitmapped',
    ...outer,
    bitmap: isChained ? { bytes, encoding, form: 'chained' } : { bytes: Math.min(bytes, 8), encoding },
    fields,
  };
}

/** Field 126 of Base I: a bitmap of 64 bits, whose first bit is subfield 1. jPOS misreads a message that has subfield 64. */
function base1Fields(
  rows: ReadonlyMap<number, XmlElement>,
  path: string,
  outer: { readonly name: string; readonly min: number; readonly max: number },
  place: { readonly line: number; readonly field: string },
  findings: Findings,
): Field | undefined {
  const ids = [...rows.keys()].filter((id) => id > 0);
  if (rows.get(0) === undefined || classOf(rows.get(0)!) !== 'Base1_BITMAP126' || ids.some((id) => id > 63))
    return findings.refuse(place, 'expected Base1_BITMAP126 as subfield 0, and subfields up to 63');
  return {
    kind: 'bitmapped',
    ...outer,
    bitmap: { bytes: 8, encoding: 'binary' },
    fields: fieldTable(rows, ids, `${path}.`, findings),
  };
}

/** Subfields one after another. `trim` of the last one means that it takes what is left. */
function listedFields(
  rows: ReadonlyMap<number, XmlElement>,
  ids: readonly number[],
  path: string,
  outer: { readonly name: string; readonly min: number; readonly max: number },
  findings: Findings,
): Field | undefined {
  const names = new FieldNames();
  const last = ids.at(-1);
  const fields = ids.flatMap((id, index): (Field | undefined)[] => {
    const element = rows.get(id)!;
    if (index > 0 && id !== ids[index - 1]! + 1)
      return [
        findings.refuse(
          { line: element.line, field: `${path}.${id}` },
          'a subfield before it is missing from the file',
        ),
      ];
    if (isEmpty(element)) return [];
    const { trim, ...attributes } = element.attributes;
    if (id !== last || !isTrue(trim)) return [readField(element, `${path}.${id}`, names, findings)];
    const field = readField({ ...element, attributes }, `${path}.${id}`, names, findings);
    if (field?.kind !== 'text' || field.pad === undefined)
      return [
        field &&
          findings.refuse(
            { line: element.line, field: `${path}.${id}`, property: 'trim' },
            'only text without a prefix can be shorter',
          ),
      ];
    const { pad: _, ...rest } = field;
    return [{ ...rest, min: 1, end: 'rest' }];
  });
  if (fields.includes(undefined)) return undefined;
  if (fields.length === 0) return findings.refuse({ field: path }, 'it has no subfields');
  return { kind: 'positional', ...outer, fields: fields as Field[] };
}

const classOf = ({ attributes }: XmlElement) => (attributes.class ?? '').trim().split('.').at(-1)!;
const isTrue = (text: string | undefined) => text?.trim().toLowerCase() === 'true';

const PACKAGE = 'org.jpos.iso.';

/**
 * A spec as a packager of jPOS. Each row is written as the class whose row, read back, has the same bytes.
 *
 * @throws StartError BAD_CONFIG with every field that no class expresses
 */
export function writeJposPackager(spec: Spec, findings: Findings): string {
  const { bitmap, encodings, headerBytes = 0 } = spec;
  if (spec.layouts?.length) findings.refuse({ property: 'layouts' }, 'a packager has the same fields for every MTI');
  if (spec.rules?.length)
    findings.note({ property: 'rules' }, 'a packager checks no presence of fields; the rules are left out');
  if (typeof headerBytes === 'object')
    findings.refuse({ property: 'headerBytes' }, 'the header of a packager has a fixed length');
  if (bitmap.form === 'fixed' || (bitmap.blocks ?? 1) > 1)
    findings.refuse({ property: 'bitmap' }, 'a packager writes a second bitmap only if a message needs it');
  const mtiClass = { ascii: 'IFA_NUMERIC', cp1047: 'IFE_NUMERIC', bcd: 'IFB_NUMERIC', 'bcd-right': 'IFB_NUMERIC' }[
    spec.mti.encoding as 'ascii'
  ];
  const bitmapClass = bitmapClassOf(bitmap.encoding);
  if (mtiClass === undefined)
    findings.refuse({ field: 'mti' }, `no class of jPOS writes digits in ${spec.mti.encoding}`);
  if (bitmapClass === undefined)
    findings.refuse({ field: 'bitmap' }, `no class of jPOS writes a bitmap in ${bitmap.encoding}`);
  const highest = Math.max(0, ...Object.keys(spec.fields).map(Number));
  const hasThird = bitmap.thirdAt !== undefined && highest > 128;
  const lines = [
    isoField(0, 4, 'MTI', mtiClass ?? '?', true),
    isoField(1, hasThird ? 16 : Math.max(1, Math.ceil(highest / 64)) * 8, 'BITMAP', bitmapClass ?? '?'),
    ...(hasThird ? [isoField(bitmap.thirdAt!, 8, 'BITMAP', bitmapClass ?? '?')] : []),
    ...elementsOf(spec.fields, '', encodings, findings),
  ];
  findings.check();
  const attributes = `${headerBytes ? ` headerLength="${headerBytes}"` : ''}${hasThird ? ` thirdBitmapField="${bitmap.thirdAt}"` : ''}`;
  const text = `<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<!DOCTYPE isopackager PUBLIC "-//jPOS/jPOS Generic Packager DTD 1.0//EN" "http://jpos.org/dtd/generic-packager-1.0.dtd">
<isopackager${attributes}>
${lines.map((line) => `  ${line}`).join('\n')}
</isopackager>
`;
  return text;
}

function elementsOf(
  fields: Readonly<Record<string, Field>>,
  path: string,
  encodings: Encodings,
  findings: Findings,
  first = 0,
): string[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const id = Number(key) + first;
    const place = { field: path + key };
    const title = field.title ?? field.name;
    if (field.kind === 'text' || field.kind === 'binary') {
      const end = field.end === 'rest' ? 'trim' : undefined;
      const written = end === 'trim' ? { ...field, min: field.max, end: undefined } : field;
      const found = field.end === undefined || end ? classFor(written, encodings, isTrack(path + key)) : undefined;
      if (found === undefined)
        return findings.refuse(place, `no class of jPOS has this form: ${inWords(field, encodings)}`) ?? [];
      return [isoField(id, field.max, title, found.name, found.isPadded, end === 'trim')];
    }
    const { min, max } = field;
    const outer = classFor(
      { kind: 'binary', name: 'x', encoding: 'binary', min, max, prefix: field.prefix },
      encodings,
    );
    if (outer === undefined || field.end !== undefined)
      return findings.refuse(place, 'no class of jPOS has such a length') ?? [];
    if (field.kind === 'tlv' && (field.encoding ?? 'binary') === 'binary') {
      findings.note(place, 'jPOS does not check that these bytes are TLV');
      return [isoField(id, max, title, outer.name)];
    }
    const inside = insideOf(field, encodings);
    if (inside === undefined)
      return findings.refuse(place, `no packager of jPOS alone has this form: ${inWords(field, encodings)}`) ?? [];
    const attributes = `length="${max}" name="${escaped(title)}" class="${PACKAGE}${outer.name}" packager="${PACKAGE}packager.GenericSubFieldPackager"`;
    const shift = field.kind === 'positional' ? -1 : 0;
    return [
      `<isofieldpackager id="${id}" ${attributes} ${inside.attributes}>`,
      ...[...inside.lines, ...elementsOf(subfieldsOf(field), `${path}${key}.`, encodings, findings, shift)].map(
        (line) => `  ${line}`,
      ),
      '</isofieldpackager>',
    ];
  });
}

function insideOf(
  field: Field,
  encodings: Encodings,
): { readonly attributes: string; readonly lines: string[] } | undefined {
  if (field.kind === 'positional' && field.separator === undefined)
    return { attributes: 'emitBitmap="false" firstField="0"', lines: [] };
  if (field.kind !== 'bitmapped') return undefined;
  const { bytes, form } = field.bitmap;
  if (form === 'chained' ? bytes !== 16 : bytes > 8) return undefined;
  const className = bitmapClassOf(field.bitmap.encoding ?? encodings.binary);
  if (className === undefined || className === 'IFE_BITMAP') return undefined;
  const lines = [isoField(0, bytes, 'BITMAP', className)];
  return { attributes: 'emitBitmap="true" bitmapField="0" firstField="1"', lines };
}

/** The class that writes what a row does. Padding of text only adds values that the row refuses. */
function classFor(
  field: Field,
  encodings: Encodings,
  isTrackField = false,
): { readonly name: string; readonly isPadded: boolean } | undefined {
  const isNumber = field.kind === 'text' && (field.content === 'n' || field.content === 'z');
  const wanted = bytesOf(field, encodings);
  for (const [name, form] of CLASSES) {
    if (form.content === 'n' && !isNumber) continue;
    for (const isPadded of [false, true]) {
      const leaf = leafOf(form, field.max, isPadded, isTrackField);
      if (leaf !== undefined && bytesOf({ ...leaf, name: 'x' } as Field, encodings) === wanted)
        return { name, isPadded };
    }
  }
  return undefined;
}

/** What decides about the bytes of a field. The least length and the content only limit the values. */
function bytesOf(field: Field, encodings: Encodings): string {
  const { content, length, padding, ...form } = formOf(field, encodings);
  const isFixed = field.prefix === undefined;
  const isPaddedOtherwise = (field as TextField).pad?.side === 'left' && padding;
  const sign = content === 'x+n' || content === '+n' ? content : content === 'b' ? 'b' : 'text';
  return JSON.stringify([sign, isFixed, isPaddedOtherwise ?? '', Object.entries(form).sort()]);
}

const inWords = (field: Field, encodings: Encodings) =>
  Object.entries(formOf(field, encodings))
    .map(([property, value]) => `${property} ${value}`)
    .join(', ');

const bitmapClassOf = (encoding: BinaryEncoding) => Object.keys(BITMAPS).find((name) => BITMAPS[name] === encoding);

function isoField(
  id: number,
  length: number,
  name: string,
  className: string,
  isPadded = false,
  isTrimmed = false,
): string {
  const pad = isPadded ? ' pad="true"' : '';
  return `<isofield id="${id}" length="${length}" name="${escaped(name)}"${pad}${isTrimmed ? ' trim="true"' : ''} class="${PACKAGE}${className}"/>`;
}

const escaped = (text: string) =>
  text.replace(/[&<>"]/g, (each) => `&${{ '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' }[each]};`);

/** An element with its attributes. Text between elements is not kept, because packagers have none. */
interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  /** From 1. */
  readonly line: number;
}

const TAG = /<(\/?)([A-Za-z_][\w.-]*)((?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y;
const ATTRIBUTE = /([A-Za-z_][\w.:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
/** The parts of a document type: declarations, comments, quoted names, and one part in brackets. */
const DOCTYPE = /<!DOCTYPE(?:[^[\]<>"']|"[^"]*"|'[^']*')*(?:\[((?:<!--[\s\S]*?-->|[^\]])*)\]\s*)?>/y;
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/**
 * Reads the part of XML that packagers consist of: elements, attributes, comments and a document type. Everything else is
 * refused, and above all what makes XML from others dangerous: entities are neither declared nor expanded, and no file or
 * address that the document names is opened.
 *
 * @throws StartError BAD_CONFIG with the line
 */
export function readXml(text: string, findings: Findings): XmlElement {
  const open: { readonly element: XmlElement; readonly children: XmlElement[] }[] = [];
  let root: XmlElement | undefined;
  let position = 0;
  let line = 1;
  const refuse = (reason: string) => findings.fault({ line }, reason);
  const advance = (to: number) => {
    for (let at = position; at < to; at++) if (text.charCodeAt(at) === 0x0a) line++;
    position = to;
  };
  const skipThrough = (end: string, what: string) => {
    const at = text.indexOf(end, position);
    if (at < 0) throw refuse(`The ${what} does not end.`);
    advance(at + end.length);
  };
  for (;;) {
    const next = text.indexOf('<', position);
    if (next < 0) break;
    advance(next);
    if (text.startsWith('<!--', position)) skipThrough('-->', 'comment');
    else if (text.startsWith('<?', position)) skipThrough('?>', 'processing instruction');
    else if (text.startsWith('<!DOCTYPE', position)) {
      const type = matchAt(DOCTYPE, text, position);
      if (type === undefined || root !== undefined || open.length > 0) throw refuse('The document type is malformed.');
      const declared = (type[1] ?? '').replace(/<!--[\s\S]*?-->/g, '');
      if (/<!ENTITY|%/.test(declared)) throw refuse('The document declares entities, which are not expanded.');
      if (/<!ATTLIST[^>]*["']/.test(declared)) throw refuse('The document declares default values of attributes.');
      advance(position + type[0].length);
    } else {
      const tag = matchAt(TAG, text, position);
      if (tag === undefined) throw refuse('Expected an element, a comment or a document type.');
      const [whole, isEnd, name, attributes, isEmpty] = tag as unknown as [string, string, string, string, string];
      if (isEnd !== '') {
        const closed = open.pop();
        if (closed?.element.name !== name || attributes !== '') throw refuse(`The end of ${name} is in a wrong place.`);
      } else {
        if (root !== undefined && open.length === 0) throw refuse('A document has one outermost element.');
        if (open.length === MAX_SPEC_DEPTH) throw refuse(`Elements are nested deeper than ${MAX_SPEC_DEPTH}.`);
        const children: XmlElement[] = [];
        const element = { name, attributes: attributesOf(attributes, refuse), children, line };
        open.at(-1)?.children.push(element);
        root ??= element;
        if (isEmpty === '') open.push({ element, children });
      }
      advance(position + whole.length);
    }
  }
  if (root === undefined || open.length > 0) throw refuse('The document ends before its outermost element.');
  return root;
}

function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | undefined {
  pattern.lastIndex = position;
  return pattern.exec(text) ?? undefined;
}

function attributesOf(text: string, refuse: (reason: string) => Error): Record<string, string> {
  const attributes: Record<string, string> = Object.create(null);
  for (const [, name, inDouble, inSingle] of text.matchAll(ATTRIBUTE)) {
    if (name! in attributes) throw refuse(`The attribute ${name} occurs twice.`);
    attributes[name!] = (inDouble ?? inSingle)!.replace(/&([^;]*);?/g, (_, entity: string) =>
      characterOf(entity, refuse),
    );
  }
  return attributes;
}

function characterOf(entity: string, refuse: (reason: string) => Error): string {
  const number = /^#(?:x([0-9A-Fa-f]{1,6})|([0-9]{1,7}))$/.exec(entity);
  const code = number === null ? -1 : Number.parseInt((number[1] ?? number[2])!, number[1] === undefined ? 10 : 16);
  if (code > 0 && code <= 0x10ffff) return String.fromCodePoint(code);
  if (Object.hasOwn(NAMED, entity)) return NAMED[entity]!;
  throw refuse('An entity other than the five of XML is not expanded.');
}
