import { CardDataRefusal, defineReader, z } from '#reader-kit';
import { openJwe, openJweSession, sealJwe } from './jwe.ts';

/** The format of readers that seal for the installation's public keys. Profiles that name no format have this one. */
export default defineReader({
  format: 'jwe',
  name: 'Compact JWE for the public keys of the installation',
  settingsSchema: z.strictObject({
    /** Refuses blobs whose header names no merchant. */
    bindsMerchant: z.boolean().optional(),
  }),

  keysNamedBy: () => [],

  async open({ payment }, { keys, settings }) {
    const opened = await openJwe(Buffer.from(payment).toString('latin1'), keys);
    if (settings.bindsMerchant && opened.boundTo.merchant === undefined) throw new CardDataRefusal('no-merchant');
    return opened;
  },

  sampleReaders: ({ publicKeys }) =>
    publicKeys.flatMap((recipient) => [
      {
        name: recipient.crv,
        settings: {},
        seal: (payment, { merchant: _, ...binding }) =>
          Buffer.from(sealJwe(payment, openJweSession(recipient), binding)),
      },
      {
        name: `${recipient.crv}, bound to a merchant`,
        settings: { bindsMerchant: true },
        bindsMerchant: true,
        seal: (payment, binding) => Buffer.from(sealJwe(payment, openJweSession(recipient), binding)),
      },
    ]),
});
