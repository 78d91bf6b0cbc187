import { fromHex, toHex, type WorkingKeyUse, type WrappedKey } from '#processor-kit';

/**
 * DE53, 48 bytes: one for the use (01 PIN, 02 MAC), one for the key's number, one for its length, 24 of cryptogram,
 * 3 of check value, zeros. A request for a key has only its use; a message with a PIN has the use and the number.
 */
const USES: readonly (WorkingKeyUse | undefined)[] = [undefined, 'pin', 'mac'];
const SECURITY_BYTES = 48;
const CRYPTOGRAM_AT = 3;
const MAX_KEY_BYTES = 24;
const KCV_AT = CRYPTOGRAM_AT + MAX_KEY_BYTES;
const KCV_BYTES = 3;

export function encodeSecurityControl(use: WorkingKeyUse, number = 0): Uint8Array {
  const bytes = new Uint8Array(SECURITY_BYTES);
  bytes.set([USES.indexOf(use), number]);
  return bytes;
}

/** @throws Error if the key is not sent as a cryptogram */
export function encodeWrappedKey({ use, number, wrapped, kcv }: WrappedKey): Uint8Array {
  if (!('cryptogram' in wrapped)) throw new Error('type-1 carries cryptograms');
  const bytes = encodeSecurityControl(use, number);
  bytes[CRYPTOGRAM_AT - 1] = wrapped.cryptogram.length;
  bytes.set(wrapped.cryptogram, CRYPTOGRAM_AT);
  bytes.set(fromHex(kcv), KCV_AT);
  return bytes;
}

/** The use of the key in DE53; undefined if it names none. */
export function useOfKey(securityControl: Uint8Array | undefined): WorkingKeyUse | undefined {
  return securityControl && USES[securityControl[0]!];
}

/** The number of the PIN key in DE53; undefined if it names none. */
export function numberOfPinKey(securityControl: Uint8Array | undefined): number | undefined {
  return useOfKey(securityControl) === 'pin' ? securityControl![1] : undefined;
}

/** Undefined if DE53 contains no well-formed key. */
export function decodeWrappedKey(securityControl: Uint8Array | undefined): WrappedKey | undefined {
  const use = useOfKey(securityControl);
  if (use === undefined || securityControl?.length !== SECURITY_BYTES) return undefined;
  const [, number = 0, lengthBytes = 0] = securityControl;
  if (lengthBytes === 0 || lengthBytes > MAX_KEY_BYTES || lengthBytes % 8 !== 0) return undefined;
  const cryptogram = securityControl.slice(CRYPTOGRAM_AT, CRYPTOGRAM_AT + lengthBytes);
  return { use, number, wrapped: { cryptogram }, kcv: toHex(securityControl, KCV_AT, KCV_AT + KCV_BYTES) };
}
