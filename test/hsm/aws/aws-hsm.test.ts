import { randomBytes } from 'node:crypto';
import { SignatureV4, type SignatureV4Init } from '@smithy/signature-v4';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CryptoError, HsmUnavailable, StartError } from '../../../src/basics/errors.ts';
import { InstallationKeys } from '../../../src/card/installation-keys.ts';
import { fromHex, toHex } from '../../../src/codecs/bytes/hex.ts';
import { Secret } from '../../../src/codecs/bytes/secret.ts';
import type { MacMethod } from '../../../src/codecs/crypto/mac.ts';
import { demoKey, SoftHsm } from '../../../src/codecs/crypto/soft-hsm.ts';
import { AwsClient, type AwsKey, NodeSha256 } from '../../../src/hsm-devices/aws/aws-client.ts';
import { AwsHsm, openAws } from '../../../src/hsm-devices/aws/aws-hsm.ts';
import { readerConformance } from '../../../src/kits/reader-kit/conformance.ts';
import { loadReaders } from '../../../src/kits/reader-kit/load-readers.ts';
import { freshSampleKeys } from '../../../src/kits/reader-kit/sample-keys.ts';
import { HsmCalls } from '../../../src/switching/hsm/hsm-calls.ts';
import { hsmFindings } from '../../../src/tools/doctor/key-findings.ts';
import { freshKeyRing } from '../../support/card-data.ts';
import { CREDENTIALS } from './signature.ts';
import { arnOf, type ServiceKey, SimulatedService } from './simulated-service.ts';

const AES = { algorithm: 'aes', lengthBytes: 16 } as const;
/** The same keys on both sides: in the service by ARN, in a software HSM by id. */
const KEYS = {
  mac: demoKey('mac', 'mac'),
  'mac-aes': demoKey('mac-aes', 'mac', AES),
  zone: demoKey('zone', 'pin'),
  'zone-aes': demoKey('zone-aes', 'pin', AES),
  bdk: demoKey('bdk', 'dukptBase'),
  'bdk-aes': demoKey('bdk-aes', 'dukptBase', AES),
  wrap: demoKey('wrap', 'keyBlockProtection', AES),
};
const ARNS = Object.fromEntries(Object.keys(KEYS).map((name) => [name, arnOf(name.replace('-', ''))]));

const soft = new SoftHsm({ environment: 'qa', keys: Object.values(KEYS) });

let service: SimulatedService;
let hsm: AwsHsm;
beforeEach(async () => {
  const keys = Object.entries(KEYS).map(
    ([name, key]): ServiceKey => ({ ...key, arn: ARNS[name]!, bytes: key.bytes.reveal() }),
  );
  service = await SimulatedService.start(keys);
  hsm = await hsmOf({});
});
afterEach(async () => {
  await service.close();
});

async function filed(): Promise<AwsKey[]> {
  const entries = Object.values(KEYS).map(async ({ keyId, usage, algorithm }) => {
    const key = { keyId, usage, algorithm, lengthBytes: 16, key: ARNS[keyId]!, kcv: await soft.kcv(keyId) };
    return key as AwsKey;
  });
  return Promise.all(entries);
}

async function hsmOf({
  keys,
  credentials = CREDENTIALS,
  timeLimitMs = 2_000,
  requests = 16,
}: Partial<{ keys: AwsKey[]; credentials: SignatureV4Init['credentials']; timeLimitMs: number; requests: number }>) {
  const signer = new SignatureV4({
    service: 'payment-cryptography',
    region: 'eu-west-1',
    credentials,
    sha256: NodeSha256,
  });
  const endpoints = { data: service.url, control: service.url };
  return new AwsHsm(
    new AwsClient({ region: 'eu-west-1', endpoints, timeLimitMs, requests, signer }),
    keys ?? (await filed()),
  );
}

const METHODS: [string, string, MacMethod][] = [
  ['retail MAC, padding 1', 'mac', { algorithm: 'retail', padding: 1 }],
  ['retail MAC, padding 2', 'mac', { algorithm: 'retail', padding: 2 }],
  ['CBC MAC, padding 3', 'mac', { algorithm: 'cbc', padding: 3 }],
  ['CMAC', 'mac-aes', { algorithm: 'cmac' }],
];

