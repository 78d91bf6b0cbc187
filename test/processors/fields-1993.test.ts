import { expect, test } from 'vitest';
import type { Field } from '../../src/codecs/iso8583/spec.ts';
import { PRIMARY_FIELDS_1993, SECONDARY_FIELDS_1993 } from '../../src/kits/processor-kit/index.ts';

/**
 * Format and length of each field, transcribed from a table that others made from the standard: ISO93APackager of jPOS
 * (github.com/jpos/jPOS, commit 01e12cfd). `n`: digits, `c`: characters, `b`: bytes, `x`: a sign and digits; dots: the
 * digits of the length of a value of variable length. jPOS has `c` for every value that is not digits alone.
 *
 * jPOS 2.1.10 also unpacked the samples of type 1993 and the shortest and longest value of each of its fields, and packed
 * them to the same bytes, with 52, 64 and 128 as bytes instead of hex (DE55 within its 255 bytes).
 */
const JPOS = `
  2 n..19  3 n6  4 n12  5 n12  6 n12  7 n10  8 n8  9 n8  10 n8  11 n6  12 n12  13 n4  14 n4  15 n6  16 n4  17 n4
  18 n4  19 n3  20 n3  21 n3  22 c12  23 n3  24 n3  25 n4  26 n4  27 n1  28 n6  29 n3  30 n24  31 c..99  32 n..11
  33 n..11  34 c..28  35 c..37  36 c...104  37 c12  38 c6  39 n3  40 n3  41 c8  42 c15  43 c..99  44 c..99  45 c..76
  46 c...204  47 c...999  48 c...999  49 c3  50 c3  51 c3  52 b8  53 b..48  54 c...120  55 b...255  56 n..35  57 n3
  58 n..11  59 c...999  60 c...999  61 c...999  62 c...999  63 c...999  64 b8  66 c...204  67 n2  68 n3  69 n3  70 n3
  71 n8  72 c...999  73 n6  74 n10  75 n10  76 n10  77 n10  78 n10  79 n10  80 n10  81 n10  82 n10  83 n10  84 n10
  85 n10  86 n16  87 n16  88 n16  89 n16  90 n10  91 n3  92 n3  93 n..11  94 n..11  95 c..99  96 b...999  97 x17
  98 c25  99 c..11  100 n..11  101 c..17  102 c..28  103 c..28  104 c...100  105 n16  106 n16  107 n10  108 n10
  109 c..84  110 c..84  111 c...999  112 c...999  113 c...999  114 c...999  115 c...999  116 c...999  117 c...999
  118 c...999  119 c...999  120 c...999  121 c...999  122 c...999  123 c...999  124 c...999  125 c...999  126 c...999
  127 c...999  128 b8`;

const fields: Readonly<Record<string, Field>> = { ...PRIMARY_FIELDS_1993, ...SECONDARY_FIELDS_1993 };

function formatOf(field: Field): string {
  if (field.kind !== 'text' && field.kind !== 'binary') throw new Error(`${field.name} is composite`);
  const content = field.kind === 'binary' ? 'b' : ({ n: 'n', 'x+n': 'x' }[field.content as string] ?? 'c');
  const dots = typeof field.prefix === 'string' ? '.'.repeat(field.prefix.length) : '';
  return `${content}${dots}${field.max}`;
}

test('every field of ISO 8583:1993 has the format and length that jPOS gives it', () => {
  const tokens = JPOS.trim().split(/\s+/);
  const expected = Object.fromEntries(tokens.flatMap((number, at) => (at % 2 === 0 ? [[number, tokens[at + 1]]] : [])));
  expect(Object.keys(expected)).toHaveLength(126);
  expect(Object.fromEntries(Object.entries(fields).map(([number, field]) => [number, formatOf(field)]))).toEqual(
    expected,
  );
});

test('every field has a name of its own', () => {
  const names = Object.values(fields).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
