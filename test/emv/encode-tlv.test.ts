import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import {
  encodeTlv,
  indexTlv,
  MAX_TLV_BYTES,
  MAX_TLV_DEPTH,
  MAX_TLV_OBJECTS,
  type TlvNode,
  writeTlv,
} from '../../src/codecs/emv/tlv.ts';

const value = (hex: string) => fromHex(hex);
const zeros = (bytes: number) => new Uint8Array(bytes);

describe('encodeTlv', () => {
  test('writes tags of one, two and three bytes, templates and empty values, in the given order', () => {
    const objects: TlvNode[] = [
      { tag: 0x9f26, value: value('1122') },
      {
        tag: 0xe1,
        children: [
          { tag: 0x82, value: value('') },
          { tag: 0xff8105, children: [] },
        ],
      },
      { tag: 0xdf8129, value: value('30') },
      { tag: 0x9f26, value: value('1122') },
    ];
    expect(toHex(encodeTlv(objects))).toBe('9F26021122' + 'E106' + '8200' + 'FF810500' + 'DF81290130' + '9F26021122');
  });

  test.each([
    [0x00, '00'],
    [0x7f, '7F'],
    [0x80, '8180'],
    [0xff, '81FF'],
    [0x100, '820100'],
    [0xfffb, '82FFFB'],
  ])('a value of %i bytes gets the shortest possible length', (bytes, length) => {
    const encoded = toHex(encodeTlv([{ tag: 0x86, value: zeros(bytes) }]));
    expect(encoded).toBe(`86${length}${'00'.repeat(bytes)}`);
  });

  test('a length that was longer than needed is written in its shortest form', () => {
    expect(toHex(encodeTlv(indexTlv(value('9F708300000190')).nodes()))).toBe('9F700190');
  });

  test('a template kept as bytes is written unchanged', () => {
    const wire = '71061122334455668A023030';
    expect(toHex(encodeTlv(indexTlv(value(wire), { onBadChild: 'opaque' }).nodes()))).toBe(wire);
  });

  test.each([
    ['00', 0x00],
    ['FF', 0xff],
    ['a first byte that announces a second', 0x9f],
    ['a second byte that announces a third', 0x9f81],
    ['a third byte that announces a fourth', 0xdf8181],
    ['a second byte that was not announced', 0x9c01],
    ['FF61, which reads as padding', 0xff61],
    ['FF8107, which reads as padding', 0xff8107],
    ['more than three bytes', 0x1df810101],
    ['a fraction', 90.5],
    ['a negative number', -1],
  ])('%s cannot be written as a tag', (_, tag) => {
    expect(() => encodeTlv([{ tag, value: zeros(0) }])).toThrow(expect.objectContaining({ code: 'TAG_INVALID' }));
    expect(() => writeTlv(tag, zeros(0), zeros(9), 0)).toThrow(expect.objectContaining({ code: 'TAG_INVALID' }));
  });

  test('a primitive tag cannot have children', () => {
    expect(() => encodeTlv([{ tag: 0x9a, children: [] }])).toThrow(
      expect.objectContaining({ code: 'TAG_INVALID', tag: 0x9a }),
    );
  });

  test('templates nest as deep as the reader allows, no deeper', () => {
    let node: TlvNode = { tag: 0x9a, value: zeros(1) };
    for (let depth = 0; depth < MAX_TLV_DEPTH; depth++) node = { tag: 0xe1, children: [node] };
    expect(indexTlv(encodeTlv([node])).count).toBe(MAX_TLV_DEPTH + 1);
    expect(() => encodeTlv([{ tag: 0xe1, children: [node] }])).toThrow(expect.objectContaining({ code: 'TOO_DEEP' }));
  });

  test('a template that contains itself is refused', () => {
    const children: TlvNode[] = [];
    children.push({ tag: 0xe1, children });
    expect(() => encodeTlv(children)).toThrow(expect.objectContaining({ code: 'TOO_DEEP' }));
  });

  test('encodeTlv accepts as many objects and bytes as the reader allows, and no more', () => {
    const object: TlvNode = { tag: 0x9a, value: zeros(0) };
    expect(encodeTlv(Array(MAX_TLV_OBJECTS).fill(object))).toHaveLength(2 * MAX_TLV_OBJECTS);
    expect(() => encodeTlv(Array(MAX_TLV_OBJECTS + 1).fill(object))).toThrow(
      expect.objectContaining({ code: 'TOO_MANY_OBJECTS' }),
    );
    expect(encodeTlv([{ tag: 0x86, value: zeros(MAX_TLV_BYTES - 4) }])).toHaveLength(MAX_TLV_BYTES);
    expect(() => encodeTlv([{ tag: 0x86, value: zeros(MAX_TLV_BYTES - 3) }])).toThrow(
      expect.objectContaining({ code: 'TOO_LARGE' }),
    );
  });
});

describe('writeTlv', () => {
  test('writes one object at the given offset and returns the end', () => {
    const target = zeros(8);
    expect(writeTlv(0x9f36, value('0102'), target, 2)).toBe(7);
    expect(toHex(target)).toBe('00009F3602010200');
  });

  test('writes nothing if there is no room', () => {
    const target = zeros(4);
    expect(() => writeTlv(0x9f36, value('0102'), target, 0)).toThrow(expect.objectContaining({ code: 'TOO_LARGE' }));
    expect(toHex(target)).toBe('00000000');
  });
});
