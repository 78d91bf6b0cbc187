/** The lowest bit of each byte of a DES key makes its number of one bits odd (FIPS 46-3); the cipher ignores it. */
export function hasOddParity(key: Uint8Array): boolean {
  return key.every((byte) => isOdd(byte));
}

/** Sets the parity bits in place. */
export function setOddParity(key: Uint8Array): void {
  for (let position = 0; position < key.length; position++) {
    if (!isOdd(key[position]!)) key[position]! ^= 1;
  }
}

function isOdd(byte: number): boolean {
  let folded = byte ^ (byte >> 4);
  folded ^= folded >> 2;
  return ((folded ^ (folded >> 1)) & 1) === 1;
}
