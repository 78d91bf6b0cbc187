/**
 * Conversions between bytes and text in one native call. The typings lack these methods of Buffer, which accept any
 * Uint8Array. This is all that the codecs need of Node: browsers get `console/page/native-text.js` in its place.
 */
interface NativeText {
  readonly latin1Slice: (this: Uint8Array, from: number, to: number) => string;
  /** Lower case. */
  readonly hexSlice: (this: Uint8Array, from: number, to: number) => string;
  readonly utf8Write: (this: Uint8Array, text: string, at: number, most: number) => number;
}

export const { latin1Slice, hexSlice, utf8Write } = Buffer.prototype as unknown as NativeText;
