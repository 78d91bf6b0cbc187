import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { kcv } from '../../src/codecs/crypto/mac.ts';
import { demoKey, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { followKeyFile } from '../../src/hsm-devices/hsm-key-file.ts';
import { openHsm } from '../../src/hsm-devices/open-hsm.ts';
import { CREDENTIALS } from '../hsm/aws/signature.ts';
import { arnOf, SimulatedService } from '../hsm/aws/simulated-service.ts';
import { CLEAR, clearKey, fileFor, Opened } from '../hsm/support.ts';

const TIMES = { everyMs: 10, removedAfterMs: 200 };

const softKey = (keyId: string) => {
  return { keyId, usage: 'mac', algorithm: 'tdes', key: '0123456789ABCDEFFEDCBA9876543210' };
};

function pathOf(content: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-follow-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'keys.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
}

/** As a whole, as the commands replace it: a file that is being written would be one more version that is wrong. */
function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

test('a software HSM has new keys without a restart, loses removed ones, and keeps all while the file is wrong', async () => {
  const path = pathOf({ keys: [softKey('one')] });
  const hsm = (await openHsm({ environment: 'dev', keysFile: path, module: undefined }))!;
  const faults: unknown[] = [];
  const following = followKeyFile(hsm, path, 'dev', (error) => faults.push(error), TIMES)!;
  onTestFinished(() => following.stop());
  replaceFile(path, JSON.stringify({ keys: [softKey('one'), softKey('two')] }));
  await expect.poll(() => hsm.kcv('two').catch(() => 'unknown')).toBe('08D7B4');
  replaceFile(path, '{"keys": [');
  await expect.poll(() => faults.length).toBe(1);
  expect(await hsm.kcv('one')).toBe('08D7B4');
  expect(String(faults[0])).not.toContain('0123456789');
  replaceFile(path, JSON.stringify({ keys: [softKey('two')] }));
  await expect.poll(() => hsm.kcv('one').catch(() => 'unknown')).toBe('unknown');
  expect(await hsm.kcv('two')).toBe('08D7B4');
});

test('keys in a file that other users can read stop the start in qa, and are not taken later', async () => {
  const path = pathOf({ keys: [softKey('one')] });
  const opened = () => openHsm({ environment: 'qa', keysFile: path, module: undefined });
  const refusal = {
    code: 'BAD_CONFIG',
    message: expect.stringMatching(/HSM_KEYS_FILE: other users can access .* \(mode 644\).* Run: chmod 600/),
  };
  chmodSync(path, 0o644);
  await expect(opened()).rejects.toMatchObject(refusal);
  chmodSync(path, 0o600);
  const hsm = (await opened())!;
  const faults: unknown[] = [];
  const following = followKeyFile(hsm, path, 'qa', (error) => faults.push(error), TIMES)!;
  onTestFinished(() => following.stop());
  writeFileSync(`${path}.new`, JSON.stringify({ keys: [softKey('two')] }));
  chmodSync(`${path}.new`, 0o644);
  renameSync(`${path}.new`, path);
  await expect.poll(() => faults).toMatchObject([refusal]);
  expect(await hsm.kcv('one')).toBe('08D7B4');
  await expect(hsm.kcv('two')).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
  chmodSync(path, 0o600);
  await expect.poll(() => hsm.kcv('two').catch(() => 'unknown')).toBe('08D7B4');
});

test('a removed key remains usable while connections that use it are replaced', async () => {
  const path = pathOf({ keys: [softKey('one')] });
  const hsm = (await openHsm({ environment: 'dev', keysFile: path, module: undefined }))!;
  const following = followKeyFile(hsm, path, 'dev', () => {}, { everyMs: 10, removedAfterMs: 60_000 })!;
  onTestFinished(() => following.stop());
  replaceFile(path, JSON.stringify({ keys: [softKey('one'), softKey('two')] }));
  await expect.poll(() => hsm.kcv('two').catch(() => 'unknown')).toBe('08D7B4');
  replaceFile(path, JSON.stringify({ keys: [softKey('three')] }));
  await expect.poll(() => hsm.kcv('three').catch(() => 'unknown')).toBe('08D7B4');
  expect(await hsm.kcv('one')).toBe('08D7B4');
});

test('payShield keys are followed as well, and keys of a key exchange stay', async () => {
  const opened = new Opened();
  onTestFinished(() => opened.closeAll());
  const { port } = await opened.simulator();
  const all = fileFor([port]) as { keys: { keyId: string }[] };
  const path = pathOf({ ...all, keys: all.keys.filter(({ keyId }) => keyId === 'zmk') });
  const hsm = (await openHsm({ environment: 'prod', keysFile: undefined, module: path }))!;
  onTestFinished(async () => hsm.close?.());
  const cryptogram = clearKey('zmk').encrypt(fromHex(CLEAR.zpk));
  const kcvOfPin = kcv(clearKey('zpk'));
  await hsm.importKey({ keyId: 'exchanged', usage: 'pin', transportKeyId: 'zmk', cryptogram, kcv: kcvOfPin });
  const following = followKeyFile(hsm, path, 'prod', () => {}, TIMES)!;
  onTestFinished(() => following.stop());
  replaceFile(path, JSON.stringify({ ...all, keys: all.keys.filter(({ keyId }) => keyId === 'zak') }));
  await expect.poll(() => hsm.kcv('zak').catch(() => 'unknown')).toBe('08D7B4');
  await expect.poll(() => hsm.kcv('zmk').catch(({ code }) => code)).toBe('KEY_UNKNOWN');
  expect(await hsm.kcv('exchanged')).toBe(kcvOfPin);
});

test('keys of AWS Payment Cryptography are followed as well', async () => {
  const keys = ['one', 'two'].map((keyId) => demoKey(keyId, 'mac'));
  const held = keys.map((key) => ({ ...key, arn: arnOf(key.keyId), bytes: key.bytes.reveal() }));
  const service = await SimulatedService.start(held);
  onTestFinished(() => service.close());
  const kcvOf = async (keyId: string) => new SoftHsm({ environment: 'qa', keys }).kcv(keyId);
  const filed = async (keyId: string) => ({ keyId, usage: 'mac', key: arnOf(keyId), kcv: await kcvOf(keyId) });
  const { url } = service;
  const file = { kind: 'aws-payment-cryptography', region: 'eu-west-1', endpoints: { data: url, control: url } };
  const path = pathOf({ ...file, keys: [await filed('one')] });
  vi.stubEnv('AWS_ACCESS_KEY_ID', CREDENTIALS.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', CREDENTIALS.secretAccessKey);
  onTestFinished(() => void vi.unstubAllEnvs());
  const hsm = (await openHsm({ environment: 'prod', keysFile: undefined, module: path }))!;
  onTestFinished(async () => hsm.close?.());
  const following = followKeyFile(hsm, path, 'prod', () => {}, TIMES)!;
  onTestFinished(() => following.stop());
  await expect(hsm.kcv('two')).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
  replaceFile(path, JSON.stringify({ ...file, keys: [await filed('two')] }));
  await expect.poll(() => hsm.kcv('two').catch(() => 'unknown')).toBe(await kcvOf('two'));
  await expect.poll(() => hsm.kcv('one').catch(({ code }) => code)).toBe('KEY_UNKNOWN');
});
