import { CardDataRefusal, defineReader, z } from '#reader-kit';
import { contentKey, open, readEnvelope } from './envelope.ts';
import { sampleReaders } from './sample-readers.ts';

/**
 * The shape of the card data of Tap to Pay on iPhone. Apple publishes neither its encryption nor its keys, so this is not
 * certified and opens no card data of an iPhone: it has the key agreement that Apple publishes for Apple Pay (EC_v1), with
 * keys of the installation. README.md says what to replace under a contract with Apple.
 */
export default defineReader({
  format: 'apple-ttp',
  name: 'Shape of Tap to Pay on iPhone, with the key agreement of Apple Pay; not certified',
  settingsSchema: z.strictObject({
    /** The derivation of the key has the merchant, too. */
    bindsMerchant: z.boolean().optional(),
  }),

  keysNamedBy: () => [],

  async open({ payment }, { settings, keys, binding: { merchant, ...unbound } }) {
    const binding = settings.bindsMerchant ? { ...unbound, merchant } : unbound;
    const { data, ephemeral, publicKeyHash } = readEnvelope(Buffer.from(payment).toString('latin1'));
    const agreed = await keys.agree({ publicKeyHash }, ephemeral);
    const opened = open(contentKey(agreed.secret, binding), data);
    if (opened === undefined) throw new CardDataRefusal('decryption');
    agreed.keep();
    return { payment: opened, boundTo: binding };
  },

  sampleReaders,
});
