/** `acquirer/1/zone-pin` belongs to acquirer 1. */
const OWN = /^acquirer\/([1-9]\d{0,9})\/./;
/** Exchanged working keys. The gateway owns them; no configuration names one. */
const EXCHANGED = 'exchanged-';
/** The acquirer of an exchanged key, then its processor. */
const EXCHANGED_OF = /^exchanged-([1-9]\d{0,9})-/;

/** The acquirer that the id of a key names as its owner; undefined for a key of the installation. */
export function ownerNamedBy(keyId: string): number | undefined {
  return numberIn(OWN, keyId);
}

/** Whether an id is reserved for working keys that switches exchange. */
export function isExchangedKeyId(keyId: string): boolean {
  return keyId.startsWith(EXCHANGED);
}

/** The id of a working key that one switch has exchanged. */
export function exchangedKeyId(acquirerId: number, processorId: number, use: string, unique: string): string {
  return `${EXCHANGED}${acquirerId}-${processorId}-${use}-${unique}`;
}

/** The acquirer that alone uses the key, also if the key was exchanged; undefined for a key of the installation. */
export function userNamedBy(keyId: string): number | undefined {
  return ownerNamedBy(keyId) ?? numberIn(EXCHANGED_OF, keyId);
}

function numberIn(pattern: RegExp, keyId: string): number | undefined {
  const digits = pattern.exec(keyId)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
