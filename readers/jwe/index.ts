import { defineReader, z } from '#reader-kit';
import { openJwe } from './open-jwe.ts';
import { openJweSession, sealJwe } from './seal-jwe.ts';

/** The format of readers that seal for the installation's public keys. Profiles that name no format have this one. */
export default defineReader({
  format: 'jwe',
  name: 'Compact JWE for the public keys of the installation',
  settingsSchema: z.strictObject({}),

  keysNamedBy: () => [],

  open: ({ payment }, { keys }) => openJwe(Buffer.from(payment).toString('latin1'), keys),

  sampleReaders: ({ publicKeys }) =>
    publicKeys.map((recipient) => ({
      name: recipient.crv,
      settings: {},
      seal: (payment, binding) => Buffer.from(sealJwe(payment, openJweSession(recipient), binding)),
    })),
});