describe('a MAC', () => {
  test.each(METHODS)('%s equals that of the software HSM, and verifies', async (_, keyId, method) => {
    for (const length of [1, 7, 8, 9, 300]) {
      const request = { keyId, method, message: randomBytes(length), lengthBytes: 8 };
      const mac = await hsm.mac(request);
      expect(toHex(mac)).toBe(toHex(await soft.mac(request)));
      expect(await hsm.verifyMac({ ...request, mac })).toBe(true);
      expect(await hsm.verifyMac({ ...request, mac: Uint8Array.from(mac).reverse() })).toBe(false);
      expect(await hsm.verifyMac({ ...request, lengthBytes: 4, mac })).toBe(false);
    }
    expect(service.faults).toEqual([]);
  });

  test('is refused for an empty message, one that is too long, and a key of another use', async () => {
    const request = { keyId: 'mac', method: METHODS[0]![2], message: randomBytes(10), lengthBytes: 8 };
    await expect(hsm.mac({ ...request, message: randomBytes(4_097) })).rejects.toThrow('DATA_LENGTH');
    await expect(hsm.mac({ ...request, lengthBytes: 9 })).rejects.toThrow('DATA_LENGTH');
    await expect(hsm.mac({ ...request, keyId: 'zone' })).rejects.toThrow('KEY_USAGE');
    await expect(hsm.mac({ ...request, keyId: 'nowhere' })).rejects.toThrow('KEY_UNKNOWN');
  });
});

describe('a PIN', () => {
  const PAN = '4111111111111111';
  const KSN = fromHex('FFFF9876543210E00001');
  const AES_KSN = fromHex('123456789012345600000001');
  const TO_ZONE = { keyId: 'zone', format: 0 } as const;

  test.each([
    ['from DUKPT to a zone key', { keyId: 'bdk', format: 0, ksn: KSN }, TO_ZONE],
    ['from AES DUKPT in format 4 to a zone key', { keyId: 'bdk-aes', format: 4, ksn: AES_KSN }, TO_ZONE],
    ['from a zone key to DUKPT', { keyId: 'zone', format: 3 }, { keyId: 'bdk', format: 0, ksn: KSN }],
    ['to format 4', { keyId: 'zone', format: 0 }, { keyId: 'zone-aes', format: 4 }],
  ] as const)('%s stays the same PIN', async (_, from, to) => {
    const start = await soft.translatePin({
      from: { keyId: 'zone', format: 0, block: await zoneBlock(PAN) },
      to: from,
      pan: PAN,
    });
    const { block } = await hsm.translatePin({ from: { ...from, block: start.block }, to, pan: PAN });
    const pin = new Secret(Uint8Array.from([1, 2, 3, 4, 5]));
    expect(await soft.verifyPin({ from: { ...to, block }, pan: PAN, pin })).toBe(true);
    expect(service.faults).toEqual([]);
  });

  test('a PIN whose block is wrong is PIN_BLOCK', async () => {
    const from = { keyId: 'zone', format: 0, block: randomBytes(8) } as const;
    await expect(hsm.translatePin({ from, to: TO_ZONE, pan: PAN })).rejects.toThrow('PIN_BLOCK');
    await expect(hsm.translatePin({ from, to: TO_ZONE, pan: '41111111111' })).rejects.toThrow('PIN_BLOCK');
  });
});

/** 12345 in format 0 under the zone key (ISO 9564-1:2017 9.3.2). */
async function zoneBlock(pan: string): Promise<Uint8Array> {
  const { encipherPin } = await import('../../../src/codecs/crypto/pin-block.ts');
  const { BlockKey } = await import('../../../src/codecs/crypto/block-key.ts');
  const key = new BlockKey('tdes', KEYS.zone.bytes.reveal());
  return encipherPin(0, new Secret(Uint8Array.from([1, 2, 3, 4, 5])), pan, key);
}

