import { describe, expect, test } from 'vitest';
import { InstallationKeys } from '../../src/card/installation-keys.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import { SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { readerConformance } from '../../src/kits/reader-kit/conformance.ts';
import { loadReaders } from '../../src/kits/reader-kit/load-readers.ts';
import type { SampleKeyRing } from '../../src/kits/reader-kit/sample-keys.ts';
import { freshSampleKeys } from '../../src/kits/reader-kit/sample-keys.ts';
import { HsmCalls } from '../../src/switching/hsm/hsm-calls.ts';
import { freshKeyRing } from '../support/card-data.ts';

/** Keys as a gateway has them: those of agreement in its key ring, the base derivation keys in an HSM. */
async function keysOfGateway(): Promise<SampleKeyRing> {
  const ring = await freshKeyRing();
  const { baseKeys } = freshSampleKeys().ofReaders;
  const keys = baseKeys.map(({ bytes, ...key }) => ({ ...key, usage: 'dukptBase' as const, bytes: new Secret(bytes) }));
  const hsm = new SoftHsm({ environment: 'qa', keys });
  const clock = { monotonicMs: () => performance.now() };
  const calls = new HsmCalls({ purpose: 'card data', clock, log: { warn: () => {} } });
  return {
    ofReaders: { publicKeys: ring.publicCardDataKeys(Date.now()).keys, baseKeys },
    ofInstallation: new InstallationKeys({ keys: ring, nowMs: Date.now, readerHsm: { hsm, calls } }).of(1),
  };
}

const formats = await loadReaders();

test('there are three built-in formats', () => {
  expect([...formats.keys()].sort()).toEqual(['apple-ttp', 'dukpt', 'jwe']);
});

describe.each([...formats.values()])('$format', (format) => {
  test.each([
    ['with the keys of the kit', async () => freshSampleKeys()],
    ['with the keys of a gateway', keysOfGateway],
  ])('conforms %s', async (_, keys) => {
    const results = await readerConformance(format, await keys());
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    expect(results.length).toBeGreaterThan(10);
  });
});
