import type { Cursor } from '../../bytes/cursor.ts';
import { copyLatin1, firstOfOtherKind, KIND_OF_LATIN1, kindsOf } from '../../bytes/text-run.ts';
import type { ValueCoding } from './bytes.ts';
import { EBCDIC_TO_LATIN1, type EbcdicPage, LATIN1_TO_EBCDIC } from './ebcdic.ts';

/** Text with one byte per character. `allowed` are the permitted kinds of characters (`text-run.ts`). */
export function characterCoding(encoding: 'ascii' | EbcdicPage, allowed: number): ValueCoding<string> {
  return encoding === 'ascii' ? asciiCoding(allowed) : ebcdicCoding(encoding, allowed);
}

function asciiCoding(allowed: number): ValueCoding<string> {
  const refused = ~allowed;
  return {
    wireBytes: (count) => count,
    firstWrong(bytes, from, count) {
      if ((kindsOf(bytes, from, from + count, KIND_OF_LATIN1) & refused) === 0) return -1;
      return firstOfOtherKind(bytes, from, from + count, KIND_OF_LATIN1, allowed);
    },
    read: (cursor, from, count) => cursor.latin1Of(from, from + count),
    write(value, target, at) {
      if ((copyLatin1(value, target, at, refused) & refused) === 0) return -1;
      return at + firstWrongCharacter(value, allowed);
    },
  };
}

function ebcdicCoding(page: EbcdicPage, allowed: number): ValueCoding<string> {
  const toLatin1 = EBCDIC_TO_LATIN1[page];
  const fromLatin1 = LATIN1_TO_EBCDIC[page];
  const kinds = toLatin1.map((code) => KIND_OF_LATIN1[code]!);
  return {
    wireBytes: (count) => count,
    firstWrong: (bytes, from, count) => firstOfOtherKind(bytes, from, from + count, kinds, allowed),
    read: (cursor: Cursor, from, count) => cursor.transcoded(toLatin1, from, from + count),
    write(value, target, at) {
      for (let index = 0; index < value.length; index++) {
        const code = value.charCodeAt(index);
        if (!isAllowed(code, allowed)) return at + index;
        target[at + index] = fromLatin1[code]!;
      }
      return -1;
    },
  };
}

function firstWrongCharacter(value: string, allowed: number): number {
  let index = 0;
  while (index < value.length && isAllowed(value.charCodeAt(index), allowed)) index++;
  return index;
}

function isAllowed(code: number, allowed: number): boolean {
  return code <= 0xff && (KIND_OF_LATIN1[code]! & ~allowed) === 0;
}
