import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { saveTerminals } from '../../src/store/settings/tenants.ts';
import { Phone } from '../../src/tools/phone/phone.ts';
import type { Profile } from '../../src/tools/phone/profile.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { linkBody, post } from '../support/links.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { USER } from '../support/tenants.ts';
import { storedTransactions, trailOf } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none' });
  const { database } = installation;
  await database.query(
    `insert into blocked_devices (acquirer_id, device_installation_id) values (1, 'blocked device')`,
  );
  await database.query('update users set is_blocked = true where id = $1', [USER.id]);
  await database.query(`update routes set currency = 'EUR' where acquirer_id = 2`);
  await installation.startGateway();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const TAP = { amount: '10.00', currency: 'ZAR' } as const;

/** A phone of a merchant whose token has other claims than usual. */
function phoneWith(name: Parameters<Installation['profile']>[0], claims: Partial<Profile['merchant']>): Phone {
  const profile = installation.profile(name);
  return new Phone({ ...profile, merchant: { ...profile.merchant, ...claims } });
}

describe('a tap of a blocked owner is 403, and nothing of it is stored', () => {
  test.each([
    ['the device', 139, () => installation.phone('bakery', 'blocked device')],
    ['the user, by name', 105, () => installation.phone('coffee')],
    ['the user, by id', 105, () => phoneWith('coffee', { user: USER.id })],
  ])('%s', async (_who, errorCode, phone) => {
    const stored = (await storedTransactions(installation.database)).length;
    expect(problemOf(await phone().tap(TAP))).toMatchObject({ status: 403, errorCode });
    expect(await storedTransactions(installation.database)).toHaveLength(stored);
    expect(installation.asked.authorizations).toBe(0);
  });

  test('a tap of a user of another merchant is 403, and nothing of it is stored', async () => {
    const response = await phoneWith('bakery', { user: USER.username }).tap(TAP);
    expect(problemOf(response)).toMatchObject({ status: 403, errorCode: 101 });
  });

  test('the same device and user name may tap for another acquirer', async () => {
    const profile = installation.profile('tailor');
    const merchant = { ...profile.merchant, user: USER.username };
    const phone = new Phone({ ...profile, merchant }, 'blocked device');
    expect(outcomeOf(await phone.tap({ ...TAP, currency: 'EUR' })).type).toBe('Approved');
  });
});

test('a terminal without a merchant accepts taps of every merchant of its acquirer', async () => {
  await saveTerminals(installation.database, [
    { acquirerId: 1, xTid: 'TERM-shared', tid: 'TW0SHARE', mid: 'TEST00000000009', canTakePin: true },
  ]);
  const fromMerchant = async (name: 'bakery' | 'flowers') =>
    (await phoneWith(name, { xTid: 'TERM-shared' }).tap(TAP)).body as { onlineAuthorizationResponse?: object };
  const approved = { onlineAuthorizationResponse: { type: 'Approved' } };
  await eventually(async () => expect(await fromMerchant('bakery')).toMatchObject(approved));
  expect(await fromMerchant('flowers')).toMatchObject(approved);
});

describe('a tap without a configuration is 500, 208, recorded as ErrorFindingConfig and never sent', () => {
  test.each([
    ['an unknown terminal', () => phoneWith('bakery', { xTid: 'TERM-unknown' })],
    ["another acquirer's terminal", () => phoneWith('bakery', { xTid: 'TERM-tailor' })],
    ["the terminal of another integrator's merchant", () => phoneWith('bakery', { xTid: 'TERM-flowers' })],
    ["the terminal of the integrator's other merchant", () => phoneWith('bakery', { xTid: 'TERM-coffee' })],
    ['a currency without a route', () => installation.phone('tailor')],
  ])('%s', async (_what, phone) => {
    const asked = installation.asked;
    const stored = await storedTransactions(installation.database);
    expect(problemOf(await phone().tap(TAP))).toMatchObject({ status: 500, errorCode: 208 });
    const rows = await storedTransactions(installation.database);
    expect(rows).toHaveLength(stored.length + 1);
    expect(rows.at(-1)).toMatchObject({ status: 'ErrorFindingConfig', disposition: null, stan: null });
    expect(await trailOf(installation.database, rows.at(-1)!.id)).toEqual(['RequestReceived', 'ErrorFindingConfig']);
    expect(installation.asked).toEqual(asked);
  });

  test('the reference may be used again after it is configured', async () => {
    const merchantReference = 'configured later';
    const device = 'one device';
    const profile = installation.profile('bakery');
    const wrong = new Phone({ ...profile, merchant: { ...profile.merchant, xTid: 'TERM-unknown' } }, device);
    expect(problemOf(await wrong.tap({ ...TAP, merchantReference }))).toMatchObject({ errorCode: 208 });
    const right = new Phone(profile, device);
    expect(outcomeOf(await right.tap({ ...TAP, merchantReference })).type).toBe('Approved');
  });
});

test("a link with another merchant's terminal is rejected exactly like one with an unknown terminal", async () => {
  const responseFor = async (xTid: string) => {
    const response = await post(installation, '/consumer/applink', linkBody('bakery', { xTid }));
    const { requestId, ...problem } = problemOf(response);
    return { ...problem, instance: undefined };
  };
  const unknown = await responseFor('TERM-unknown');
  expect(unknown).toMatchObject({ status: 400, errorCode: 104, errors: [{ pointer: '/xTid' }] });
  for (const xTid of ['TERM-coffee', 'TERM-flowers', 'TERM-tailor']) expect(await responseFor(xTid)).toEqual(unknown);
});
