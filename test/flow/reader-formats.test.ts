import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createCardDataSealer } from '../../src/card/sample-tap.ts';
import { examine } from '../../src/cli/doctor.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { DEMO_READER_KEY, demoKey } from '../../src/codecs/crypto/soft-hsm.ts';
import { loadReaders } from '../../src/kits/reader-kit/load-readers.ts';
import type { SampleReader } from '../../src/kits/reader-kit/reader-format.ts';
import { freshSampleKeys } from '../../src/kits/reader-kit/sample-keys.ts';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import { readConfig } from '../../src/start/config.ts';
import { Phone, signMerchantToken, type TapReading } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { RIGHT_PIN } from '../support/pins.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { storedTransactions } from '../support/transactions.ts';

const TAP = { amount: '10.00', currency: 'ZAR' } as const;
/** Asks for a PIN. */
const TAP_FOR_PIN = { amount: '50.05', currency: 'ZAR', pin: RIGHT_PIN } as const;

const formats = await loadReaders();
const baseKeys = freshSampleKeys().ofReaders.baseKeys.map((key) => ({ ...key, keyId: `acquirer/1/${key.keyId}` }));
const foreignKeys = baseKeys.map((key) => ({ ...key, keyId: key.keyId.replace('/1/', '/2/') }));

let folder: string;
let installation: Installation;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-readers-'));
  const demo = [demoKey(DEMO_READER_KEY, 'dukptBase'), demoKey('zone-pin', 'pin')];
  const keys = [
    ...demo.map(({ bytes, ...key }) => ({ ...key, key: toHex(bytes.reveal()) })),
    ...[...baseKeys, ...foreignKeys].map(({ bytes, ...key }) => ({ ...key, usage: 'dukptBase', key: toHex(bytes) })),
  ];
  const file = join(folder, 'hsm-keys.json');
  writeFileSync(file, JSON.stringify({ keys }));
  const settings = { HSM_KEYS_FILE: file, SWITCH_KEYS: '*=zone-pin' };
  installation = await startInstallation({ role: 'none', settings });
  await installation.startGateway({ TAPWIRE_ROLE: 'api' });
  await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  rmSync(folder, { recursive: true });
});

async function createProfile(name: string, reader: object): Promise<{ status: number; body: unknown }> {
  const key = await saveApiKey(installation.database, { acquirerId: 1 }, ['profiles:manage']);
  return request(installation.url, '/acquirers/1/softposconfigs', {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ name, reader }),
  });
}

/** A phone with a reader of another format, whose tokens name a terminal profile. */
class PhoneWithReader extends Phone {
  readonly #reader: SampleReader;
  readonly #token: () => Promise<string>;

  constructor(reader: SampleReader, spCfg: string | undefined) {
    const profile = installation.profile('coffee', installation.url);
    super(profile);
    this.#reader = reader;
    this.#token = () => signMerchantToken(profile, { spCfg });
  }

  override token(): Promise<string> {
    return this.#token();
  }

  override async sealReading({ merchantReference, values }: TapReading): Promise<TapRequest> {
    return createCardDataSealer(this.#reader).seal(values, this.bindingOf(merchantReference));
  }
}

async function readersOf(format: string, keys = baseKeys): Promise<readonly SampleReader[]> {
  const { body } = await request(installation.url, '/.well-known/card-data-keys.json');
  const { keys: publicKeys } = body as { keys: Parameters<typeof createCardDataSealer>[0][] };
  return formats.get(format)!.sampleReaders({ publicKeys: publicKeys as never, baseKeys: keys });
}

describe.each(['jwe', 'dukpt', 'apple-ttp'])('readers of the format %s', (format) => {
  test('pay, with and without a PIN, and a repeated request gets the same response', async () => {
    for (const reader of await readersOf(format)) {
      const name = `${format} ${reader.name}`;
      expect(await createProfile(name, { format, settings: reader.settings })).toMatchObject({ status: 201 });
      const phone = new PhoneWithReader(reader, name);
      const sealed = await phone.seal(TAP);
      await expect.poll(async () => (await phone.submit(sealed)).status).toBe(200);
      const repeated = await phone.submit(sealed);
      expect(outcomeOf(repeated)).toMatchObject({ type: 'Approved' });
      expect(outcomeOf(await phone.tap(TAP_FOR_PIN))).toMatchObject({ type: 'Approved' });
      const stolen = new PhoneWithReader(reader, name);
      expect(problemOf(await stolen.submit({ ...sealed, merchantReference: 'another' }))).toMatchObject({
        status: 400,
        errorCode: 202,
      });
    }
  });
});

describe('a tap whose card data are of another format than its profile', () => {
  test.each([
    ['jwe', undefined, 'dukpt'],
    ['dukpt', 'dukpt AES 128', 'jwe'],
    ['apple-ttp', 'apple-ttp EC_v1', 'dukpt'],
  ])('is refused: %s is expected', async (_expected, profile, sent) => {
    const [reader] = await readersOf(sent);
    const response = await new PhoneWithReader(reader!, profile).tap(TAP);
    expect(problemOf(response)).toMatchObject({ status: 400, errorCode: 202 });
  });
});

describe('a profile', () => {
  test('cannot name a key of another acquirer', async () => {
    const [reader] = await readersOf('dukpt', foreignKeys);
    const { status, body } = await createProfile('foreign', { format: 'dukpt', settings: reader!.settings });
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain('/reader/settings/keySets/0/baseKeyId');
  });

  test('a profile that names a key of another acquirer all the same, because it is older than the check, takes no tap', async () => {
    const [reader] = await readersOf('dukpt', foreignKeys);
    await installation.database.query(
      `insert into terminal_profiles (acquirer_id, name, overrides, reader) values (1, 'old', '[]', $1)`,
      [JSON.stringify({ format: 'dukpt', settings: reader!.settings })],
    );
    const phone = new PhoneWithReader(reader!, 'old');
    const taken = async () => {
      const response = await phone.tap(TAP);
      return [response.status, JSON.stringify(response.body).includes('reader format')];
    };
    await expect.poll(taken).toEqual([500, true]);
    expect((await storedTransactions(installation.database)).at(-1)).toMatchObject({ status: 'ErrorFindingConfig' });
    const findings = await examine(readConfig(installation.environment()), Date.now());
    expect(findings).toContainEqual(
      expect.objectContaining({ part: 'terminal profile old of acquirer 1', verdict: 'fault' }),
    );
  });

  test.each([
    ['a format that is not installed', { format: 'morse', settings: {} }, '/reader/format'],
    ['settings that the format does not have', { format: 'jwe', settings: { key: 1 } }, '/reader/settings'],
    ['no key set', { format: 'dukpt', settings: { keySets: [] } }, '/reader/settings/keySets'],
  ])('cannot have %s', async (_what, reader, pointer) => {
    const { status, body } = await createProfile('bad', reader);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain(pointer);
  });

  test('returns to the default format with a reader of null', async () => {
    const [reader] = await readersOf('dukpt');
    await createProfile('changing', { format: 'dukpt', settings: reader!.settings });
    const key = await saveApiKey(installation.database, { acquirerId: 1 }, ['profiles:manage']);
    const { status, body } = await request(installation.url, '/acquirers/1/softposconfigs/changing', {
      method: 'PUT',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ reader: null }),
    });
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('reader');
  });
});
