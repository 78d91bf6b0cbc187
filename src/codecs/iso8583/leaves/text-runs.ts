import { KIND_OF_LATIN1 } from '../../bytes/character-classes.ts';
import type { PackedDigits } from '../../bytes/packed-digits.ts';
import type { TextRun } from '../../bytes/text-run.ts';
import { KINDS_OF_CONTENT, signsOf } from '../content.ts';
import { DECIMAL_DIGITS, type PrefixCoder } from '../prefixes.ts';
import type { TextField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import { defaultEncoding, isPacked, packedDigitsOf } from './leaf-parts.ts';

/**
 * The most common kinds of field: ASCII or packed digits, of fixed length or with a prefix that counts characters.
 * Undefined for any other field, as those with an ending in place of a prefix.
 */
export function textRun(field: TextField, prefix: PrefixCoder | undefined, encodings: Encodings): TextRun | undefined {
  const { content, pad } = field;
  if (field.end !== undefined || (prefix !== undefined && prefix.digits === undefined)) return undefined;
  const encoding = field.encoding ?? defaultEncoding(content, encodings);
  if (isPacked(encoding)) {
    const isCountOfDigits = pad === undefined && field.unit !== 'bytes';
    return isCountOfDigits ? runOf(field, prefix, packedDigitsOf(field, encoding), 0) : undefined;
  }
  if (signsOf(content) !== undefined || encoding !== 'ascii') return undefined;
  const refused = ~KINDS_OF_CONTENT[content];
  if (pad === undefined) return runOf(field, prefix, undefined, refused);
  const code = pad.with.charCodeAt(0);
  const isOfContent = code <= 0xff && (KIND_OF_LATIN1[code]! & refused) === 0;
  if (pad.side === 'left' || prefix !== undefined || !isOfContent || pad.with.length !== 1) return undefined;
  return runOf({ ...field, min: 0 }, prefix, undefined, refused, code, pad.strip === true);
}

/** One literal for all runs, which then share a hidden class; with three, ASCII messages took a tenth longer. */
function runOf(
  { min, max }: TextField,
  prefix: PrefixCoder | undefined,
  packed: PackedDigits | undefined,
  refused: number,
  pad = 0,
  strips = false,
): TextRun {
  const width = prefix === undefined ? 0 : prefix.width;
  return { width, prefix: prefix?.digits ?? DECIMAL_DIGITS, min, max, packed, refused, pad, strips };
}
