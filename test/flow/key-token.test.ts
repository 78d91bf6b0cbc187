import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKeyRing, KEY_PURPOSES, rotateKeys } from '../../src/card/change-key-ring.ts';
import { TokenKeys } from '../../src/card/key-ring-file.ts';
import { examine } from '../../src/cli/doctor.ts';
import { Token } from '../../src/hsm-devices/pkcs11/token.ts';
import { readConfig } from '../../src/start/config.ts';
import { freshSoftToken, HAS_SOFT_TOKEN, type SoftToken } from '../hsm/pkcs11/soft-token.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { enterPin, RIGHT_PIN, tapForPin } from '../support/pins.ts';
import { refundSale, sellApproved } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';

const TAP = { amount: '10.00', currency: 'ZAR' } as const;
const DAY_MS = 86_400_000;

describe.skipIf(!HAS_SOFT_TOKEN)('with the keys of the installation in a token', () => {
  let folder: string;
  let soft: SoftToken;
  let token: Token;
  let keysFile: string;
  let installation: Installation;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tapwire-token-'));
    keysFile = join(folder, 'keys.json');
    soft = freshSoftToken();
    token = new Token(soft);
    await createKeyRing(keysFile, new TokenKeys(token));
    const ofToken = { PKCS11_MODULE: soft.modulePath, PKCS11_TOKEN: soft.label, PKCS11_PIN_FILE: soft.pinFile };
    installation = await startInstallation({ settings: { TAPWIRE_KEYS_FILE: keysFile, ...ofToken } });
  });
  afterAll(async () => {
    await installation.stop();
    await token.close();
    rmSync(folder, { recursive: true });
  });

  test('the key file contains no key', () => {
    const file = JSON.parse(readFileSync(keysFile, 'utf8')) as Record<string, object[]>;
    for (const entries of Object.values(file))
      for (const entry of entries) {
        expect(entry).toHaveProperty('tokenKey');
        expect(entry).not.toHaveProperty('privateKey');
        expect(entry).not.toHaveProperty('secret');
      }
  });

  test('taps, PINs and refunds work, also after each purpose was rotated', async () => {
    const phone = installation.phone();
    const sale = await sellApproved(installation, '10.00');
    const times = { nowMs: Date.now(), retireAfterMs: DAY_MS, token: new TokenKeys(token) };
    for (const purpose of KEY_PURPOSES) await rotateKeys(keysFile, purpose, times);
    const fresh = installation.phone();
    expect(outcomeOf(await fresh.tap(TAP))).toMatchObject({ type: 'Approved' });
    expect(outcomeOf(await phone.tap(TAP))).toMatchObject({ type: 'Approved' });
    expect(outcomeOf(await enterPin(fresh, await tapForPin(fresh), RIGHT_PIN))).toMatchObject({ type: 'Approved' });
    expect(await refundSale(installation, sale, { amount: '10.00', refundReference: randomUUID() })).toMatchObject({
      status: 200,
    });
    await expectInvariants(installation);
  });

  test('/readyz and the metrics show the token', async () => {
    const readyz = await (await fetch(new URL('/readyz', installation.url))).text();
    expect(readyz).toContain(soft.label);
    const metrics = await (await fetch(new URL('/metrics', installation.url))).text();
    expect(metrics).toContain(`device="${soft.label}"`);
  });

  test('doctor reports a wrong PIN, a token that is not there, and settings that are missing', async () => {
    const settings = installation.environment();
    const linesOf = async (changes: NodeJS.ProcessEnv) => {
      const findings = await examine(readConfig({ ...settings, ...changes }), Date.now());
      return findings.map(({ part, description, advice }) => `${part}: ${description} ${advice ?? ''}`).join('\n');
    };
    expect(await linesOf({})).toContain(`token ${soft.label}: responds`);
    expect(await linesOf({ PKCS11_TOKEN: 'nowhere' })).toContain('CKR_TOKEN_NOT_PRESENT check PKCS11_TOKEN');
    expect(await linesOf({ PKCS11_PIN_FILE: keysFile })).toContain('the PIN file');
    const none = { PKCS11_MODULE: undefined, PKCS11_TOKEN: undefined, PKCS11_PIN_FILE: undefined };
    expect(await linesOf(none)).toContain('names a key of a token at');
    expect(() => readConfig({ ...settings, PKCS11_TOKEN: undefined })).toThrow('PKCS11_TOKEN');
  });
});
