import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createKeyRing } from '../../src/card/change-key-ring.ts';
import { TokenKeys } from '../../src/card/key-ring-file.ts';
import { DEMO_READER_KEY, demoKey } from '../../src/codecs/crypto/soft-hsm.ts';
import { Token } from '../../src/hsm-devices/pkcs11/token.ts';
import { Phone } from '../../src/tools/phone/phone.ts';
import { demoLmkKeys } from '../../src/tools/simulator/hsm/simulated-payshield.ts';
import { createIdentity } from '../connection/certificates.ts';
import { freshSoftToken, HAS_SOFT_TOKEN } from '../hsm/pkcs11/soft-token.ts';
import { HOST, Opened } from '../hsm/support.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { enterPin, RIGHT_PIN, tapForPin } from '../support/pins.ts';
import { outcomeOf } from '../support/responses.ts';

const TAP = { amount: '10.00', currency: 'ZAR' } as const;
const MACS = [{ number: 1, keyId: 'demo-mac-1' }];
const ZONE_PIN = { keyId: 'zone-pin', format: 0, derivation: 'zone' } as const;
const DUKPT_PIN = { keyId: 'acquirer-bdk', format: 0, derivation: 'dukpt' } as const;

const identity = createIdentity('simulated HSM');
const opened = new Opened();
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-prod-'));
  writeFileSync(join(folder, 'ca.pem'), identity.cert);
});
afterEach(() => opened.closeAll());
afterAll(() => rmSync(folder, { recursive: true }));

/** A client behind a proxy that ends TLS. */
const throughProxy: typeof fetch = (input, init) =>
  fetch(input, { ...init, headers: { ...(init?.headers as object), 'x-forwarded-proto': 'https' } });

/** Creates the keys in a new token. Returns the settings that name it. */
async function keysInToken(keysFile: string): Promise<NodeJS.ProcessEnv> {
  const soft = freshSoftToken();
  const token = new Token(soft);
  await createKeyRing(keysFile, new TokenKeys(token));
  await token.close();
  return { PKCS11_MODULE: soft.modulePath, PKCS11_TOKEN: soft.label, PKCS11_PIN_FILE: soft.pinFile };
}

describe.each([
  ['type-1', ZONE_PIN],
  ['type-2', DUKPT_PIN],
] as const)('in prod, with a payShield device over TLS and a switch of %s', (type, pinKey) => {
  async function start(settings: NodeJS.ProcessEnv): Promise<Installation> {
    const device = await opened.simulator({ lmkForm: 'variant', tls: { cert: identity.cert, key: identity.key } });
    const keys = [demoKey('demo-mac-1', 'mac'), demoKey('zone-pin', 'pin')];
    for (const bdk of ['acquirer-bdk', DEMO_READER_KEY]) keys.push(demoKey(bdk, 'dukptBase'));
    const devices = [{ name: 'hsm-1', host: HOST, port: device.port, tls: { caFile: 'ca.pem' } }];
    const file = join(folder, `${type}.json`);
    const content = { kind: 'payshield', lmk: { form: 'variant' }, devices, keys: demoLmkKeys(keys, 'variant') };
    writeFileSync(file, JSON.stringify(content));
    const urls = { BASE_URL: 'https://api.example', APP_URL: 'https://pay.example' };
    const prod = { TAPWIRE_ENV: 'prod', ...urls, TRUSTED_PROXIES: '127.0.0.1' };
    return startInstallation({
      ...{ type, role: 'none', config: { macKeys: MACS, pinKey }, profile: { deadlineMs: 8_000 } },
      settings: { ...prod, HSM_MODULE: file, HSM_KEYS_FILE: undefined, ...settings },
    });
  }

  test.each([
    ['in a file', false],
    ['in a token of SoftHSM', true],
  ])('with the keys of the installation %s: a tap with its PIN is approved, with MACs in both directions, and a client without HTTPS is refused', async (_, isInToken) => {
    if (isInToken && !HAS_SOFT_TOKEN) return;
    // Only dev makes a key ring; in prod, tapwire init does.
    const keysFile = join(folder, `keys-${type}-${isInToken}.json`);
    const settings = isInToken ? await keysInToken(keysFile) : {};
    if (!isInToken) await createKeyRing(keysFile);
    const installation = await start({ TAPWIRE_KEYS_FILE: keysFile, ...settings });
    try {
      await installation.startGateway({}, { isSwitchDown: true });
      const phone = new Phone(installation.profile(), undefined, throughProxy);
      await eventually(async () => expect(outcomeOf(await phone.tap(TAP)).type).toBe('Approved'));
      expect(outcomeOf(await enterPin(phone, await tapForPin(phone), RIGHT_PIN)).type).toBe('Approved');
      expect(installation.simulator.counters()[0]!.refused).toBe(0);
      await expect(installation.phone().tap(TAP)).rejects.toThrow('HTTPS is required');
      await expectInvariants(installation);
    } finally {
      await installation.stop();
    }
  });
});
