import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openPayshield } from '../../src/hsm-devices/payshield/open-payshield.ts';
import { createIdentity } from '../connection/certificates.ts';
import { fileFor, fileKeys, Opened, SILENT_LOG } from './support.ts';

const opened = new Opened();
afterEach(() => opened.closeAll());

const SECRET = 'U5FFE8014DA383D44C24AB41E37DB252F';

describe('a wrong file is refused with the place, and without any value of it', () => {
  const [key] = fileKeys('variant');
  test.each([
    [{ devices: [] }, '/devices'],
    [{ headerLength: 256 }, '/headerLength'],
    [{ timeLimitMs: 60_000 }, '/timeLimitMs'],
    [{ other: 1 }, ''],
    [{ lmk: { form: 'keyBlock' }, keys: [{ ...key, key: SECRET }] }, '/keys/0/key'],
    [{ keys: [{ ...key, key: `${SECRET}0` }] }, '/keys/0/key'],
    [{ keys: [{ ...key, type: 'TAK' }] }, '/keys/0/type'],
    [{ keys: [key, key] }, '/keys'],
    [{ keys: [{ ...key, kcv: 'no' }] }, '/keys/0/kcv'],
  ])('%#', async (changes, place) => {
    const file = { ...fileFor([1_500]), ...changes };
    const error = await openPayshield(file, '/hsm.json', SILENT_LOG).then(
      () => undefined,
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ code: 'BAD_CONFIG' });
    expect(error.message).toContain(`wrong: ${place}`);
    expect(error.message).not.toContain(SECRET);
  });
});

describe('over TLS', () => {
  const authority = createIdentity('HSM authority');
  const device = createIdentity('hsm', authority);
  const client = createIdentity('gateway', authority);
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'payshield-'));
    const stranger = createIdentity('another authority');
    await writeFile(join(folder, 'ca.pem'), authority.cert);
    await writeFile(join(folder, 'stranger.pem'), stranger.cert);
    await writeFile(join(folder, 'client.pem'), client.cert);
    await writeFile(join(folder, 'client.key'), client.key);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const withTls = async (tls: object) => {
    const { port } = await opened.simulator({ tls: { cert: device.cert, key: device.key, ca: authority.cert } });
    return opened.hsm([port], { tls }, join(folder, 'hsm.json'));
  };

  test('devices and gateway authenticate each other', async () => {
    const hsm = await withTls({ caFile: 'ca.pem', certFile: 'client.pem', keyFile: 'client.key' });
    await expect.poll(() => hsm.deviceStates()[0]!.status, { interval: 5 }).toBe('ready');
    expect(await hsm.kcv('zpk')).toMatch(/^[0-9A-F]{6}$/);
  });

  test('a device with a certificate of another authority is not used', async () => {
    const hsm = await withTls({ caFile: 'stranger.pem', certFile: 'client.pem', keyFile: 'client.key' });
    await expect.poll(() => hsm.deviceStates()[0]!.status, { interval: 5 }).toBe('unreachable');
    expect(hsm.deviceStates()[0]!.succeeded).toBe(0);
  });

  test('a gateway without a certificate is not served', async () => {
    const hsm = await withTls({ caFile: 'ca.pem' });
    await expect.poll(() => hsm.deviceStates()[0]!.connectionsLost, { interval: 5 }).toBeGreaterThan(0);
    expect(hsm.deviceStates()[0]!.status).not.toBe('ready');
  });

  test.each([
    { caFile: 'missing.pem' },
    { caFile: 'client.key' },
    { certFile: 'client.pem' },
  ])('wrong files are refused: %o', async (tls) => {
    const file = fileFor([1_500], { tls });
    await expect(openPayshield(file, join(folder, 'hsm.json'), SILENT_LOG)).rejects.toMatchObject({
      code: 'BAD_CONFIG',
    });
  });
});