describe('a key', () => {
  test('a key with another check value, another use or disabled in the service is refused at its first use', async () => {
    const request = { keyId: 'mac', method: METHODS[0]![2], message: randomBytes(10), lengthBytes: 8 };
    const other = (await filed()).map((key) => (key.keyId === 'mac' ? { ...key, kcv: '000000' } : key));
    await expect((await hsmOf({ keys: other })).mac(request)).rejects.toThrow('KEY_CHECK_VALUE');
    const swapped = (await filed()).map((key) => (key.keyId === 'mac' ? { ...key, key: ARNS.zone! } : key));
    await expect((await hsmOf({ keys: swapped })).mac(request)).rejects.toThrow('KEY_USAGE');
    service.keys.get(ARNS.mac!)!.isEnabled = false;
    await expect(hsm.mac(request)).rejects.toThrow('KEY_USAGE');
    service.keys.get(ARNS.mac!)!.isEnabled = true;
    expect(await hsm.mac(request)).toHaveLength(8);
  });

  test('a key from a key exchange is imported once, also by several processes, and deleted when it is forgotten', async () => {
    const far = new SoftHsm({ environment: 'qa', keys: [KEYS.wrap] });
    const generated = await far.generateKey({
      keyId: 'working',
      usage: 'mac',
      algorithm: 'tdes',
      lengthBytes: 16,
      transportKeyId: 'wrap',
    });
    const { block } = generated as { block: string };
    const request = {
      keyId: 'exchanged-1-1-mac-x',
      usage: 'mac',
      transportKeyId: 'wrap',
      block,
      kcv: generated.kcv,
    } as const;
    const others = await Promise.all([hsm, await hsmOf({}), await hsmOf({})].map((each) => each.importKey(request)));
    expect(new Set(others.map(({ kcv }) => kcv))).toEqual(new Set([generated.kcv]));
    expect([...service.keys.keys()].filter((arn) => arn.includes('imported'))).toHaveLength(1);
    const mac = { keyId: request.keyId, method: METHODS[0]![2], message: randomBytes(20), lengthBytes: 8 };
    expect(toHex(await hsm.mac(mac))).toBe(toHex(await far.mac({ ...mac, keyId: 'working' })));
    await expect(hsm.importKey(request)).rejects.toThrow('KEY_EXISTS');
    await hsm.forgetKey(request.keyId);
    await hsm.forgetKey(request.keyId);
    expect([...service.keys.keys()].filter((arn) => arn.includes('imported'))).toHaveLength(0);
    await expect(hsm.mac(mac)).rejects.toThrow('KEY_UNKNOWN');
    expect(service.faults).toEqual([]);
  });

  test('stays when the response to the creation of its alias is lost', async () => {
    const request = { ...(await sent()), keyId: 'exchanged-1-1-mac-y' };
    service.losesNext = 'CreateAlias';
    await hsm.importKey(request);
    expect([...service.keys.keys()].filter((arn) => arn.includes('imported'))).toHaveLength(1);
    expect(await hsm.kcv(request.keyId)).toBe(request.kcv);
  });

  test('a key never takes the place of a key with a similar id, nor of another key with the same id', async () => {
    const [first, second] = [await sent(), await sent()];
    await hsm.importKey({ ...first, keyId: 'acquirer/1/a.b' });
    await hsm.importKey({ ...second, keyId: 'acquirer/1/a-b' });
    await hsm.importKey({ ...second, keyId: 'acquirer/1/a_2eb' });
    expect(await hsm.kcv('acquirer/1/a.b')).toBe(first.kcv);
    expect(await hsm.kcv('acquirer/1/a-b')).toBe(second.kcv);
    const restarted = await hsmOf({});
    const unchecked = { ...second, keyId: 'acquirer/1/a.b', kcv: undefined };
    await expect(restarted.importKey(unchecked)).rejects.toThrow('KEY_EXISTS');
    const { kcv: _kcv, ...same } = { ...first, keyId: 'acquirer/1/a.b' };
    expect(await restarted.importKey(same)).toMatchObject({ kcv: first.kcv });
    expect([...service.keys.keys()].filter((arn) => arn.includes('imported'))).toHaveLength(3);
  });

  test('is the one that was compared, when its alias is given to another one', async () => {
    service.setAlias('alias/mac', ARNS.mac!);
    const keys = (await filed()).map((key) => (key.keyId === 'mac' ? { ...key, key: 'alias/mac' } : key));
    const named = await hsmOf({ keys });
    const request = { keyId: 'mac', method: METHODS[0]![2], message: randomBytes(10), lengthBytes: 8 };
    const mac = await named.mac(request);
    service.setAlias('alias/mac', ARNS['mac-aes']!);
    expect(await named.verifyMac({ ...request, mac })).toBe(true);
  });

  test('block that is damaged, or a bare cryptogram, is refused', async () => {
    const damaged = {
      keyId: 'k',
      usage: 'mac',
      transportKeyId: 'wrap',
      block: `D0112M3TC00N0000${'0'.repeat(96)}`,
    } as const;
    await expect(hsm.importKey(damaged)).rejects.toThrow('KEY_BLOCK');
    const bare = {
      keyId: 'k',
      usage: 'mac',
      transportKeyId: 'wrap',
      cryptogram: randomBytes(16),
      kcv: '000000',
    } as const;
    await expect(hsm.importKey(bare)).rejects.toThrow('KEY_USAGE');
  });
});

