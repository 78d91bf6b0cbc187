import { createPublicKey, diffieHellman, generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import type { SampleKeys, SampleReader } from '#reader-kit';
import type { Envelope } from './envelope.ts';
import { contentKey, seal } from './key-agreement.ts';

/** A phone that seals for the installation's key on P-256. */
export function sampleReaders({ publicKeys }: SampleKeys): readonly SampleReader<Record<string, never>>[] {
  const recipient = publicKeys.find(({ crv }) => crv === 'P-256')!;
  const recipientKey = createPublicKey({ key: { ...recipient }, format: 'jwk' });
  return [
    {
      name: 'EC_v1',
      settings: {},
      seal(payment, binding) {
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
    },
  ];
}

function spkiOf(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' });
}
