import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TAP_REFUSALS } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import { Phone, type PhoneTap, signMerchantToken } from '../../src/tools/phone/phone.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { startBehindRelay } from '../support/behind-relay.ts';
import { eventually } from '../support/eventually.ts';
import type { Installation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { enterPin, tapForPin } from '../support/pins.ts';
import type { Relay } from '../support/relay.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { type MerchantName, xTidOf } from '../support/tenants.ts';
import { storedTransactions, trailOf } from '../support/transactions.ts';

let installation: Installation;
let relay: Relay;
beforeAll(async () => {
  ({ installation, relay } = await startBehindRelay({ profile: { deadlineMs: 5_000 } }));
  for (const profile of [RETAIL, ABROAD, OPEN]) await createProfile(1, profile);
  await createProfile(2, THEIRS);
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  await relay.close();
});

async function createProfile(acquirerId: number, profile: object): Promise<void> {
  const key = await saveApiKey(installation.database, { acquirerId }, ['profiles:manage']);
  const { status } = await request(installation.url, `/acquirers/${acquirerId}/softposconfigs`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(profile),
  });
  expect(status).toBe(201);
}

const SOUTH_AFRICA = [{ transactionType: '00', countryCode: 'ZA', currencyCode: 'ZAR' }];
/** Visa purchases in South Africa, and nothing else. */
const RETAIL = { name: 'retail', configList: [{ aid: 'A0000000031010', kernelID: '03', config: SOUTH_AFRICA }] };
const ABROAD = { name: 'abroad', terminalCurrencyCode: '978' };
const OPEN = { name: 'open' };
/** Of the other acquirer. */
const THEIRS = { name: 'theirs' };

const TAP: PhoneTap = { amount: '10.00', currency: 'ZAR' };
const KERNEL_IDENTIFIER = 0x9f2a;
const TRANSACTION_TYPE = 0x9c;
const CURRENCY = 0x5f2a;
const COUNTRY = 0x9f1a;

/** A phone whose tokens carry `spCfg`. */
class ProfiledPhone extends Phone {
  readonly #token: () => Promise<string>;

  constructor(
    spCfg: string | undefined,
    { merchant = 'coffee', url = installation.url }: { merchant?: MerchantName; url?: string } = {},
  ) {
    const profile = installation.profile(merchant, url);
    super(profile);
    this.#token = () => signMerchantToken(profile, { spCfg });
  }

  override token(): Promise<string> {
    return this.#token();
  }
}

function withValue(tag: number, hex: string): NonNullable<PhoneTap['tamper']> {
  return (values) => values.set(tag, fromHex(hex));
}

/** A reader that sends neither its country nor the currency. */
const withoutCodes: NonNullable<PhoneTap['tamper']> = (values) => {
  values.delete(COUNTRY);
  values.delete(CURRENCY);
};

/** The chip data that the switch received, with the names of type 1. */
async function chipSentDuring(work: () => Promise<unknown>): Promise<Record<string, unknown>[]> {
  const before = relay.requests.length;
  await work();
  return relay.requests
    .slice(before)
    .map(({ switchData }: IsoMessage) => (switchData as { icc: object }).icc) as Record<string, unknown>[];
}

describe('a tap outside its profile is 500, 208, recorded as ErrorFindingConfig and never sent', () => {
  test.each<[string, string, Partial<PhoneTap>]>([
    ['another application', 'retail', { card: 'mastercard' }],
    ['another kernel', 'retail', { tamper: withValue(KERNEL_IDENTIFIER, '01') }],
    ['another transaction type', 'retail', { tamper: withValue(TRANSACTION_TYPE, '20') }],
    ['another currency', 'retail', { currency: 'EUR' }],
    ['another country', 'retail', { tamper: withValue(COUNTRY, '0276') }],
    ['another currency than that of the whole profile', 'abroad', {}],
    ['an unknown profile', 'no such profile', {}],
    ['another acquirer’s profile', 'theirs', {}],
  ])('%s', async (_what, profile, tap) => {
    const { database, asked } = installation;
    const merchantReference = `outside ${crypto.randomUUID()}`;
    const response = await new ProfiledPhone(profile).tap({ ...TAP, merchantReference, ...tap });
    expect(problemOf(response)).toMatchObject({ status: 500, errorCode: 208 });
    const row = (await storedTransactions(database)).at(-1)!;
    expect(row).toMatchObject({ status: 'ErrorFindingConfig', disposition: null, stan: null });
    expect(await trailOf(database, row.id)).toEqual(['RequestReceived', 'ErrorFindingConfig']);
    expect(installation.asked).toEqual(asked);
  });

  test('the reference of a tap outside its profile may be used again inside the profile', async () => {
    const phone = new ProfiledPhone('retail');
    const merchantReference = crypto.randomUUID();
    expect(problemOf(await phone.tap({ ...TAP, card: 'maestro', merchantReference }))).toMatchObject({
      errorCode: 208,
    });
    expect(outcomeOf(await phone.tap({ ...TAP, merchantReference })).type).toBe('Approved');
  });
});

