import { toHex } from '../../../codecs/bytes/hex.ts';

/** Where the hex of a line begins. */
const LABEL_CHARACTERS = 24;
const BYTES_PER_LINE = 32;

/** A label and bytes as hex, on as many lines as they need. */
export function hexLines(label: string, bytes: Uint8Array, width = LABEL_CHARACTERS): string[] {
  const lines = Math.max(1, Math.ceil(bytes.length / BYTES_PER_LINE));
  return Array.from({ length: lines }, (_, line) => {
    const from = line * BYTES_PER_LINE;
    const hex = toHex(bytes, from, Math.min(bytes.length, from + BYTES_PER_LINE));
    return `${(line === 0 ? label : '').padEnd(width)}${hex}`.trimEnd();
  });
}
