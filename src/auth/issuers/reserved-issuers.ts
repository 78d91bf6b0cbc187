/** Ours, also where the installation has another name: a reader of a token takes it for one that the gateway signed. */
const PRODUCT_NAME = 'tapwire';

/**
 * Whether tokens by this issuer could be taken for tokens of the gateway itself. Names that differ only in case, width or
 * outer blanks look the same to people, and are reserved too.
 *
 * @param ownName the issuer of the gateway's own tokens
 */
export function isReservedIssuer(issuer: string, ownName: string): boolean {
  const name = folded(issuer);
  return name === PRODUCT_NAME || name === folded(ownName);
}

function folded(name: string): string {
  return name.normalize('NFKC').trim().toLowerCase();
}
