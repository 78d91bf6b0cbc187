import { createPublicKey, diffieHellman, generateKeyPairSync, hash, type KeyObject, randomBytes } from 'node:crypto';
import { CryptoError } from '../../basics/errors.ts';
import { BlockKey, setOddParity } from '../../codecs/crypto/block-key.ts';
import { dukptRequestKeys } from '../../codecs/crypto/dukpt-aes.ts';
import { isSameMac } from '../../codecs/crypto/mac.ts';
import {
  CardDataRefusal,
  type DukptKey,
  type KeyName,
  type ReaderKeys,
  type SampleBaseKey,
  type SampleKeys,
  type SamplePublicKey,
} from './reader-format.ts';

interface SampleKeyPair {
  readonly publicKey: SamplePublicKey;
  readonly privateKey: KeyObject;
}

/** Keys of one run of the conformance suite: those of the readers, and the installation's end of them. */
export interface SampleKeyRing {
  readonly ofReaders: SampleKeys;
  readonly ofInstallation: ReaderKeys;
}

/** New keys of every kind that a format may use. */
export function freshSampleKeys(): SampleKeyRing {
  const pairs = [keyPair('X25519'), keyPair('P-256')];
  const baseKeys: SampleBaseKey[] = [
    { keyId: 'base-tdes', algorithm: 'tdes', bytes: tdesKey() },
    { keyId: 'base-aes-128', algorithm: 'aes', bytes: randomBytes(16) },
    { keyId: 'base-aes-256', algorithm: 'aes', bytes: randomBytes(32) },
  ];
  return {
    ofReaders: { publicKeys: pairs.map(({ publicKey }) => publicKey), baseKeys },
    ofInstallation: installationOf(pairs, baseKeys),
  };
}

function keyPair(crv: SamplePublicKey['crv']): SampleKeyPair {
  const { privateKey, publicKey } =
    crv === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = publicKey.export({ format: 'jwk' });
  return { publicKey: { ...jwk, kid: `sample-${crv}` } as SamplePublicKey, privateKey };
}

function tdesKey(): Uint8Array {
  const bytes = randomBytes(16);
  setOddParity(bytes);
  return bytes;
}

/** In software and without limits; the installation's own is `src/card/installation-keys.ts`. */
function installationOf(pairs: readonly SampleKeyPair[], baseKeys: readonly SampleBaseKey[]): ReaderKeys {
  const requestKeys = ({ keyId, ksn }: DukptKey) => {
    const base = baseKeys.find((key) => key.keyId === keyId);
    if (base === undefined) throw new CardDataRefusal('unknown-key');
    try {
      return dukptRequestKeys(new BlockKey(base.algorithm, base.bytes), ksn);
    } catch (error) {
      if (error instanceof CryptoError) throw new CardDataRefusal('key-serial-number');
      throw error;
    }
  };
  return {
    agree(name, { kty, crv, x, y }) {
      const pair = pairs.find(({ publicKey }) => isNamed(publicKey, name));
      if (pair === undefined) throw new CardDataRefusal('unknown-key');
      if (pair.publicKey.crv !== crv) throw new CardDataRefusal('ephemeral-key');
      try {
        const publicKey = createPublicKey({ key: { kty, crv, x, ...(y === undefined ? {} : { y }) }, format: 'jwk' });
        return { secret: diffieHellman({ privateKey: pair.privateKey, publicKey }), keep: () => {} };
      } catch {
        throw new CardDataRefusal('ephemeral-key');
      }
    },
    verifyDukptMac: async (key, message, mac) => isSameMac(requestKeys(key).mac(message), mac),
    async decipherDukpt(key, ciphertext) {
      const { data } = requestKeys(key);
      return data.decryptCbc(ciphertext, new Uint8Array(data.blockBytes));
    },
  };
}

function isNamed(publicKey: SamplePublicKey, name: KeyName): boolean {
  if ('kid' in name) return publicKey.kid === name.kid;
  const spki = createPublicKey({ key: { ...publicKey }, format: 'jwk' }).export({ format: 'der', type: 'spki' });
  return hash('sha256', spki, 'buffer').equals(name.publicKeyHash);
}
