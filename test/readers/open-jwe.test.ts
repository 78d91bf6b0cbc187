import type { KeyObject } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { openJwe } from '../../readers/jwe/jwe.ts';
import { InstallationKeys } from '../../src/card/installation-keys.ts';
import { createCardDataSealer } from '../../src/card/sample-tap.ts';
import { CardDataRefusal } from '../../src/kits/reader-kit/reader-format.ts';
import { BINDING, freshKeyRing, publicKeyOf, visaTap } from '../support/card-data.ts';

const ring = await freshKeyRing();
const x25519 = publicKeyOf(ring, 'X25519');
const agreements = vi.fn();

/** Counts the agreements with the keys of the ring. */
const counted = {
  ...ring,
  cardDataKey: (kid: string) => countedKeys.get(kid),
};
const countedKeys = new Map(
  ring.publicCardDataKeys(Date.now()).keys.map(({ kid }) => {
    const key = ring.cardDataKey(kid)!;
    const agree = (publicKey: KeyObject) => {
      agreements();
      return key.agree(publicKey);
    };
    return [kid, { ...key, agree }] as const;
  }),
);

function freshKeys(): InstallationKeys {
  return new InstallationKeys({ keys: counted, nowMs: Date.now, readerHsm: undefined });
}

/** The compact JWE of one tap. */
function compactOf(sealer: ReturnType<typeof createCardDataSealer>, reference = BINDING.merchantReference): string {
  const { paymentCardData } = sealer.seal(visaTap(), { ...BINDING, merchantReference: reference });
  return Buffer.from(paymentCardData, 'base64').toString('latin1');
}

/** The same JWE with another protected header; its tag no longer fits. */
function withHeader(compact: string, change: (header: { epk: Record<string, unknown> }) => void): string {
  const [first, ...rest] = compact.split('.');
  const header = JSON.parse(Buffer.from(first!, 'base64url').toString());
  change(header);
  return [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
}

async function refusalOf(keys: InstallationKeys, compact: string): Promise<string> {
  try {
    await openJwe(compact, keys);
  } catch (error) {
    if (error instanceof CardDataRefusal) return error.reason;
    throw error;
  }
  return 'opened';
}

describe('the secret of a proximity session', () => {
  const session = createCardDataSealer(x25519, { keepEphemeral: true });
  let keys = freshKeys();

  beforeEach(() => {
    keys = freshKeys();
  });

  test('is agreed on once for all references', async () => {
    const taps = Array.from({ length: 5 }, (_, tap) => `order-${tap}`).map((reference) => ({
      compact: compactOf(session, reference),
    }));
    agreements.mockClear();
    for (const { compact } of taps) await openJwe(compact, keys);
    expect(agreements).toHaveBeenCalledTimes(1);
  });

  test('is agreed on for each tap of a reader that keeps none', async () => {
    const taps = Array.from({ length: 5 }, () => compactOf(createCardDataSealer(x25519)));
    agreements.mockClear();
    for (const compact of taps) await openJwe(compact, keys);
    expect(agreements).toHaveBeenCalledTimes(5);
  });

  test('is not kept for a blob that did not open', async () => {
    const forged = compactOf(session).slice(0, -22) + 'A'.repeat(22);
    agreements.mockClear();
    for (let attempt = 0; attempt < 3; attempt++) expect(await refusalOf(keys, forged)).toBe('decryption');
    expect(agreements).toHaveBeenCalledTimes(3);
  });

  test.each<[string, (epk: Record<string, unknown>) => void]>([
    [
      'of another type',
      (epk) => {
        epk.kty = 'EC';
      },
    ],
    [
      'of another curve',
      (epk) => {
        epk.crv = 'P-256';
      },
    ],
    [
      'with a member more',
      (epk) => {
        epk.d = 'AAAA';
      },
    ],
    [
      'with a list for its coordinate',
      (epk) => {
        epk.x = [epk.x];
      },
    ],
    [
      'without its coordinate',
      (epk) => {
        delete epk.x;
      },
    ],
  ])('does not make an ephemeral key %s acceptable, known or not', async (_, change) => {
    const compact = compactOf(session);
    const changed = withHeader(compact, ({ epk }) => change(epk));
    expect(await refusalOf(keys, changed)).toBe('ephemeral-key');
    await openJwe(compact, keys);
    expect(await refusalOf(keys, changed)).toBe('ephemeral-key');
  });
});
