import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { rotateKeys } from '../../src/card/change-key-ring.ts';
import { createCardDataSealer } from '../../src/card/sample-tap.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { DEMO_READER_KEY, demoKey } from '../../src/codecs/crypto/soft-hsm.ts';
import { loadReaders } from '../../src/kits/reader-kit/load-readers.ts';
import type { SampleReader } from '../../src/kits/reader-kit/reader-format.ts';
import { freshSampleKeys } from '../../src/kits/reader-kit/sample-keys.ts';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import { Phone, signMerchantToken, type TapReading } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import type { MerchantName } from '../support/tenants.ts';

/**
 * A copy of a tap's request, submitted for other merchants. Device and reference are free texts, and references are
 * unique per merchant only, so a copy has the binding of the original.
 */
const TAP = { amount: '10.00', currency: 'ZAR' } as const;
/** Of the same integrator, of another one, and of another acquirer with the same merchant id. */
const OTHERS = ['bakery', 'flowers', 'tailor'] as const;

const formats = await loadReaders();
const { baseKeys } = freshSampleKeys().ofReaders;

let folder: string;
let installation: Installation;
let api: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-copies-'));
  const demo = [demoKey(DEMO_READER_KEY, 'dukptBase'), demoKey('zone-pin', 'pin')];
  const keys = [
    ...demo.map(({ bytes, ...key }) => ({ ...key, key: toHex(bytes.reveal()) })),
    ...baseKeys.map(({ bytes, ...key }) => ({ ...key, usage: 'dukptBase', key: toHex(bytes) })),
  ];
  const file = join(folder, 'hsm-keys.json');
  writeFileSync(file, JSON.stringify({ keys }));
  installation = await startInstallation({
    role: 'none',
    settings: { HSM_KEYS_FILE: file, ALLOW_BARE_CARD_DATA: 'true' },
  });
  await installation.startGateway({ TAPWIRE_ROLE: 'all' });
  await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
  api = (await installation.startGateway({ TAPWIRE_ROLE: 'api' })).url;
  for (const format of formats.values())
    for (const { name, settings } of await readersOf(format.format))
      for (const acquirerId of [1, 2])
        await createProfile(acquirerId, `${format.format} ${name}`, { format: format.format, settings });
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  rmSync(folder, { recursive: true });
});

async function createProfile(acquirerId: number, name: string, reader: object): Promise<void> {
  const key = await saveApiKey(installation.database, { acquirerId }, ['profiles:manage']);
  const { status } = await request(installation.url, `/acquirers/${acquirerId}/softposconfigs`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ name, reader }),
  });
  expect(status).toBe(201);
}

async function readersOf(format: string): Promise<readonly SampleReader[]> {
  const { body } = await request(installation.url, '/.well-known/card-data-keys.json');
  const { keys: publicKeys } = body as { keys: Parameters<typeof createCardDataSealer>[0][] };
  return formats.get(format)!.sampleReaders({ publicKeys: publicKeys as never, baseKeys });
}

/** A phone of a merchant, on the device of the original, with a reader of one format. */
class CopyingPhone extends Phone {
  readonly #reader: SampleReader;
  readonly #token: () => Promise<string>;

  constructor(
    reader: SampleReader,
    spCfg: string,
    merchant: MerchantName = 'coffee',
    device?: string,
    url = installation.url,
  ) {
    const profile = installation.profile(merchant, url);
    super(profile, device);
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

/** A phone whose reader binds its taps to no merchant. */
function unboundPhone(): Phone {
  return new Phone({ ...installation.profile('coffee', installation.url), acquirerId: undefined });
}

async function figureOf(series: string): Promise<number> {
  const metrics = await (await fetch(new URL('/metrics', installation.url))).text();
  return Number(metrics.split(`${series} `)[1]?.split('\n', 1)[0] ?? 0);
}

async function approvals(reference: string): Promise<number> {
  const { rows } = await installation.database.query<{ count: number }>(
    'select count(*)::integer as count from transactions where merchant_reference = $1 and disposition = 0',
    [reference],
  );
  return rows[0]!.count;
}

describe.each([...formats.keys()])('a copy of a tap in the format %s', (format) => {
  test('pays for no other merchant, integrator or acquirer; a repeat of the original gets its stored response', async () => {
    for (const reader of await readersOf(format)) {
      const name = `${format} ${reader.name}`;
      const phone = new CopyingPhone(reader, name);
      const sealed = await phone.seal(TAP);
      await expect.poll(async () => (await phone.submit(sealed)).status).toBe(200);
      const first = outcomeOf(await phone.submit(sealed));
      expect(first.type).toBe('Approved');
      const asked = installation.asked.authorizations;
      for (const merchant of OTHERS)
        for (const url of [installation.url, api]) {
          const copying = new CopyingPhone(reader, name, merchant, phone.deviceInstallationId, url);
          await expect.poll(async () => (await copying.submit(sealed)).status).toBe(400);
          expect(problemOf(await copying.submit(sealed))).toMatchObject({ status: 400, errorCode: 202 });
        }
      expect(installation.asked.authorizations).toBe(asked);
      expect(await approvals(sealed.merchantReference)).toBe(1);
      expect(outcomeOf(await phone.submit(sealed))).toEqual(first);
    }
  });
});

test('one of several copies that come at the same moment, at several processes, pays', async () => {
  const phone = unboundPhone();
  const sealed = await phone.seal(TAP);
  const asked = installation.asked.authorizations;
  const responses = await Promise.all(
    (['coffee', ...OTHERS] as const).flatMap((merchant) =>
      [installation.url, api].map((url) =>
        new Phone(installation.profile(merchant, url), phone.deviceInstallationId).submit(sealed),
      ),
    ),
  );
  // The merchant whose copy was first gets the response for both of its requests.
  expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 200, 400, 400, 400, 400, 400, 400]);
  expect(installation.asked.authorizations).toBe(asked + 1);
  expect(await approvals(sealed.merchantReference)).toBe(1);
});

