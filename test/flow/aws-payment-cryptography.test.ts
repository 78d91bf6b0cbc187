import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_READER_KEY, demoKey, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { CREDENTIALS } from '../hsm/aws/signature.ts';
import { arnOf, SimulatedService } from '../hsm/aws/simulated-service.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { enterPin, RIGHT_PIN, tapForPin } from '../support/pins.ts';
import { outcomeOf } from '../support/responses.ts';

const TAP = { amount: '10.00', currency: 'ZAR' } as const;
const KEYS = [
  demoKey('demo-mac-1', 'mac'),
  demoKey('zone-pin', 'pin'),
  demoKey('acquirer-bdk', 'dukptBase'),
  demoKey(DEMO_READER_KEY, 'dukptBase'),
];
const ENVIRONMENT = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };

let folder: string;
let service: SimulatedService;
const before = { ...process.env };
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-aws-'));
  const soft = new SoftHsm({ environment: 'qa', keys: KEYS });
  const named = KEYS.map((key) => ({ ...key, arn: arnOf(key.keyId.replaceAll('-', '')), bytes: key.bytes.reveal() }));
  service = await SimulatedService.start(named);
  const keys = await Promise.all(
    named.map(async ({ keyId, usage, arn }) => ({ keyId, usage, key: arn, kcv: await soft.kcv(keyId) })),
  );
  const endpoints = { data: service.url, control: service.url };
  const content = { kind: 'aws-payment-cryptography', region: 'eu-west-1', endpoints, keys };
  writeFileSync(join(folder, 'aws.json'), JSON.stringify(content));
  Object.assign(process.env, ENVIRONMENT);
});
afterAll(async () => {
  for (const name of Object.keys(ENVIRONMENT)) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
  await service.close();
  rmSync(folder, { recursive: true });
});

describe.each([
  ['type-1', { keyId: 'zone-pin', format: 0, derivation: 'zone' }],
  ['type-2', { keyId: 'acquirer-bdk', format: 0, derivation: 'dukpt' }],
] as const)('with keys in AWS Payment Cryptography and a switch of %s', (type, pinKey) => {
  test('a tap with its PIN is approved, with MACs in both directions', async () => {
    const config = { macKeys: [{ number: 1, keyId: 'demo-mac-1' }], pinKey };
    const settings = { HSM_MODULE: join(folder, 'aws.json'), HSM_KEYS_FILE: undefined };
    const installation: Installation = await startInstallation({
      type,
      config,
      profile: { deadlineMs: 8_000 },
      settings,
    });
    try {
      const phone = installation.phone();
      expect(outcomeOf(await phone.tap(TAP)).type).toBe('Approved');
      expect(outcomeOf(await enterPin(phone, await tapForPin(phone), RIGHT_PIN)).type).toBe('Approved');
      expect(installation.simulator.counters()[0]!.refused).toBe(0);
      const readyz = await (await fetch(new URL('/readyz', installation.url))).text();
      expect(readyz).toContain('payment-cryptography eu-west-1');
      expect(service.calls).toContain('TranslatePinData');
      expect(service.faults).toEqual([]);
      await expectInvariants(installation);
    } finally {
      await installation.stop();
    }
  });
});
