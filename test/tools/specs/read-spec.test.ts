import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import type1 from '../../../processors/type-1/index.ts';
import type2 from '../../../processors/type-2/index.ts';
import type1993 from '../../../processors/type-1993/index.ts';
import { parseSpec } from '../../../src/codecs/iso8583/json-spec.ts';
import { readSpecFile } from '../../../src/tools/specs/read-spec.ts';
import { diffSpecs, MAX_SPEC_BYTES, MAX_SPEC_FIELDS } from '../../../src/tools/specs/spec-diff.ts';
import { specToJson } from '../../../src/tools/specs/write-spec.ts';
import { fileOf, isofield, packager, readAs } from './packager.ts';

describe('a file is recognized from its content', () => {
  test('the ending of its name does not matter', () => {
    expect(readAs('a.txt', packager(isofield(2, 'IFA_LLNUM', 19))).kind).toBe('jpos');
    expect(readAs('a.txt', specToJson(type1.spec)).kind).toBe('tapwire');
  });

  test.each([
    ['neither XML nor JSON', 'hello', 'neither XML nor JSON'],
    ['JSON of another kind', { elements: {} }, 'Expected a GenericPackager of jPOS'],
    ['a list', [], 'Expected a GenericPackager of jPOS'],
    ['a faulty spec of this gateway', { mti: {}, bitmap: {}, name: 'x', fields: {} }, 'SPEC_INVALID'],
  ])('%s is refused', (_what, content, reason) => {
    expect(() => readAs('a.json', content)).toThrow(reason);
  });
});

test('a folder is refused with a sentence', () => {
  expect(() => readSpecFile(tmpdir())).toThrow('It is a folder');
});

describe('limits', () => {
  test('a larger file than any specification is refused before it is read', () => {
    const path = fileOf('large.xml', ' '.repeat(MAX_SPEC_BYTES + 1));
    expect(() => readSpecFile(path)).toThrow('larger than');
  });

  test('more fields than any specification has are refused', () => {
    const rows = Array.from({ length: MAX_SPEC_FIELDS }, () => '<isofield id="2"/>');
    expect(() => readAs('many.xml', packager(...rows))).toThrow('more than');
  });

  test('deeper objects than any specification has are refused', () => {
    const deep = `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`;
    expect(() => readAs('deep.json', deep)).toThrow('nested deeper');
  });
});

test.each(
  [type1, type2, type1993].map((processor) => [processor.type, processor.spec] as const),
)('the JSON of the spec of %s is read back with the same bytes', (_type, spec) => {
  const { rules: _, ...again } = parseSpec(JSON.parse(JSON.stringify(specToJson({ ...spec, rules: undefined }))));
  expect(diffSpecs({ ...spec, rules: undefined }, again)).toEqual([]);
});

test('names are made of descriptions, each once', () => {
  const rows = [2, 3, 4].map((id) =>
    isofield(id, 'IFA_NUMERIC', 6).replace(`Field ${id}`, ['To  String', 'toString', '3D Secure'][id - 2]!),
  );
  const { spec } = readAs('p.xml', packager(...rows));
  expect(Object.values(spec.fields).map(({ name }) => name)).toEqual(['toString2', 'tostring', 'field3dSecure']);
});

test('a difference names the field and the property, before and after', () => {
  const before = readAs('a.xml', packager(isofield(2, 'IFA_LLNUM', 19), isofield(3, 'IFA_NUMERIC', 6))).spec;
  const after = readAs('b.xml', packager(isofield(2, 'IFB_LLNUM', 19), isofield(4, 'IFA_NUMERIC', 12))).spec;
  expect(diffSpecs(before, after)).toEqual([
    { field: '2', property: 'prefix', before: '2 ascii digits', after: '2 bcd digits' },
    { field: '2', property: 'encoding', before: 'ascii', after: 'bcd-right' },
    { field: '2', property: 'fill', before: undefined, after: '0' },
    { field: '2', property: 'counts', before: undefined, after: 'digits' },
    { field: '3', property: 'field', before: 'n', after: undefined },
    { field: '4', property: 'field', before: undefined, after: 'n' },
  ]);
});