/** A new MAC key in a key block, as a switch sends it. */
async function sent() {
  const far = new SoftHsm({ environment: 'qa', keys: [KEYS.wrap] });
  const shape = { keyId: 'sent', usage: 'mac', algorithm: 'tdes', lengthBytes: 16, transportKeyId: 'wrap' } as const;
  const { block, kcv } = (await far.generateKey(shape)) as { block: string; kcv: string };
  return { usage: 'mac', transportKeyId: 'wrap', block, kcv } as const;
}

describe('the service', () => {
  const request = { keyId: 'mac', method: METHODS[0]![2], message: randomBytes(10), lengthBytes: 8 };

  test('a service that throttles or fails for a moment is asked again within the time limit', async () => {
    await hsm.mac(request);
    service.next.push('ThrottlingException', 'InternalServerException', 'ThrottlingException');
    expect(await hsm.mac(request)).toHaveLength(8);
    expect(hsm.deviceStates()).toMatchObject([{ status: 'ready', failures: { ThrottlingException: 2 } }]);
  });

  test('a service that never responds fails after the limit, and so does one that throttles for longer', async () => {
    const impatient = await hsmOf({ timeLimitMs: 2_000 });
    await impatient.mac(request);
    service.next.push('hang');
    await expect(impatient.mac(request)).rejects.toThrow(HsmUnavailable);
    service.next.push(...Array.from({ length: 40 }, () => 'ThrottlingException'));
    await expect(impatient.mac(request)).rejects.toThrow(HsmUnavailable);
    expect(impatient.deviceStates()).toMatchObject([{ status: 'unreachable', lastFailure: 'TIMEOUT', outstanding: 0 }]);
  });

  test('is unavailable within the limit while its credentials never come', async () => {
    const never = new Promise<typeof CREDENTIALS>(() => {});
    const waiting = await hsmOf({ credentials: () => never, timeLimitMs: 100, requests: 2 });
    const results = await Promise.allSettled([waiting.mac(request), waiting.mac(request)]);
    expect(results).toMatchObject([{ reason: expect.any(HsmUnavailable) }, { reason: expect.any(HsmUnavailable) }]);
    expect(waiting.deviceStates()).toMatchObject([{ outstanding: 0, lastFailure: 'TIMEOUT' }]);
    await expect(waiting.mac({ ...request, keyId: 'mac-aes' })).rejects.toThrow(HsmUnavailable);
  });

  test('gets no more requests than allowed', async () => {
    const narrow = await hsmOf({ requests: 2, timeLimitMs: 2_000 });
    await narrow.mac(request);
    service.next.push('hang', 'hang');
    const results = await Promise.allSettled([1, 2, 3].map(() => narrow.mac(request)));
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(narrow.deviceStates()).toMatchObject([{ failures: { BUSY: 1, TIMEOUT: 2 } }]);
  });

  test('a service that does not accept the credentials is unavailable, and no secret is in the error', async () => {
    const stranger = await hsmOf({ credentials: { ...CREDENTIALS, secretAccessKey: 'another' } });
    const error = await stranger.mac(request).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(HsmUnavailable);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('another');
    expect(stranger.deviceStates()).toMatchObject([{ lastFailure: 'InvalidSignatureException' }]);
  });

  test('is asked for a key without any tap, and doctor says what is wrong with it', async () => {
    await hsm.check();
    expect(hsmFindings(hsm.deviceStates())).toMatchObject([{ verdict: 'good' }]);
    const stranger = await hsmOf({ credentials: { ...CREDENTIALS, secretAccessKey: 'another' } });
    await stranger.check();
    expect(hsmFindings(stranger.deviceStates())[0]).toMatchObject({
      verdict: 'fault',
      advice: 'check the credentials of this machine, and its clock',
    });
    const impatient = await hsmOf({ timeLimitMs: 100 });
    service.next.push('hang');
    await impatient.check();
    expect(hsmFindings(impatient.deviceStates())[0]!.description).toContain('TIMEOUT');
  });

  test('a service that is not there is unavailable', async () => {
    const gone = await hsmOf({});
    await service.close();
    await expect(gone.mac(request)).rejects.toThrow(HsmUnavailable);
    service = await SimulatedService.start([]);
  });

  test('a service that refuses for an unknown reason refuses the call', async () => {
    await hsm.mac(request);
    service.next.push('AccessDeniedException');
    await expect(hsm.mac(request)).rejects.toThrow(CryptoError);
    service.next.push('ServiceQuotaExceededException');
    await expect(hsm.mac(request)).rejects.toThrow(HsmUnavailable);
    service.next.push('ServiceQuotaExceededException');
    await expect(hsm.importKey({ ...(await sent()), keyId: 'k' })).rejects.toThrow(HsmUnavailable);
  });
});