test('bare card data pay once as well', async () => {
  const phone = unboundPhone();
  const { merchantReference, values } = phone.read(TAP);
  const { deviceInstallationId } = phone;
  const tap = createCardDataSealer({ seal: (tlv) => tlv }).seal(values, { deviceInstallationId, merchantReference });
  expect(outcomeOf(await phone.submit(tap)).type).toBe('Approved');
  for (const reference of [merchantReference, 'another'])
    expect(
      problemOf(await installation.phone('bakery').submit({ ...tap, merchantReference: reference })),
    ).toMatchObject({ status: 400, errorCode: 202 });
});

test('a copy is found after the key of the hash was replaced, and replaced again', async () => {
  const phone = unboundPhone();
  const [old, recent] = [await phone.seal(TAP), await phone.seal(TAP)];
  const first = outcomeOf(await phone.submit(old));
  const path = join(installation.environment().TAPWIRE_DATA!, 'keys.json');
  const rotate = async () => {
    const { added } = await rotateKeys(path, 'pan-hash', { nowMs: Date.now(), retireAfterMs: 0 });
    const isUsed = async () => {
      const { serviceReference } = outcomeOf(await phone.tap(TAP));
      const { rows } = await installation.database.query('select pan_hash from transactions where id = $1', [
        serviceReference,
      ]);
      return rows[0].pan_hash.startsWith(`${added[0]}:`);
    };
    await expect.poll(isUsed).toBe(true);
  };
  await rotate();
  outcomeOf(await phone.submit(recent));
  await rotate();
  for (const copy of [old, recent])
    for (const merchant of OTHERS) {
      const copying = installation.phone(merchant, phone.deviceInstallationId);
      expect(problemOf(await copying.submit(copy))).toMatchObject({ status: 400, errorCode: 202 });
    }
  expect(outcomeOf(await phone.submit(old))).toEqual(first);
});

test('a refused copy is counted by format and logged, without card data', async () => {
  const [reader] = await readersOf('dukpt');
  const phone = new CopyingPhone(reader!, `dukpt ${reader!.name}`);
  const sealed = await phone.seal(TAP);
  outcomeOf(await phone.submit(sealed));
  const counted = 'tapwire_card_data_refused_total{format="dukpt",reason="copied"}';
  const before = await figureOf(counted);
  const copying = new CopyingPhone(reader!, `dukpt ${reader!.name}`, 'bakery', phone.deviceInstallationId);
  problemOf(await copying.submit(sealed));
  expect(await figureOf(counted)).toBe(before + 1);
  const line = installation.logLines.findLast(({ msg }) => msg === 'card data refused');
  expect(line).toMatchObject({ level: 30, format: 'dukpt', reason: 'copied', acquirerId: 1, merchantId: '1002' });
  const named = ['format', 'reason', 'acquirerId', 'merchantId', 'correlationId', 'msg'];
  expect(Object.keys(line!)).toEqual(['level', 'time', 'pid', 'hostname', ...named]);
});

test('a refused copy has one row without card data, and its reference remains usable', async () => {
  const phone = unboundPhone();
  const sealed = await phone.seal(TAP);
  outcomeOf(await phone.submit(sealed));
  const copying = installation.phone('bakery', phone.deviceInstallationId);
  for (let tries = 0; tries < 2; tries++)
    expect(problemOf(await copying.submit(sealed))).toMatchObject({ status: 400, errorCode: 202 });
  const { rows } = await installation.database.query(
    `select status, pan_hash, masked_pan, chip_tags, sealed_card from transactions
     where merchant_id = '1002' and merchant_reference = $1`,
    [sealed.merchantReference],
  );
  expect(rows).toEqual([{ status: 0, pan_hash: null, masked_pan: null, chip_tags: null, sealed_card: null }]);
  const own = await copying.tap({ ...TAP, merchantReference: sealed.merchantReference });
  expect(outcomeOf(own).type).toBe('Approved');
});
