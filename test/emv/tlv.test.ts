import { describe, expect, test } from 'vitest';
import { TlvError } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { indexTlv, MAX_TLV_BYTES, MAX_TLV_DEPTH, MAX_TLV_OBJECTS, type TlvOptions } from '../../src/codecs/emv/tlv.ts';
import { nested } from './tlv-arbitraries.ts';

const index = (hex: string, options?: TlvOptions) => indexTlv(fromHex(hex.replaceAll(' ', '')), options);

/** The refusal of a blob as `CODE@offset`. */
function refusal(hex: string, options?: TlvOptions): string {
  try {
    index(hex, options);
  } catch (error) {
    if (error instanceof TlvError) return `${error.code}@${error.offset}`;
    throw error;
  }
  return 'accepted';
}

describe('values', () => {
  const blob = index('9F02 06 000000001000  70 09 9F27 01 80  5A 03 541333  9F27 01 40');

  test('a value is found with its tag at any depth, the first with that tag', () => {
    expect(blob.hex(0x9f02)).toBe('000000001000');
    expect(blob.value(0x5a)).toEqual(Uint8Array.of(0x54, 0x13, 0x33));
    expect(blob.hex(0x9f27)).toBe('80');
    expect(blob.has(0x70)).toBe(true);
    expect(blob.count).toBe(5);
  });

  test('a missing tag has no value', () => {
    expect(blob.has(0x57)).toBe(false);
    expect(blob.value(0x57)).toBeUndefined();
    expect(blob.hex(0x57)).toBeUndefined();
    expect(blob.single(0x57)).toBeUndefined();
  });

  test('a value is a view of the blob, not a copy', () => {
    const bytes = fromHex('9F270180');
    const value = indexTlv(bytes).value(0x9f27)!;
    expect(value.buffer).toBe(bytes.buffer);
    expect(value.byteOffset).toBe(bytes.byteOffset + 3);
  });

  test('a view into a larger buffer is indexed with its own offsets', () => {
    const larger = fromHex('FFFFFF9F270180FFFF');
    const inner = indexTlv(larger.subarray(3, 7));
    expect(inner.hex(0x9f27)).toBe('80');
    expect(inner.count).toBe(1);
  });

  test('two different values of a tag conflict if one is expected, at the offset of the second', () => {
    expect(() => blob.single(0x9f27)).toThrow(
      expect.objectContaining({ code: 'CONFLICTING_VALUES', offset: 23, tag: 0x9f27 }),
    );
    expect(() => index('9F2600 9F260101').single(0x9f26)).toThrow(TlvError);
  });

  test('the same value twice is one value', () => {
    expect(index('57 02 1234 70 04 57 02 1234').single(0x57)).toEqual(Uint8Array.of(0x12, 0x34));
  });

  test('two indexes do not affect each other', () => {
    const first = index('9F27 01 80');
    const second = index('E1 05 9F36 02 0001 9A 00');
    expect([...first].map(({ tag }) => tag)).toEqual([0x9f27]);
    expect([...second].map(({ tag }) => tag)).toEqual([0xe1, 0x9f36, 0x9a]);
  });

  test('a printed or serialized index shows no card data', async () => {
    const { inspect } = await import('node:util');
    const printed = inspect(blob, { showHidden: true, depth: 9 }) + JSON.stringify(blob) + String(blob);
    expect(printed).not.toContain('541333');
    expect(printed).not.toContain('84');
  });
});

describe('objects', () => {
  test('iterating returns every object in the order of the bytes, with its depth', () => {
    const objects = [...index('E0 08 9A 01 01 EF 03 8A 01 CC')].map(
      ({ tag, depth, constructed, hasChildren, value }) => {
        return { tag, depth, constructed, hasChildren, bytes: value.length };
      },
    );
    expect(objects).toEqual([
      { tag: 0xe0, depth: 0, constructed: true, hasChildren: true, bytes: 8 },
      { tag: 0x9a, depth: 1, constructed: false, hasChildren: false, bytes: 1 },
      { tag: 0xef, depth: 1, constructed: true, hasChildren: true, bytes: 3 },
      { tag: 0x8a, depth: 2, constructed: false, hasChildren: false, bytes: 1 },
    ]);
  });

  test('an empty input has no objects', () => {
    expect(index('').count).toBe(0);
    expect(index('').tree()).toEqual([]);
  });
});

