import { fromHex, type PinData, toHex, type WorkingKeyUse } from '#processor-kit';

/**
 * DE53: one byte for what the rest describes, then
 * - 01, a PIN under the zone key: the number of the key, if it was exchanged;
 * - 02, the MAC key: its number;
 * - 03, a PIN under DUKPT: the key serial number.
 *
 * In a key change, 01 or 02 is followed by the number of the key and three bytes of check value.
 */
const PIN_KEY = 1;
const MAC_KEY = 2;
const DUKPT = 3;
const KCV_AT = 2;
const KCV_BYTES = 3;

export function encodePinControl({ ksn, keyNumber }: PinData): Uint8Array {
  if (ksn !== undefined) return Uint8Array.of(DUKPT, ...ksn);
  return keyNumber === undefined ? Uint8Array.of(PIN_KEY) : Uint8Array.of(PIN_KEY, keyNumber);
}

/** The key that a PIN block is under, as far as DE53 names it. */
export function decodePinControl(control: Uint8Array | undefined): Omit<PinData, 'block'> {
  if (control?.[0] === DUKPT) return { ksn: control.slice(1) };
  return { keyNumber: control?.[0] === PIN_KEY ? control[1] : undefined };
}

/** @param key absent in a request for a key */
export function encodeKeyControl(
  use: WorkingKeyUse,
  key?: { readonly number: number; readonly kcv: string },
): Uint8Array {
  const kind = use === 'pin' ? PIN_KEY : MAC_KEY;
  return key === undefined ? Uint8Array.of(kind) : Uint8Array.of(kind, key.number, ...fromHex(key.kcv));
}

/** The use of the key in a key change; undefined if DE53 names none. */
export function useOfKey(control: Uint8Array | undefined): WorkingKeyUse | undefined {
  if (control?.[0] === PIN_KEY) return 'pin';
  return control?.[0] === MAC_KEY ? 'mac' : undefined;
}

/** Number and check value of an announced key; undefined if DE53 has another length. */
export function decodeKeyControl(control: Uint8Array | undefined): { number: number; kcv: string } | undefined {
  if (control?.length !== KCV_AT + KCV_BYTES) return undefined;
  return { number: control[1]!, kcv: toHex(control, KCV_AT, KCV_AT + KCV_BYTES) };
}