describe('a tap inside its profile is sent to the switch', () => {
  test.each([
    'retail',
    'open',
    undefined,
  ])('a tap inside its profile is sent to the switch with the profile %s', async (profile) => {
    const [icc] = await chipSentDuring(async () => {
      expect(outcomeOf(await new ProfiledPhone(profile).tap(TAP)).type).toBe('Approved');
    });
    expect(icc).toMatchObject({ terminalCountryCode: '710', transactionCurrencyCode: '710' });
  });

  test('a tap is sent to the switch without a profile or with an open one, for any application', async () => {
    for (const profile of [undefined, 'open']) {
      expect(outcomeOf(await new ProfiledPhone(profile).tap({ ...TAP, card: 'mastercard' })).type).toBe('Approved');
    }
  });

  test('a tap inside its profile is sent to the switch with the profile’s currency and country if the reader omitted them, in its PIN step, too', async () => {
    const phone = new ProfiledPhone('retail');
    const sent = await chipSentDuring(async () => {
      const { amount: _, ...tap } = TAP;
      expect(outcomeOf(await enterPin(phone, await tapForPin(phone, { ...tap, tamper: withoutCodes }))).type).toBe(
        'Approved',
      );
    });
    expect(sent).toHaveLength(2);
    for (const icc of sent) expect(icc).toMatchObject({ terminalCountryCode: '710', transactionCurrencyCode: '710' });
    const unrestricted = await new ProfiledPhone(undefined).tap({ ...TAP, tamper: withoutCodes });
    expect(problemOf(unrestricted)).toMatchObject({ status: 400, errors: [{ detail: TAP_REFUSALS.CURRENCY_MISSING }] });
  });

  test('a tap inside its profile that an api process hands over to a worker is sent to the switch', async () => {
    const [api, worker] = await Promise.all([
      installation.startGateway({ TAPWIRE_ROLE: 'api' }),
      installation.startGateway({ TAPWIRE_ROLE: 'worker' }),
    ]);
    const phone = new ProfiledPhone('retail', { url: api.url });
    const [icc] = await chipSentDuring(async () => {
      expect(outcomeOf(await phone.tap({ ...TAP, tamper: withoutCodes })).type).toBe('Approved');
    });
    expect(icc).toMatchObject({ terminalCountryCode: '710', transactionCurrencyCode: '710' });
    expect(problemOf(await phone.tap({ ...TAP, card: 'amex' }))).toMatchObject({ errorCode: 208 });
    for (const gateway of [api, worker]) await gateway.stop();
  });
});

test('a PIN for a tap that its profile no longer accepts is not sent', async () => {
  await createProfile(1, { name: 'shrinking' });
  const phone = new ProfiledPhone('shrinking');
  const asked = await tapForPin(phone);
  const key = await saveApiKey(installation.database, { acquirerId: 1 }, ['profiles:manage']);
  await request(installation.url, '/acquirers/1/softposconfigs/shrinking', {
    method: 'PUT',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ terminalCurrencyCode: 'EUR' }),
  });
  const { authorizations } = installation.asked;
  expect(outcomeOf(await enterPin(phone, asked)).type).toBe('UnableToGoOnline');
  expect(installation.asked.authorizations).toBe(authorizations);
});

test('a terminal’s own profile applies if the token names none', async () => {
  await installation.database.query(
    `update terminals set profile_name = 'abroad' where acquirer_id = 1 and x_tid = $1`,
    [xTidOf('bakery')],
  );
  const tapBy = (profile: string | undefined) => new ProfiledPhone(profile, { merchant: 'bakery' }).tap(TAP);
  await eventually(async () =>
    expect(problemOf(await tapBy(undefined))).toMatchObject({ status: 500, errorCode: 208 }),
  );
  expect(outcomeOf(await tapBy('retail')).type).toBe('Approved');
});
