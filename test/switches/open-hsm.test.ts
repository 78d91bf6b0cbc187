import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HsmUnavailable, StartError } from '../../src/basics/errors.ts';
import { openHsm } from '../../src/hsm-devices/open-hsm.ts';
import type { PayshieldHsm } from '../../src/hsm-devices/payshield/payshield-hsm.ts';
import { readConfig } from '../../src/start/config.ts';
import { fileFor, Opened } from '../hsm/support.ts';

const KEY = '0123456789ABCDEFFEDCBA9876543210';
const MAC_KEY = { keyId: 'mac-1', usage: 'mac', algorithm: 'tdes', key: KEY };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-hsm-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function open(options: { keysFile?: string; module?: string; environment?: string }) {
  return openHsm({ environment: 'dev', keysFile: undefined, module: undefined, ...options });
}

async function reasonOf(opening: Promise<unknown>): Promise<string> {
  const error = await opening.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StartError);
  return (error as StartError).reason;
}

test('no HSM is opened without a configuration', async () => {
  expect(await open({})).toBeUndefined();
});

describe('a software HSM', () => {
  test('has the keys of its file', async () => {
    const keysFile = fileOf('keys.json', JSON.stringify({ keys: [MAC_KEY] }));
    const hsm = await open({ keysFile });
    const mac = {
      method: { algorithm: 'cbc', padding: 1 },
      message: Buffer.from('a message'),
      lengthBytes: 8,
    } as const;
    expect(await hsm!.mac({ ...mac, keyId: 'mac-1' })).toHaveLength(8);
    await expect(hsm!.mac({ ...mac, keyId: 'mac-2' })).rejects.toThrow('KEY_UNKNOWN');
  });

  test.each([
    ['is not there', undefined, /cannot be read \(ENOENT\)/],
    ['is no JSON', `{"keys": [{"key": "${KEY}"`, /is wrong at/],
    ['names a use that there is not', JSON.stringify({ keys: [{ ...MAC_KEY, usage: 'anything' }] }), /keys\/0\/usage/],
    ['has a key that is not hex', JSON.stringify({ keys: [{ ...MAC_KEY, key: `${KEY.slice(2)}XY` }] }), /keys\/0\/key/],
    ['has two keys of one id', JSON.stringify({ keys: [MAC_KEY, MAC_KEY] }), /KEY_EXISTS/],
    ['has a key of a wrong length', JSON.stringify({ keys: [{ ...MAC_KEY, key: KEY.slice(0, 20) }] }), /KEY_LENGTH/],
  ])('does not open if its file %s, and never quotes it', async (_what, text, reason) => {
    const keysFile = text === undefined ? join(folder, 'nowhere.json') : fileOf('wrong.json', text);
    const reported = await reasonOf(open({ keysFile }));
    expect(reported).toMatch(reason);
    expect(reported).not.toMatch(/0123456789/);
  });

  test('is not allowed in prod, neither as a file nor as a setting', async () => {
    const keysFile = fileOf('keys.json', JSON.stringify({ keys: [MAC_KEY] }));
    expect(await reasonOf(open({ keysFile, environment: 'prod' }))).toMatch(/SOFT_HSM_FORBIDDEN/);
    const urls = { BASE_URL: 'https://api.example', APP_URL: 'https://pay.example' };
    const prod = { TAPWIRE_ENV: 'prod', DATABASE_URL: 'postgres://db', TLS_CERT_FILE: 'c', TLS_KEY_FILE: 'k', ...urls };
    expect(() => readConfig({ ...prod, HSM_KEYS_FILE: keysFile })).toThrow(/HSM_KEYS_FILE: .*set HSM_MODULE/);
    expect(readConfig({ ...prod, HSM_MODULE: 'vendor-hsm' }).HSM_MODULE).toBe('vendor-hsm');
  });
});

describe('an HSM module', () => {
  test('is opened through its openHsm, from a path', async () => {
    const methods = 'importKey() {}, forgetKey() {}, kcv() {}, translatePin() {}, verifyMac() {}, mac: async () => 17';
    const source = `export const openHsm = async () => ({ ${methods} });`;
    const hsm = await open({ module: fileOf('vendor.mjs', source) });
    expect(await hsm!.mac({} as never)).toBe(17);
  });

  test.each([
    ['is not there', undefined, /cannot be opened/],
    [
      'throws',
      'export const openHsm = async () => { throw new Error("no token in the slot"); };',
      /no token in the slot/,
    ],
    ['has no openHsm', 'export const anything = 1;', /openHsm\(\) .* must return an Hsm/],
    [
      'returns a part',
      'export const openHsm = async () => ({ mac() {}, kcv() {} });',
      /missing: importKey, forgetKey, tr/,
    ],
  ])('does not open if it %s, and reports it', async (what, source, reason) => {
    const name = `${what.replaceAll(' ', '-')}.mjs`;
    const module = source === undefined ? join(folder, 'nowhere.mjs') : fileOf(name, source);
    expect(await reasonOf(open({ module }))).toMatch(reason);
  });
});

describe('a JSON file with payShield devices', () => {
  const opened = new Opened();
  afterEach(() => opened.closeAll());

  test('is opened in prod, and its keys can be used at once', async () => {
    const { port } = await opened.simulator();
    const module = fileOf('payshield.json', JSON.stringify(fileFor([port])));
    const hsm = (await open({ module, environment: 'prod' })) as PayshieldHsm;
    expect(await hsm.kcv('zak')).toBe('08D7B4');
    await hsm.close();
  });

  test('a file with a payShield device that is unavailable is opened, and its keys cannot be used', async () => {
    const { port, stop } = await opened.simulator();
    await stop();
    const hsm = (await open({ module: fileOf('payshield.json', JSON.stringify(fileFor([port]))) })) as PayshieldHsm;
    await expect(hsm.kcv('zak')).rejects.toBeInstanceOf(HsmUnavailable);
    await hsm.close();
  });

  test.each([
    ['is not there', undefined, /cannot be read \(ENOENT\)/],
    ['is no JSON', '{"kind": "payshield"', /is wrong/],
    ['is of another kind', '{"kind": "other"}', /is wrong: \/kind/],
  ])('does not open if it %s', async (_what, text, reason) => {
    const module = text === undefined ? join(folder, 'nowhere.json') : fileOf('payshield.json', text);
    expect(await reasonOf(open({ module }))).toMatch(reason);
  });
});