describe('padding', () => {
  test.each([
    ['00 between, before and after objects', '0000 9A0101 00 9C0100 0000'],
    ['FF between, before and after objects', 'FF 9A0101 FFFF 9C0100 FF'],
    ['FF before a tag that no kernel has', '9A0101 FF 9C0100 FF80'.slice(0, -2)],
  ])('%s is skipped', (_, hex) => {
    expect(index(hex).tree()).toEqual([
      { tag: '9A', value: '01' },
      { tag: '9C', value: '00' },
    ]);
  });

  test.each([
    'FF60',
    'FF62',
    'FF63',
    'FF8101',
    'FF8102',
    'FF8103',
    'FF8104',
    'FF8105',
    'FF8106',
  ])('%s is a tag, not padding', (tag) => {
    expect(index(`${tag} 03 9A0101`).tree()).toEqual([{ tag, children: [{ tag: '9A', value: '01' }] }]);
  });

  test('FF61 and FF8107 are padding followed by an object', () => {
    expect(index('FF 61 00').tree()).toEqual([{ tag: '61', children: [] }]);
    expect(index('FF 81 07 01020304050607').tree()).toEqual([{ tag: '81', value: '01020304050607' }]);
  });

  test('an FF at the end of a template does not read the bytes after it', () => {
    expect(index('70 04 9A0101 FF 60 00').tree()).toEqual([
      { tag: '70', children: [{ tag: '9A', value: '01' }] },
      { tag: '60', children: [] },
    ]);
    expect(index('70 05 9A0101 FF 00 9C0100').tree()).toHaveLength(2);
  });

  test('a value may be made of padding bytes', () => {
    expect(index('9F10 04 00FF00FF').hex(0x9f10)).toBe('00FF00FF');
  });

  test('padding is not an object, in any amount', () => {
    expect(indexTlv(new Uint8Array(MAX_TLV_BYTES)).count).toBe(0);
    expect(indexTlv(new Uint8Array(MAX_TLV_BYTES).fill(0xff)).count).toBe(0);
  });
});

describe('refusals', () => {
  test.each([
    ['a tag cut after its first byte', '5F', 'TAG_TRUNCATED@0'],
    ['a tag cut after its second byte', '9A0101 DF81', 'TAG_TRUNCATED@3'],
    ['a tag of four bytes', '1F858101 00', 'TAG_TOO_LONG@0'],
    ['a tag without a length', '9A0101 9C', 'LENGTH_MISSING@4'],
    ['a length cut after 81', '9F10 81', 'LENGTH_TRUNCATED@2'],
    ['a length cut after 83 and two bytes', '9F10 830000', 'LENGTH_TRUNCATED@2'],
    ['a length of four bytes', '9F10 8400000001 AA', 'LENGTH_TOO_LONG@2'],
    ['an indefinite length', '70 80 9A0101 0000', 'LENGTH_INDEFINITE@1'],
    ['a value cut short', '9F26 08 1122', 'VALUE_TRUNCATED@3'],
    ['a value whose length is far beyond the input', '9F26 83FFFFFF 11', 'VALUE_TRUNCATED@6'],
    ['a child that reaches past its parent', '70 04 9F26 04 1122 3344', 'VALUE_TRUNCATED@5'],
    ["a child's tag cut at the end of its parent", '70 01 9F 2600', 'TAG_TRUNCATED@2'],
    ["a child's length cut at the end of its parent", '70 02 9F26 0111', 'LENGTH_MISSING@4'],
    ["a child's long length cut at the end of its parent", '70 03 9F26 81 01 11', 'LENGTH_TRUNCATED@4'],
    ['six bytes on which the package tlv never returns', '5A8480000000', 'LENGTH_TOO_LONG@1'],
  ])('%s is refused', (_, hex, expected) => {
    expect(refusal(hex)).toBe(expected);
  });

  test('the error names code and offset, and none of the bytes', () => {
    try {
      index('5413330089010640');
      expect.unreachable();
    } catch (error) {
      expect((error as TlvError).message).toBe('VALUE_TRUNCATED: at byte 2');
      expect((error as TlvError).tag).toBe(0x54);
    }
  });
});

