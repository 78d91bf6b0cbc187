import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import {
  jobsOf,
  storedTransaction,
  storedTransactions,
  trailOf,
  untilResponded,
  untilStatus,
} from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const ACKNOWLEDGED = { status: 200, body: { status: 'AcknowledgedByPhone' } };

async function acknowledge(phone: Phone, id: string, device: string | undefined = phone.deviceInstallationId) {
  const headers = { authorization: `Bearer ${await phone.token()}`, 'x-device-installation-id': device };
  return request(installation.url, `/transactions/${id}/acknowledge`, { method: 'POST', headers });
}

async function tapped(phone: Phone, amount = '10.00'): Promise<string> {
  return outcomeOf(await phone.tap({ amount, currency: 'ZAR' })).serviceReference;
}

test.each([
  ['approved', '10.00'],
  ['declined', '10.51'],
])('a tap that was %s is AcknowledgedByPhone after its device says so, and a repeat adds no transition', async (_what, amount) => {
  const { database } = installation;
  const phone = installation.phone();
  const id = await tapped(phone, amount);
  await untilResponded(database, id);
  expect(await acknowledge(phone, id)).toMatchObject({ ...ACKNOWLEDGED, body: { serviceReference: id } });
  const trail = await trailOf(database, id);
  expect(trail.slice(-2)).toEqual(['RespondedToPhone', 'AcknowledgedByPhone']);
  expect(await acknowledge(phone, id)).toMatchObject(ACKNOWLEDGED);
  expect(await trailOf(database, id)).toEqual(trail);
});

test('an acknowledgement that arrives before the record of the response records both, and ends the job', async () => {
  const { database } = installation;
  const phone = installation.phone();
  for (let round = 0; round < 5; round++) {
    const id = await tapped(phone);
    expect(await acknowledge(phone, id)).toMatchObject(ACKNOWLEDGED);
    await eventually(async () => expect(await jobsOf(database, id)).toEqual([]));
    expect((await trailOf(database, id)).slice(-2)).toEqual(['RespondedToPhone', 'AcknowledgedByPhone']);
  }
});

test('many simultaneous acknowledgements are one transition', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const id = await tapped(phone);
  const responses = await Promise.all(Array.from({ length: 8 }, () => acknowledge(phone, id)));
  expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200));
  const trail = await trailOf(database, id);
  expect(trail.filter((move) => move === 'AcknowledgedByPhone')).toHaveLength(1);
});

test('an uncertain tap can be acknowledged, and is still reversed', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const id = await tapped(phone, '10.69');
  expect(await acknowledge(phone, id)).toMatchObject(ACKNOWLEDGED);
  await eventually(async () =>
    expect(await storedTransaction(database, id)).toMatchObject({ disposition: 5, status: 'AcknowledgedByPhone' }),
  );
});

test('a tap without an outcome cannot be acknowledged: 409', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const response = phone.tap({ amount: '12.69', currency: 'ZAR' });
  const id = await eventually(async () => {
    const [waiting] = (await storedTransactions(database)).filter(({ disposition }) => disposition === null);
    return waiting!.id;
  });
  expect(await acknowledge(phone, id)).toMatchObject({ status: 409, body: { errorCode: 134 } });
  await response;
  await untilResponded(database, id);
});

test('a tap that waits for a PIN cannot be acknowledged: 409', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const response = outcomeOf(await phone.tap({ amount: '50.05', currency: 'ZAR' }));
  expect(response).toMatchObject({ isSingleTapAndPin: true, pinToken: expect.any(String) });
  const { id } = await untilResponded(database, response.serviceReference);
  expect(await acknowledge(phone, id)).toMatchObject({ status: 409, body: { errorCode: 134 } });
  await untilStatus(database, id, 'RespondedToPhone');
});

test('another device or another user of the merchant gets 403, another merchant 404, and nothing changes', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const id = await tapped(phone);
  await untilResponded(database, id);
  expect(await acknowledge(phone, id, randomUUID())).toMatchObject({ status: 403, body: { errorCode: 101 } });
  const profile = installation.profile();
  const merchant = { ...profile.merchant, user: 'till-2@coffee.example' };
  const colleague = new Phone({ ...profile, merchant }, phone.deviceInstallationId);
  expect(await acknowledge(colleague, id)).toMatchObject({ status: 403, body: { errorCode: 101 } });
  for (const name of ['bakery', 'tailor'] as const) {
    const stranger = installation.phone(name, phone.deviceInstallationId);
    expect(await acknowledge(stranger, id)).toMatchObject({ status: 404, body: { errorCode: 122 } });
  }
  expect(await acknowledge(phone, randomUUID())).toMatchObject({ status: 404, body: { errorCode: 122 } });
  await untilStatus(database, id, 'RespondedToPhone');
});

test('an acknowledgement requires its device and a token', async () => {
  const phone = installation.phone();
  const id = await tapped(phone);
  await untilResponded(installation.database, id);
  const url = `/transactions/${id}/acknowledge`;
  const authorization = `Bearer ${await phone.token()}`;
  const withoutDevice = await request(installation.url, url, { method: 'POST', headers: { authorization } });
  expect(withoutDevice).toMatchObject({ status: 400, body: { errorCode: 104 } });
  const headers = { 'x-device-installation-id': phone.deviceInstallationId };
  expect(await request(installation.url, url, { method: 'POST', headers })).toMatchObject({ status: 401 });
});
