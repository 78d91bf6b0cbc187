import { CardDataRefusal, defineReader } from '#reader-kit';
import { authenticated, type DukptSettings, readBlob, settingsSchema, unpad } from './blob.ts';
import { sampleReaders } from './sample-readers.ts';

const KSN_BYTES = { tdes: 10, aes: 12 };

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
