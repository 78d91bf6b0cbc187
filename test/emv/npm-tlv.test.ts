/** Comparison with the package `tlv`: equal where it is right, and a test for each case in which it is wrong. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TlvError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { encodeTlv, indexTlv, type TlvNode } from '../../src/codecs/emv/tlv.ts';
import { type NpmTlvObject, npmTlv } from './npm-tlv.ts';
import { nodeLists } from './tlv-arbitraries.ts';

test('the two packages read well-formed objects in the same way', () => {
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      const bytes = encodeTlv(nodes);
      expect(indexTlv(bytes).nodes()).toEqual(npmTlv.parseAll(Buffer.from(bytes)).map(asNode));
    }),
  );
});

test('the two packages encode in the same way', () => {
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      const theirs = Buffer.concat(nodes.map((node) => asNpmObject(node).encode()));
      expect(toHex(encodeTlv(nodes))).toBe(toHex(theirs));
    }),
  );
});

describe('cases in which the package is wrong', () => {
  test('it never returns on 5A8480000000, so only Tapwire is called: a length of four bytes is refused', () => {
    expect(codeOf('5A8480000000')).toBe('LENGTH_TOO_LONG');
  });

  test.each([
    ['a value cut short is silently shortened', '9F2608AABB', [{ tag: 0x9f26, value: 'AABB' }], 'VALUE_TRUNCATED'],
    ['a value missing altogether is empty', '9A01', [{ tag: 0x9a, value: '' }], 'VALUE_TRUNCATED'],
    [
      'a child that reaches past its parent is shortened',
      '7004 5A08 1111',
      [{ tag: 0x70, children: [{ tag: 0x5a, value: '1111' }] }],
      'VALUE_TRUNCATED',
    ],
    ['a missing length is zero', '9F26', [{ tag: 0x9f26, value: '' }], 'LENGTH_MISSING'],
    ['a length cut short is zero', '9F2682', [{ tag: 0x9f26, value: '' }], 'LENGTH_TRUNCATED'],
    ['a tag cut short is filled up with zeros', '5FA8', [{ tag: 0x5fa800, value: '' }], 'TAG_TRUNCATED'],
    [
      'a tag may have four bytes, which EMV has not',
      '9F818100 01 AA',
      [{ tag: 0x9f818100 | 0, value: 'AA' }],
      'TAG_TOO_LONG',
    ],
    ['a length may have four bytes', '9184 00000001 AA', [{ tag: 0x91, value: 'AA' }], 'LENGTH_TOO_LONG'],
    [
      'an indefinite length is accepted in a template',
      '7780 9A0101 0000',
      [{ tag: 0x77, children: [{ tag: 0x9a, value: '01' }] }],
      'LENGTH_INDEFINITE',
    ],
  ] as const)('%s, which is refused here', (_, hex, theirs, code) => {
    expect(npmTlv.parseAll(bufferOf(hex)).map(asNode).map(readable)).toEqual(theirs);
    expect(codeOf(hex)).toBe(code);
  });

  test.each([
    [
      '00 after an object becomes an object',
      '9A0101 00',
      [
        { tag: 0x9a, value: '01' },
        { tag: 0, value: '' },
      ],
    ],
    [
      'FF after an object becomes a template',
      '9A0101 FF',
      [
        { tag: 0x9a, value: '01' },
        { tag: 0xff00, children: [] },
      ],
    ],
  ] as const)('%s, which is padding here', (_, hex, theirs) => {
    expect(npmTlv.parseAll(bufferOf(hex)).map(asNode).map(readable)).toEqual(theirs);
    expect(indexTlv(bufferOf(hex)).tree()).toEqual([{ tag: '9A', value: '01' }]);
  });

  test('it follows templates of any depth until the stack overflows; here there is a limit', () => {
    let deep = Buffer.from('9A00', 'hex');
    while (deep.length < 60_000)
      deep = Buffer.concat([Buffer.from([0xe1, 0x83, 0, deep.length >> 8, deep.length & 0xff]), deep]);
    expect(() => npmTlv.parseAll(deep)).toThrow(RangeError);
    expect(() => indexTlv(deep)).toThrow(expect.objectContaining({ code: 'TOO_DEEP' }));
  });
});

function bufferOf(hex: string): Buffer {
  return Buffer.from(fromHex(hex.replaceAll(' ', '')));
}

function codeOf(hex: string): string {
  try {
    indexTlv(bufferOf(hex));
  } catch (error) {
    if (error instanceof TlvError) return error.code;
    throw error;
  }
  return 'accepted';
}

function asNode({ tag, constructed, value }: NpmTlvObject): TlvNode {
  if (constructed) return { tag, children: (value as NpmTlvObject[]).map(asNode) };
  return { tag, value: new Uint8Array(value as Buffer) };
}

function asNpmObject({ tag, value, children }: TlvNode): NpmTlvObject {
  return new npmTlv.TLV(tag, children === undefined ? Buffer.from(value) : children.map(asNpmObject));
}

function readable({ tag, value, children }: TlvNode): unknown {
  return children === undefined ? { tag, value: toHex(value) } : { tag, children: children.map(readable) };
}
