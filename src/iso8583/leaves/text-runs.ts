import { KIND_OF_LATIN1 } from '../../bytes/character-classes.ts';
import type { TextRun } from '../../bytes/text-run.ts';
import { KINDS_OF_CONTENT } from '../content.ts';
import type { Prefix, TextField } from '../rows.ts';
import type { Encodings } from '../spec.ts';
import { defaultEncoding } from './leaf-parts.ts';

/**
 * The most common kind of field: ASCII, of fixed length or with a prefix in ASCII digits. Undefined for any other
 * field.
 */
export function textRun(field: TextField, encodings: Encodings): TextRun | undefined {
  if (field.content === 'x+n') return undefined;
  if ((field.encoding ?? defaultEncoding(field.content, encodings)) !== 'ascii') return undefined;
  const width = field.prefix === undefined ? 0 : asciiDigits(field.prefix, encodings);
  if (width === undefined) return undefined;
  const { min, max, pad } = field;
  const refused = ~KINDS_OF_CONTENT[field.content];
  if (pad === undefined) return { width, min, max, refused, pad: 0, strips: false };
  const code = pad.with.charCodeAt(0);
  const isOfContent = code <= 0xff && (KIND_OF_LATIN1[code]! & refused) === 0;
  if (pad.side === 'left' || width > 0 || !isOfContent || pad.with.length !== 1) return undefined;
  return { width, min: 0, max, refused, pad: code, strips: pad.strip === true };
}

function asciiDigits(prefix: Prefix, encodings: Encodings): number | undefined {
  if (typeof prefix === 'string') return encodings.prefix === 'ascii' ? prefix.length : undefined;
  return prefix.encoding === 'ascii' ? prefix.digits : undefined;
}
