/** `npm run bench -- card-data`: the cost of a tap before its message is built, with a new blob each time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CardDataPublicKey } from '#schemas/card-data';
import { createCardVault } from '../../src/card/card-vault.ts';
import { createKeyRing } from '../../src/card/create-key-ring.ts';
import { type KeyRing, readKeyRing } from '../../src/card/key-ring.ts';
import { createCardDataOpener } from '../../src/card/open-card-data.ts';
import { sampleTap } from '../../src/card/sample-tap.ts';
import { createCardDataSealer } from '../../src/card/seal-card-data.ts';
import type { TapRequest } from '../../src/transactions/ports/card-ports.ts';
import { measure, ratio, report } from './measure.ts';

/** More taps than the opener keeps secrets, so that cycling through them never finds a known one. */
const TAPS = 4_200;

export async function bench({ json }: { readonly json?: string } = {}): Promise<void> {
  const keys = await freshKeyRing();
  const opener = createCardDataOpener({ keys });
  const vault = createCardVault(keys);
  const kept = { pan: '4111111111111111', expiry: '3112', original: { stan: '000123', rrn: '602108000123' } };
  const id = '7d8f4d1e-3f53-4a0f-9a3e-3f8f5c9d2b10';
  const open = (curve: CardDataPublicKey['crv'], keepEphemeral: boolean) => {
    const taps = sealTaps(keys, curve, keepEphemeral);
    let next = 0;
    return () => opener.open(taps[next++ % taps.length]!);
  };
  const tap = sealTaps(keys, 'X25519', true)[0]!;
  const results = measure({
    'open, X25519': open('X25519', false),
    'open, P-256': open('P-256', false),
    'open, X25519, session known': open('X25519', true),
    'open, P-256, session known': open('P-256', true),
    'fingerprint of both blobs': () => opener.fingerprint(tap),
    'seal the card': () => vault.seal(id, kept),
    'hash the PAN': () => vault.hashPan(kept.pan),
  });
  const ratios = { knownSessionVsNew: ratio(results, 'open, X25519, session known', 'open, X25519') };
  report('Card data of one tap', { results, ratios }, json);
}

function sealTaps(keys: KeyRing, curve: CardDataPublicKey['crv'], keepEphemeral: boolean): TapRequest[] {
  const recipient = keys.publicCardDataKeys(Date.now()).keys.find(({ crv }) => crv === curve)!;
  const sealer = createCardDataSealer(recipient, { keepEphemeral });
  return Array.from({ length: TAPS }, (_, tap) =>
    sealer.seal(sampleTap({ amountMinor: tap, currencyNumeric: '710', at: new Date() }), {
      deviceInstallationId: '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11',
      merchantReference: `order-${tap}`,
    }),
  );
}

async function freshKeyRing(): Promise<KeyRing> {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-bench-'));
  try {
    await createKeyRing(join(folder, 'keys.json'));
    return await readKeyRing(join(folder, 'keys.json'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
