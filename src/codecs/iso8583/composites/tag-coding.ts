import { fromHex, hexDigit, toHex } from '../../bytes/hex.ts';
import { LATIN1_TO_EBCDIC } from '../encodings/ebcdic.ts';
import { specError } from '../field-codec.ts';
import type { TagForm } from '../rows.ts';

/** Encodes tags as bytes and as text: characters unchanged, binary tags in upper-case hex. */
export interface TagCoding {
  readonly wireBytes: number;
  /** The tag at `at`; undefined if the bytes are not a tag. The caller has checked the bounds. */
  read(bytes: Uint8Array, at: number): string | undefined;
  /** The bytes of a tag; undefined if the text is not a tag. */
  toBytes(tag: string): Uint8Array | undefined;
}

/** No dialect has tags of more than eight characters. */
const MAX_TAG_LENGTH = 8;

export function tagCoding({ encoding, length }: TagForm, path: string): TagCoding {
  if (!Number.isInteger(length) || length < 1 || length > MAX_TAG_LENGTH) {
    throw specError(path, `the length of its tags is not 1 to ${MAX_TAG_LENGTH}`);
  }
  if (encoding === 'binary') return binaryTags(length);
  if (encoding === 'bcd') return packedTags(length);
  return characterTags(length, encoding);
}

function binaryTags(wireBytes: number): TagCoding {
  return {
    wireBytes,
    read: (bytes, at) => toHex(bytes, at, at + wireBytes),
    toBytes: (tag) => (isUpperHex(tag) && tag.length === wireBytes * 2 ? fromHex(tag) : undefined),
  };
}

const DECIMAL = /^[0-9]+$/;

/** An odd number of digits has a leading zero. */
function packedTags(digits: number): TagCoding {
  const wireBytes = Math.ceil(digits / 2);
  const isTag = (text: string) => DECIMAL.test(text) && (text.length === digits || text.startsWith('0'));
  return {
    wireBytes,
    read(bytes, at) {
      const text = toHex(bytes, at, at + wireBytes);
      return isTag(text) ? text.substring(text.length - digits) : undefined;
    },
    toBytes: (tag) =>
      DECIMAL.test(tag) && tag.length === digits ? fromHex(tag.padStart(wireBytes * 2, '0')) : undefined,
  };
}

const PRINTABLE = /^[\x21-\x7e]+$/;

function characterTags(wireBytes: number, encoding: 'ascii' | 'ebcdic'): TagCoding {
  const toWire = encoding === 'ascii' ? undefined : LATIN1_TO_EBCDIC.cp500;
  const fromWire = new Uint8Array(256);
  for (let code = 0; code < 256; code++) fromWire[toWire === undefined ? code : toWire[code]!] = code;
  return {
    wireBytes,
    read(bytes, at) {
      let tag = '';
      for (let index = at; index < at + wireBytes; index++) tag += String.fromCharCode(fromWire[bytes[index]!]!);
      return PRINTABLE.test(tag) ? tag : undefined;
    },
    toBytes(tag) {
      if (!PRINTABLE.test(tag) || tag.length !== wireBytes) return undefined;
      return Uint8Array.from(tag, (character) => {
        const code = character.charCodeAt(0);
        return toWire === undefined ? code : toWire[code]!;
      });
    },
  };
}

function isUpperHex(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (hexDigit(code) < 0 || code > 0x46) return false;
  }
  return true;
}
