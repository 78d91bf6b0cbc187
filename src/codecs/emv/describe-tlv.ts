/** Formats TLV for engineers. A value is withheld unless the dictionary allows it to be shown. */

import { TapwireError } from '../../basics/errors/tapwire-error.ts';
import { toHex } from '../bytes/hex.ts';
import { latin1Slice } from '../bytes/native-text.ts';
import { describeBits } from './bits.ts';
import { maskPan, parsePan, parseTrack2 } from './card.ts';
import { parseDol } from './dol.ts';
import { aidOf, schemeOfAid } from './scheme.ts';
import { type Kernel, kernelOf, mayShow, type TagFormat, tagFacts, tagName } from './tags.ts';
import { type TlvIndex, type TlvObject, tagText } from './tlv.ts';

export interface DescribeOptions {
  /** The kernel whose meanings apply if schemes differ; derived from the AID of the blob by default. */
  readonly kernel?: Kernel;
  /** Shows every value, card data too: for test cards on an engineer's own screen, never for a log. */
  readonly unmasked?: boolean;
}

/** One object, described. */
export interface TlvRow {
  readonly tag: string;
  readonly depth: number;
  /** Undefined if no dictionary knows the tag. */
  readonly name: string | undefined;
  readonly lengthBytes: number;
  /** Upper-case hex; undefined if withheld, and for templates, whose objects follow. */
  readonly value: string | undefined;
  readonly withheld: boolean;
  /** The value in words: its text, its bits, the tags that it lists, the masked PAN. */
  readonly details: readonly string[];
}

/** One row for each object, in the order of the bytes. */
export function tlvRows(index: TlvIndex, options: DescribeOptions = {}): TlvRow[] {
  const kernel = options.kernel ?? kernelOf(schemeOfAid(aidOf(index) ?? ''));
  return Array.from(index, (object) => {
    const { tag, depth, constructed, hasChildren, value } = object;
    // A template kept as bytes can contain anything, regardless of its name.
    const shown = !hasChildren && (options.unmasked === true || (!constructed && mayShow(tag, value.length, kernel)));
    return {
      tag: tagText(tag),
      depth,
      name: tagName(tag, kernel),
      lengthBytes: value.length,
      value: shown ? toHex(value) : undefined,
      withheld: !hasChildren && !shown,
      details: shown ? detailsOf(object, kernel) : withheldDetails(object),
    };
  });
}

/** `tlvRows` as lines of text, children indented under their template. */
export function describeTlv(index: TlvIndex, options?: DescribeOptions): string[] {
  return tlvRows(index, options).flatMap(({ tag, depth, name, lengthBytes, value, withheld, details }) => {
    const indent = '  '.repeat(depth);
    const content = withheld ? `[withheld, ${countBytes(lengthBytes)}]` : (value ?? '');
    const line = `${indent}${tag.padEnd(6)} ${name ?? 'Unknown'}  ${content}`.trimEnd();
    return [line, ...details.map((detail) => `${indent}       - ${detail}`)];
  });
}

function detailsOf({ tag, value }: TlvObject, kernel: Kernel | undefined): string[] {
  const bits = describeBits(tag, value, kernel);
  if (bits !== undefined) return bits.map(({ at, meaning }) => `${at}: ${meaning}`);
  return FORMAT_DETAILS[tagFacts(tag, kernel)?.format ?? 'b']?.(value, kernel) ?? [];
}

const FORMAT_DETAILS: Partial<Record<TagFormat, (value: Uint8Array, kernel: Kernel | undefined) => string[]>> = {
  a: textDetails,
  an: textDetails,
  ans: textDetails,
  dol: dolDetails,
};

/** The text, if all of it is printable. */
function textDetails(value: Uint8Array): string[] {
  const printable = value.length > 0 && value.every((octet) => octet >= 0x20 && octet <= 0x7e);
  return printable ? [`"${latin1Slice.call(value, 0, value.length)}"`] : [];
}

/** The tags that a data object list requests, with the requested length. */
function dolDetails(value: Uint8Array, kernel: Kernel | undefined): string[] {
  return wellFormed(() =>
    parseDol(value).map(({ tag, lengthBytes }) => {
      return `${tagText(tag)} ${tagName(tag, kernel) ?? 'Unknown'}, ${countBytes(lengthBytes)}`;
    }),
  );
}

function countBytes(bytes: number): string {
  return bytes === 1 ? '1 byte' : `${bytes} bytes`;
}

/** The part of a PAN that may be shown, also inside track 2. */
function withheldDetails({ tag, value }: TlvObject): string[] {
  if (tag === 0x5a) return wellFormed(() => [`PAN ${maskPan(parsePan(toHex(value)))}`]);
  if (tag === 0x57) return wellFormed(() => [`PAN ${maskPan(parseTrack2(toHex(value)).pan)}`]);
  return [];
}

/** Details of a value that matches its tag; none of one that does not, because a description is not a check. */
function wellFormed(details: () => string[]): string[] {
  try {
    return details();
  } catch (error) {
    if (error instanceof TapwireError) return [];
    throw error;
  }
}
