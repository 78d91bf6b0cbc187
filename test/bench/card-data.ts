/**
 * `npm run bench -- card-data`: the cost of a tap before its message is built, with a new blob each time, for each reader
 * format. DUKPT keys are in the software HSM, so that its calls cost what they compute.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CardDataPublicKey } from '#schemas/card-data';
import { createCardVault } from '../../src/card/card-vault.ts';
import { createKeyRing } from '../../src/card/change-key-ring.ts';
import { InstallationKeys } from '../../src/card/installation-keys.ts';
import { type KeyRing, readKeyRing } from '../../src/card/key-ring.ts';
import { TokenKeys } from '../../src/card/key-ring-file.ts';
import { createCardDataOpener, ReadersInUse } from '../../src/card/open-card-data.ts';
import { type CardDataSealer, createCardDataSealer, sampleTap } from '../../src/card/sample-tap.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { Token } from '../../src/hsm-devices/pkcs11/token.ts';
import { loadReaders, type ReaderFormats } from '../../src/kits/reader-kit/load-readers.ts';
import { freshSampleKeys } from '../../src/kits/reader-kit/sample-keys.ts';
import type { TappedReader, TapRequest } from '../../src/payments/ports/switch-ports.ts';
import { HsmCalls } from '../../src/switching/hsm/hsm-calls.ts';
import { freshSoftToken, HAS_SOFT_TOKEN } from '../hsm/pkcs11/soft-token.ts';
import { type BenchReport, measure, ratio, report } from './measure.ts';
import { measureAsync } from './measure-async.ts';

/** More taps than the opener keeps secrets, so that cycling through them never finds a known one. */
const TAPS = 4_200;
const { baseKeys } = freshSampleKeys().ofReaders;

export async function bench(): Promise<BenchReport> {
  const ring = await freshKeyRing();
  const formats = await loadReaders();
  const { opener, open } = openingOf(ring, formats);
  const vault = createCardVault(ring);
  const kept = { pan: '4111111111111111', expiry: '3112', original: { stan: '000123', rrn: '602108000123' } };
  const id = '7d8f4d1e-3f53-4a0f-9a3e-3f8f5c9d2b10';
  const [tap] = sealTaps(createCardDataSealer(keyOf(ring, 'X25519')), 1);
  const opened = await measureAsync({
    'open jwe, X25519': open(createCardDataSealer(keyOf(ring, 'X25519'))),
    'open jwe, P-256': open(createCardDataSealer(keyOf(ring, 'P-256'))),
    'open jwe, X25519, session known': open(createCardDataSealer(keyOf(ring, 'X25519'), { keepEphemeral: true })),
    'open jwe, P-256, session known': open(createCardDataSealer(keyOf(ring, 'P-256'), { keepEphemeral: true })),
    ...samplesOf(ring, formats, open),
    ...(await inToken(formats)),
  });
  const others = measure({
    'fingerprint of both blobs': () => opener.fingerprint(tap!),
    'seal the card': () => vault.seal(id, kept),
    'hash the PAN': () => vault.hashPan(kept.pan),
  });
  const results = [...opened, ...others];
  const ratios = { knownSessionVsNew: ratio(results, 'open jwe, X25519, session known', 'open jwe, X25519') };
  return report('Card data of one tap', { results, ratios });
}

type Open = (sealer: CardDataSealer, reader?: TappedReader['reader']) => () => Promise<unknown>;

/** The gateway's opener, with the base derivation keys of the sample readers in the software HSM. */
function openingOf(ring: KeyRing, formats: ReaderFormats) {
  const keys = baseKeys.map(({ bytes, ...key }) => ({ ...key, usage: 'dukptBase' as const, bytes: new Secret(bytes) }));
  const clock = { monotonicMs: () => performance.now() };
  const calls = new HsmCalls({ purpose: 'card data', clock, log: { warn: () => {} } });
  const readerHsm = { hsm: new SoftHsm({ environment: 'qa', keys }), calls };
  const opener = createCardDataOpener({
    blobHmac: ring.blobHmac,
    keys: new InstallationKeys({ keys: ring, nowMs: Date.now, readerHsm }),
    readers: new ReadersInUse({ formats, mayUse: () => true }),
  });
  const open: Open = (sealer, reader) => {
    const taps = sealTaps(sealer, TAPS);
    let next = 0;
    return () => opener.open(taps[next++ % taps.length]!, { acquirerId: 1, merchantId: '1001', reader });
  };
  return { opener, open };
}

/** The sample readers of every format but the first one, which is measured in more detail. */
function samplesOf(ring: KeyRing, formats: ReaderFormats, open: Open): Record<string, () => Promise<unknown>> {
  const publicKeys = ring.publicCardDataKeys(Date.now()).keys;
  const others = [...formats.values()].filter(({ format }) => format !== 'jwe');
  return Object.fromEntries(
    others.flatMap((format) =>
      format.sampleReaders({ publicKeys, baseKeys }).map((reader) => {
        const profile = { format: format.format, settings: reader.settings as Record<string, never> };
        return [`open ${format.format}, ${reader.name}`, open(createCardDataSealer(reader), profile)] as const;
      }),
    ),
  );
}

/** With the private key in a token of SoftHSM, if it is installed. */
async function inToken(formats: ReaderFormats): Promise<Record<string, () => Promise<unknown>>> {
  if (!HAS_SOFT_TOKEN) return {};
  const token = new Token(freshSoftToken());
  const ring = await freshKeyRing(new TokenKeys(token));
  const { open } = openingOf(ring, formats);
  const key = keyOf(ring, 'P-256');
  return {
    'open jwe, P-256 in SoftHSM': open(createCardDataSealer(key)),
    'open jwe, P-256 in SoftHSM, session known': open(createCardDataSealer(key, { keepEphemeral: true })),
  };
}

function sealTaps(sealer: CardDataSealer, count: number): TapRequest[] {
  return Array.from({ length: count }, (_, tap) =>
    sealer.seal(sampleTap({ amountMinor: tap, currencyNumeric: '710', at: new Date() }), {
      deviceInstallationId: '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11',
      merchantReference: `order-${tap}`,
    }),
  );
}

function keyOf(ring: KeyRing, curve: CardDataPublicKey['crv']): CardDataPublicKey {
  return ring.publicCardDataKeys(Date.now()).keys.find(({ crv }) => crv === curve)!;
}

async function freshKeyRing(token?: TokenKeys): Promise<KeyRing> {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-bench-'));
  try {
    await createKeyRing(join(folder, 'keys.json'), token);
    return await readKeyRing(join(folder, 'keys.json'), token);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
