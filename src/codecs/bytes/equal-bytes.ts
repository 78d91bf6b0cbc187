export function areEqualBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((octet, at) => octet === other[at]);
}
