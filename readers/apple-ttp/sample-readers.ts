import { createPublicKey, diffieHellman, generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import type { SampleKeys, SampleReader } from '#reader-kit';
import { contentKey, type Envelope, seal } from './envelope.ts';

/** Two phones that seal for the installation's key on P-256; the second one binds its blobs to a merchant. */
export function sampleReaders({ publicKeys }: SampleKeys): readonly SampleReader<{ bindsMerchant?: boolean }>[] {
  const recipient = publicKeys.find(({ crv }) => crv === 'P-256')!;
  const recipientKey = createPublicKey({ key: { ...recipient }, format: 'jwk' });
  return [false, true].map((bindsMerchant) => {
    return {
      name: `EC_v1${bindsMerchant ? ', bound to a merchant' : ''}`,
      settings: bindsMerchant ? { bindsMerchant } : {},
      bindsMerchant,
      seal(payment, { merchant, ...unbound }) {
        const binding = bindsMerchant ? { ...unbound, merchant } : unbound;
        const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        const key = contentKey(diffieHellman({ privateKey, publicKey: recipientKey }), binding);
        const envelope: Envelope = {
          version: 'EC_v1',
          data: seal(key, payment).toString('base64'),
          header: {
            ephemeralPublicKey: spkiOf(publicKey).toString('base64'),
            publicKeyHash: hash('sha256', spkiOf(recipientKey), 'base64'),
          },
        };
        return Buffer.from(JSON.stringify(envelope));
      },
    };
  });
}

function spkiOf(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' });
}
