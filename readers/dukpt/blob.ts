import { type BoundMerchant, CardDataRefusal, encodeTlv, indexTlv, type TapBinding, z } from '#reader-kit';

/** A reader fleet has a key set for each generation of its devices and algorithm; more than these are an error. */
const MAX_KEY_SETS = 16;

export const settingsSchema = z.strictObject({
  keySets: z
    .array(
      z.strictObject({
        /** The beginning of the KSN of every device of the set. */
        keySetId: z.string().regex(/^(?:[0-9A-F]{2}){2,8}$/, 'must be 2 to 8 bytes in hexadecimal, in upper case'),
        baseKeyId: z.string().min(1).max(64),
        algorithm: z.enum(['tdes', 'aes']),
      }),
    )
    .min(1)
    .max(MAX_KEY_SETS)
    .refine(areDistinct, 'no keySetId may begin with another one'),
  /** The MAC covers the merchant, too. */
  bindsMerchant: z.boolean().optional(),
});

export type DukptSettings = z.infer<typeof settingsSchema>;

function areDistinct(keySets: readonly { readonly keySetId: string }[]): boolean {
  return keySets.every(({ keySetId }, at) =>
    keySets.every((other, place) => place === at || !other.keySetId.startsWith(keySetId)),
  );
}

/** The tags of the blob (private class, EMV Book 3 Annex B1). */
const KSN = 0xdf8a31;
const CIPHERTEXT = 0xdf8a32;
const MAC = 0xdf8a33;

/** Precedes a merchant, where a binding without one has the length of the device. */
const MERCHANT_MARK = Buffer.of(0xff, 0xff);

interface DukptBlob {
  readonly ksn: Uint8Array;
  readonly ciphertext: Uint8Array;
  readonly mac: Uint8Array;
}

/** @throws CardDataRefusal for everything but the three objects in their order, with the shortest lengths */
export function readBlob(bytes: Uint8Array): DukptBlob {
  const index = indexTlv(bytes);
  const [ksn, ciphertext, mac] = [KSN, CIPHERTEXT, MAC].map((tag) => index.value(tag));
  if (!ksn || !ciphertext || !mac) throw new CardDataRefusal('not-of-format');
  const blob = { ksn, ciphertext, mac };
  // One blob has one spelling, so the same blob cannot come back with other bytes.
  if (!Buffer.from(bytes).equals(encodeBlob(blob))) throw new CardDataRefusal('not-of-format');
  return blob;
}

export function encodeBlob({ ksn, ciphertext, mac }: DukptBlob): Uint8Array {
  return encodeTlv([
    { tag: KSN, value: ksn },
    { tag: CIPHERTEXT, value: ciphertext },
    { tag: MAC, value: mac },
  ]);
}

/**
 * The bytes that the MAC covers: the merchant, if the binding has one, the device and the reference, each in UTF-8 after
 * its length in two bytes, the KSN, the ciphertext. The lengths keep two bindings from having the same bytes, and no device
 * is as long as the mark of a merchant says.
 */
export function authenticated(
  { ksn, ciphertext }: Omit<DukptBlob, 'mac'>,
  { deviceInstallationId, merchantReference, merchant }: TapBinding,
): Uint8Array {
  const parties = [withLength(deviceInstallationId), withLength(merchantReference)];
  return Buffer.concat([...(merchant ? [bytesOf(merchant)] : []), ...parties, ksn, ciphertext]);
}

function bytesOf({ acquirerId, merchantId }: BoundMerchant): Buffer {
  const acquirer = Buffer.alloc(4);
  acquirer.writeUInt32BE(acquirerId);
  return Buffer.concat([MERCHANT_MARK, acquirer, withLength(merchantId)]);
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Whole blocks with ISO 9797-1 padding method 2: one bit, then zeros. */
export function pad(bytes: Uint8Array, blockBytes: number): Uint8Array {
  const padded = new Uint8Array((Math.floor(bytes.length / blockBytes) + 1) * blockBytes);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  return padded;
}

/** @throws CardDataRefusal if there is no padding */
export function unpad(bytes: Uint8Array): Uint8Array {
  const end = bytes.findLastIndex((byte) => byte !== 0);
  if (end === -1 || bytes[end] !== 0x80) throw new CardDataRefusal('decryption');
  return bytes.subarray(0, end);
}