test('readers with DUKPT keys conform with keys in the service', async () => {
  const { baseKeys } = freshSampleKeys().ofReaders;
  const few = baseKeys.filter(({ keyId }) => keyId !== 'base-aes-256');
  const keys = few.map(
    (key): ServiceKey => ({ ...key, arn: arnOf(key.keyId.replaceAll('-', '')), usage: 'dukptBase' }),
  );
  await service.close();
  service = await SimulatedService.start(keys);
  const named = keys.map(({ arn, bytes, ...key }, at) => ({ ...key, keyId: few[at]!.keyId, bytes: new Secret(bytes) }));
  const same = new SoftHsm({ environment: 'qa', keys: named });
  const filedKeys = few.map(async ({ keyId, algorithm }, at) => {
    return {
      keyId,
      usage: 'dukptBase',
      algorithm,
      lengthBytes: 16,
      key: keys[at]!.arn,
      kcv: await same.kcv(keyId),
    } as AwsKey;
  });
  const aws = await hsmOf({ keys: await Promise.all(filedKeys), requests: 512 });
  const calls = new HsmCalls({
    purpose: 'card data',
    clock: { monotonicMs: () => performance.now() },
    log: { warn: () => {} },
  });
  const ofInstallation = new InstallationKeys({
    keys: await freshKeyRing(),
    nowMs: Date.now,
    readerHsm: { hsm: aws, calls },
  }).of(1);
  const dukpt = (await loadReaders()).get('dukpt')!;
  const results = await readerConformance(dukpt, { ofReaders: { publicKeys: [], baseKeys: few }, ofInstallation });
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
  expect(
    service.faults.filter((fault) => !fault.includes('MessageData') && !fault.includes('KeySerialNumber')),
  ).toEqual([]);
});

test.each([
  [
    'another kind of key',
    { keys: [{ keyId: 'a', usage: 'keyEncryption', key: arnOf('a'), kcv: '000000' }] },
    '/keys/0/usage',
  ],
  ['a key that is no ARN', { keys: [{ keyId: 'a', usage: 'mac', key: 'a', kcv: '000000' }] }, '/keys/0/key'],
  ['no region', { region: undefined, keys: [] }, '/region'],
])('a file with %s is refused', async (_, changes, place) => {
  const content = { kind: 'aws-payment-cryptography', region: 'eu-west-1', ...changes };
  const error = await openAws(content, 'hsm.json').catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StartError);
  expect((error as StartError).message).toContain(place);
});
