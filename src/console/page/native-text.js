/** In place of `codecs/bytes/native-text.ts`, for the codecs in a browser: the same functions, called with the bytes as `this`. */

/**
 * @this {Uint8Array}
 *
 * @param {number} from
 * @param {number} to
 */
export function latin1Slice(from, to) {
  let text = '';
  for (let at = from; at < to; at++) text += String.fromCharCode(this[at]);
  return text;
}

/**
 * Lower case.
 *
 * @this {Uint8Array}
 * @param {number} from
 * @param {number} to
 */
export function hexSlice(from, to) {
  let text = '';
  for (let at = from; at < to; at++) text += this[at].toString(16).padStart(2, '0');
  return text;
}

/**
 * @this {Uint8Array}
 *
 * @param {string} text
 * @param {number} at
 * @param {number} most
 */
export function utf8Write(text, at, most) {
  return new TextEncoder().encodeInto(text, this.subarray(at, at + most)).written;
}
