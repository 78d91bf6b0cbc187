import {
  createCipheriv,
  createPublicKey,
  createSecretKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  randomBytes,
} from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deriveContentKey } from '../../readers/jwe/jwe.ts';
import { type CardDataPublicKey, READER_TAGS } from '../../schemas/card-data.ts';
import { createKeyRing } from '../../src/card/change-key-ring.ts';
import { InstallationKeys } from '../../src/card/installation-keys.ts';
import { type KeyRing, type NamedSecretKey, readKeyRing, type SecretKeys } from '../../src/card/key-ring.ts';
import { type CardDataOpenerOptions, createCardDataOpener, ReadersInUse } from '../../src/card/open-card-data.ts';
import { type SampleTap, sampleTap } from '../../src/card/sample-tap.ts';
import { loadReaders } from '../../src/kits/reader-kit/load-readers.ts';
import type { TappedReader, TapRequest } from '../../src/payments/ports/switch-ports.ts';

const DEVICE = '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11';
const REFERENCE = 'order-4711';
export const BINDING = { deviceInstallationId: DEVICE, merchantReference: REFERENCE };

/** A key ring with keys that only this test run has. */
export async function freshKeyRing(): Promise<KeyRing> {
  const folder = await mkdtemp(join(tmpdir(), 'tapwire-keys-'));
  try {
    await createKeyRing(join(folder, 'keys.json'));
    return await readKeyRing(join(folder, 'keys.json'));
  } finally {
    await rm(folder, { recursive: true });
  }
}

const readers = new ReadersInUse({ formats: await loadReaders(), mayUse: () => true });

type OpenerChanges = Partial<Omit<CardDataOpenerOptions, 'keys'>> &
  Partial<Omit<ConstructorParameters<typeof InstallationKeys>[0], 'keys'>>;

/** Opens the blobs of a key ring as a gateway does; by default those of a reader of the default format. */
export function openerOf(ring: KeyRing, { nowMs = Date.now, readerHsm, ...options }: OpenerChanges = {}) {
  const keys = new InstallationKeys({ keys: ring, nowMs, readerHsm });
  const opener = createCardDataOpener({ blobHmac: ring.blobHmac, keys, readers, ...options });
  const open = (request: TapRequest, reader?: TappedReader['reader'], acquirerId = 1) =>
    opener.open(request, { acquirerId, merchantId: '1001', reader });
  return { ...opener, open };
}

export function freshSecretKey(id: string): NamedSecretKey {
  return { id, key: createSecretKey(randomBytes(32)) };
}

/** The keys of one purpose after rotations, newest first. */
export function secretKeysOf(...all: NamedSecretKey[]): SecretKeys {
  return { current: all[0]!, all, find: (id) => all.find((key) => key.id === id) };
}

/** The public key of a curve, for which a reader seals. */
export function publicKeyOf(ring: KeyRing, curve: CardDataPublicKey['crv']): CardDataPublicKey {
  return ring.publicCardDataKeys(Date.now()).keys.find(({ crv }) => crv === curve)!;
}

/** 10.00 ZAR on a Visa card. */
export function visaTap(pin?: SampleTap['pin']): Map<number, Uint8Array> {
  const at = new Date('2026-03-01T10:20:30Z');
  return sampleTap({ amountMinor: 1000, currencyNumeric: '710', at, ...(pin && { pin }) });
}

/** The digest of the open blob that the sealed blob must contain. */
export function digestOf(general: Uint8Array): { tag: number; value: Buffer } {
  return { tag: READER_TAGS.generalDigest, value: hash('sha256', general, 'buffer') };
}

/** A compact JWE, sealed correctly with any header and plaintext that a test specifies, then both blobs. */
export function sealMadeUp(
  recipient: CardDataPublicKey,
  made: { general: Uint8Array; plaintext: Uint8Array; header?: Record<string, unknown>; binding?: typeof BINDING },
): TapRequest {
  const binding = made.binding ?? BINDING;
  const { privateKey, publicKey } =
    recipient.crv === 'X25519' ? generateKeyPairSync('x25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const secret = diffieHellman({ privateKey, publicKey: createPublicKey({ key: recipient, format: 'jwk' }) });
  const apu = Buffer.from(binding.deviceInstallationId);
  const apv = Buffer.from(binding.merchantReference);
  const header = {
    alg: 'ECDH-ES',
    enc: 'A256GCM',
    kid: recipient.kid,
    epk: publicKey.export({ format: 'jwk' }),
    apu: apu.toString('base64url'),
    apv: apv.toString('base64url'),
    ...made.header,
  };
  const protectedHeader = Buffer.from(JSON.stringify(header)).toString('base64url');
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', deriveContentKey(secret, apu, apv), iv);
  cipher.setAAD(Buffer.from(protectedHeader));
  const ciphertext = Buffer.concat([cipher.update(made.plaintext), cipher.final()]);
  const [ivText, text, tag] = [iv, ciphertext, cipher.getAuthTag()].map((bytes) => bytes.toString('base64url'));
  return {
    ...binding,
    generalCardData: Buffer.from(made.general).toString('base64'),
    paymentCardData: Buffer.from(`${protectedHeader}..${ivText}.${text}.${tag}`).toString('base64'),
  };
}
