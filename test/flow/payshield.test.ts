import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { KeyUsage } from '../../src/codecs/crypto/hsm.ts';
import { DEMO_READER_KEY, demoKey } from '../../src/codecs/crypto/soft-hsm.ts';
import type { SwitchConfig } from '../../src/kits/processor-kit/index.ts';
import { demoLmkKeys } from '../../src/tools/simulator/hsm/simulated-payshield.ts';
import { createIdentity } from '../connection/certificates.ts';
import { HOST, Opened } from '../hsm/support.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { enterPin, RIGHT_PIN, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { outcomeOf } from '../support/responses.ts';

const TAPS = 20;
const ZONE_PIN = { keyId: 'zone-pin', format: 0, derivation: 'zone' } as const;
const DUKPT_PIN = { keyId: 'acquirer-bdk', format: 0, derivation: 'dukpt' } as const;

/** The keys of the switches of types 1 and 2, and of readers. */
const KEYS: Readonly<Record<string, KeyUsage>> = {
  'demo-mac-1': 'mac',
  'zone-pin': 'pin',
  'acquirer-bdk': 'dukptBase',
  [DEMO_READER_KEY]: 'dukptBase',
  kek: 'keyEncryption',
  kbpk: 'keyBlockProtection',
};

const identity = createIdentity('simulated HSM');
const opened = new Opened();
let folder: string;
let devices: { port: number; stop(): Promise<void> }[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-payshield-'));
  writeFileSync(join(folder, 'ca.pem'), identity.cert);
});
afterAll(() => rmSync(folder, { recursive: true }));

const EXCHANGE = { startedBy: 'us', maxAgeSeconds: 86_400, overlapSeconds: 60 } as const;
const CRYPTOGRAMS = { ...EXCHANGE, transportKeyId: 'kek', form: 'cryptogram', keys: ['mac', 'pin'] } as const;
const KEY_BLOCKS = { ...EXCHANGE, transportKeyId: 'kbpk', form: 'keyBlock', keys: ['mac'] } as const;

describe.each([
  ['type-1', 'variant', ZONE_PIN, CRYPTOGRAMS],
  ['type-2', 'keyBlock', DUKPT_PIN, KEY_BLOCKS],
] as const)('with two payShield devices over TLS, a switch of %s, and a %s LMK', (type, form, pinKey, exchange) => {
  let installation: Installation;
  let settings: NodeJS.ProcessEnv;

  const start = (differences: Partial<SwitchConfig>, role?: 'none') => {
    const config = { macKeys: [{ number: 1, keyId: 'demo-mac-1' }], pinKey, ...differences };
    return startInstallation({ type, settings, config, role, profile: { maxInFlight: TAPS } });
  };

  beforeEach(async () => {
    const secure = { cert: identity.cert, key: identity.key };
    devices = await Promise.all([1, 2].map(() => opened.simulator({ lmkForm: form, tls: secure, latencyMs: 1 })));
    const file = join(folder, `${type}.json`);
    const keys = Object.entries(KEYS).map(([keyId, usage]) => demoKey(keyId, usage));
    const content = {
      kind: 'payshield',
      lmk: { form },
      devices: devices.map(({ port }, at) => ({ name: `hsm-${at}`, host: HOST, port, tls: { caFile: 'ca.pem' } })),
      keys: demoLmkKeys(keys, form),
    };
    writeFileSync(file, JSON.stringify(content));
    settings = { HSM_MODULE: file, HSM_KEYS_FILE: undefined };
  });
  afterEach(async () => {
    await installation.stop();
    await opened.closeAll();
  });

  const tapMany = () =>
    Promise.all(
      Array.from({ length: TAPS }, async () =>
        outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })),
      ),
    );

  test('taps and PINs are authenticated and translated by them; one can be killed without a declined tap', async () => {
    installation = await start({});
    const phone = installation.phone();
    expect(outcomeOf(await enterPin(phone, await tapForPin(phone), RIGHT_PIN)).type).toBe('Approved');
    expect(outcomeOf(await enterPin(phone, await tapForPin(phone), WRONG_PIN)).type).not.toBe('Approved');
    const underLoad = tapMany();
    await devices[0]!.stop();
    for (const { type: outcome } of [...(await underLoad), ...(await tapMany())]) expect(outcome).toBe('Approved');
    expect(outcomeOf(await enterPin(phone, await tapForPin(phone), RIGHT_PIN)).type).toBe('Approved');
    await expectInvariants(installation);

    await devices[1]!.stop();
    const { authorizations } = installation.asked;
    for (const outcome of await tapMany()) expect(outcome).toMatchObject({ type: 'UnableToGoOnline' });
    expect(installation.asked.authorizations).toBe(authorizations);
    await eventually(() => expectInvariants(installation, { areFaultsExpected: true }));
  });

  test('keys that the switch exchanges are imported and used', async () => {
    installation = await start({ keyExchange: { ...exchange, keys: [...exchange.keys] } }, 'none');
    // For the switch, two acquirers that announce their own keys would be two zones.
    for (const table of ['routes', 'processors']) {
      await installation.database.query(`delete from ${table} where acquirer_id = 2`);
    }
    await installation.startGateway();
    await eventually(async () => expect(await installation.simulator.changeKeys()).toBe(1));
    const phone = installation.phone();
    expect(outcomeOf(await enterPin(phone, await tapForPin(phone), RIGHT_PIN)).type).toBe('Approved');
    for (const { type: outcome } of await tapMany()) expect(outcome).toBe('Approved');
    const { badMacs, keyExchange } = await installation.switchStats();
    expect(badMacs).toBe(0);
    expect(keyExchange!.exchanged).toBeGreaterThan(0);
    await expectInvariants(installation);
  });
});
