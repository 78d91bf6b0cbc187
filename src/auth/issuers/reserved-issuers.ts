/**
 * Reserved also if the installation has another name: a person who reads a token would think that the gateway signed
 * it.
 */
const PRODUCT_NAME = 'tapwire';

/**
 * Whether tokens of this issuer could be mistaken for tokens of the gateway. Names that differ only in case, width or
 * outer spaces look the same to people, and are also reserved.
 *
 * @param ownName issuer of the gateway's own tokens
 */
export function isReservedIssuer(issuer: string, ownName: string): boolean {
  const name = folded(issuer);
  return name === PRODUCT_NAME || name === folded(ownName);
}

function folded(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}
