/** How a value shorter than its fixed length is padded. */
export interface Padding {
  readonly side: 'left' | 'right';
  /** One character. */
  readonly with: string;
  /** True if decoding removes the padding. Otherwise the value includes it. */
  readonly strip?: boolean;
}

/** `1` in six digits is `000001`, which is also the decoded value. */
export const ZEROS_LEFT: Padding = { side: 'left', with: '0' };
/** `ACME` in eight characters is `ACME    `, which is also the decoded value. */
export const SPACES_RIGHT: Padding = { side: 'right', with: ' ' };
export const SPACES_LEFT: Padding = { side: 'left', with: ' ' };

export function padTo(value: string, length: number, padding: Padding): string {
  return padding.side === 'left' ? value.padStart(length, padding.with) : value.padEnd(length, padding.with);
}

/** Removes every pad character on its side; a value of pad characters only becomes empty. */
export function stripPadding(value: string, padding: Padding): string {
  const pad = padding.with.charCodeAt(0);
  let from = 0;
  let to = value.length;
  if (padding.side === 'left') while (from < to && value.charCodeAt(from) === pad) from++;
  else while (to > from && value.charCodeAt(to - 1) === pad) to--;
  return value.substring(from, to);
}