describe('limits', () => {
  const inner = Uint8Array.of(0x9a, 0x01, 0x01);

  test('templates may nest as deep as the limit and no deeper', () => {
    expect([...indexTlv(nested(MAX_TLV_DEPTH, inner))].at(-1)).toMatchObject({ tag: 0x9a, depth: MAX_TLV_DEPTH });
    expect(() => indexTlv(nested(MAX_TLV_DEPTH + 1, inner))).toThrow(
      expect.objectContaining({ code: 'TOO_DEEP', offset: 16 }),
    );
  });

  test('objects up to the limit are accepted, and no more', () => {
    expect(indexTlv(fromHex('9A00'.repeat(MAX_TLV_OBJECTS))).count).toBe(MAX_TLV_OBJECTS);
    expect(refusal('9A00'.repeat(MAX_TLV_OBJECTS + 1))).toBe(`TOO_MANY_OBJECTS@${2 * MAX_TLV_OBJECTS}`);
  });

  test('a blob may be as long as the limit and no longer', () => {
    const blob = new Uint8Array(MAX_TLV_BYTES);
    blob.set([0x9f, 0x10, 0x82, 0xff, 0xfb]);
    const atTheEnd = new Uint8Array(MAX_TLV_BYTES);
    atTheEnd.set([0x9f, 0x10, 0x00], MAX_TLV_BYTES - 3);
    expect(indexTlv(blob).value(0x9f10)!.length).toBe(MAX_TLV_BYTES - 5);
    expect(indexTlv(atTheEnd).value(0x9f10)).toHaveLength(0);
    expect(() => indexTlv(new Uint8Array(MAX_TLV_BYTES + 1))).toThrow(
      expect.objectContaining({ code: 'TOO_LARGE', offset: MAX_TLV_BYTES }),
    );
  });
});

describe('a template whose value is not TLV', () => {
  const script = '71 06 112233445566  72 03 AABBCC  8A 02 3030';

  test('is refused by default', () => {
    expect(refusal(script)).toBe('VALUE_TRUNCATED@4');
    expect(refusal(script, { onBadChild: 'refuse' })).toBe('VALUE_TRUNCATED@4');
  });

  test('is kept as bytes on request, and its siblings are unaffected', () => {
    const kept = [...index(script, { onBadChild: 'opaque' })];
    expect(kept.map(({ tag, constructed, hasChildren }) => [tag, constructed, hasChildren])).toEqual([
      [0x71, true, false],
      [0x72, true, false],
      [0x8a, false, false],
    ]);
  });

  test('discards the children that were read before the bad one', () => {
    const kept = index('71 07 9F1801AA 9F2609  8A 02 3030', { onBadChild: 'opaque' });
    expect(kept.has(0x9f18)).toBe(false);
    expect(kept.tree()).toEqual([
      { tag: '71', value: '9F1801AA9F2609' },
      { tag: '8A', value: '3030' },
    ]);
  });

  test('does not make its parents opaque', () => {
    expect(index('E1 08 71 03 112233 9A 01 01', { onBadChild: 'opaque' }).tree()).toEqual([
      {
        tag: 'E1',
        children: [
          { tag: '71', value: '112233' },
          { tag: '9A', value: '01' },
        ],
      },
    ]);
  });

  test('may also be one that nests too deep', () => {
    const kept = [...indexTlv(nested(MAX_TLV_DEPTH + 3, Uint8Array.of(0x9a, 0)), { onBadChild: 'opaque' })];
    expect(kept).toHaveLength(MAX_TLV_DEPTH);
    expect(kept.at(-1)).toMatchObject({ constructed: true, hasChildren: false });
  });

  test('excuses nothing at the top level, where there is no template to keep', () => {
    expect(refusal('9A0101 9F26 08 11', { onBadChild: 'opaque' })).toBe('VALUE_TRUNCATED@6');
  });

  test('does not lift the limit on objects', () => {
    const many = '9A00'.repeat(MAX_TLV_OBJECTS + 1);
    expect(refusal(`71 82 0202 ${many}`, { onBadChild: 'opaque' })).toMatch(/^TOO_MANY_OBJECTS@/);
  });
});
