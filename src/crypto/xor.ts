/** The exclusive or of two values of one length. */
export function xor(left: Uint8Array, right: Uint8Array): Uint8Array {
  return left.map((byte, position) => byte ^ right[position]!);
}
