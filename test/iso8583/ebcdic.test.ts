import { describe, expect, test } from 'vitest';
import { EBCDIC_TO_LATIN1, LATIN1_TO_EBCDIC } from '../../src/codecs/iso8583/encodings/ebcdic.ts';

const ebcdic = (page: 'cp500' | 'cp1047', text: string) =>
  Array.from(text, (character) => LATIN1_TO_EBCDIC[page][character.charCodeAt(0)]!.toString(16)).join(' ');

describe.each(['cp500', 'cp1047'] as const)('code page %s', (page) => {
  test('maps every byte to one character of ISO 8859-1 and back', () => {
    expect(new Set(EBCDIC_TO_LATIN1[page]).size).toBe(256);
    for (let byte = 0; byte < 256; byte++) expect(LATIN1_TO_EBCDIC[page][EBCDIC_TO_LATIN1[page][byte]!]).toBe(byte);
  });

  test('has digits, letters and a space where all EBCDIC has them', () => {
    expect(ebcdic(page, '0189')).toBe('f0 f1 f8 f9');
    expect(ebcdic(page, 'AIJRSZ')).toBe('c1 c9 d1 d9 e2 e9');
    expect(ebcdic(page, 'aijrsz')).toBe('81 89 91 99 a2 a9');
    expect(ebcdic(page, ' =-/.')).toBe('40 7e 60 61 4b');
  });
});

test('the two pages differ in brackets, bar, exclamation mark, cent, not sign, diaeresis and Y acute', () => {
  expect(ebcdic('cp500', '[]|!¢¬¨Ý')).toBe('4a 5a bb 4f b0 ba bd ad');
  expect(ebcdic('cp1047', '[]|!¢¬¨Ý')).toBe('ad bd 4f 5a 4a b0 bb ba');
  const differing = EBCDIC_TO_LATIN1.cp500.filter((code, byte) => code !== EBCDIC_TO_LATIN1.cp1047[byte]);
  expect(differing.length).toBe(8);
});
