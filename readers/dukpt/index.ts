import { CardDataRefusal, defineReader, z } from '#reader-kit';
import { authenticated, readBlob, unpad } from './blob.ts';
import { sampleReaders } from './sample-readers.ts';

/** A reader fleet has a key set for each generation of its devices and algorithm; more than these are an error. */
const MAX_KEY_SETS = 16;
const KSN_BYTES = { tdes: 10, aes: 12 };

const settingsSchema = z.strictObject({
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

/** TLV under the DUKPT keys of a device, as SoftPOS kernels and dongles send it. README.md describes the bytes. */
export default defineReader<DukptSettings>({
  format: 'dukpt',
  name: 'TLV under DUKPT keys, TDES or AES',
  settingsSchema,

  keysNamedBy: ({ keySets }) =>
    keySets.map(({ baseKeyId }, at) => ({ path: ['keySets', at, 'baseKeyId'], keyId: baseKeyId })),

  async open({ payment }, { settings, keys, binding: { merchant, ...unbound } }) {
    const binding = settings.bindsMerchant ? { ...unbound, merchant } : unbound;
    const blob = readBlob(payment);
    const key = { keyId: baseKeyOf(blob.ksn, settings), ksn: blob.ksn };
    // The MAC is checked first, so that the padding of a forged blob is never looked at.
    if (!(await keys.verifyDukptMac(key, authenticated(blob, binding), blob.mac))) throw new CardDataRefusal('mac');
    return { payment: unpad(await keys.decipherDukpt(key, blob.ciphertext)), boundTo: binding };
  },

  sampleReaders,
});

function baseKeyOf(ksn: Uint8Array, { keySets }: DukptSettings): string {
  const hex = Buffer.from(ksn).toString('hex').toUpperCase();
  const found = keySets.find(({ keySetId }) => hex.startsWith(keySetId));
  if (found === undefined) throw new CardDataRefusal('unknown-key');
  if (ksn.length !== KSN_BYTES[found.algorithm]) throw new CardDataRefusal('key-serial-number');
  return found.baseKeyId;
}

function areDistinct(keySets: readonly { readonly keySetId: string }[]): boolean {
  return keySets.every(({ keySetId }, at) =>
    keySets.every((other, place) => place === at || !other.keySetId.startsWith(keySetId)),
  );
}
