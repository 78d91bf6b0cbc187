import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEY_PURPOSES, rotateKeys } from '../../src/card/change-key-ring.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { enterPin, tapForPin } from '../support/pins.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { storedTransaction } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation.stop());

const TAP = { amount: '10.00', currency: 'ZAR' } as const;
const HOUR_MS = 3_600_000;

async function publishedKids(): Promise<string[]> {
  const { body } = await request(installation.url, '/.well-known/card-data-keys.json');
  return (body as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

test('a running gateway uses every new key automatically, and still opens what was sealed with the old ones', async () => {
  const { database } = installation;
  const phone = installation.phone(); // keeps the first key that it received
  expect(outcomeOf(await phone.tap(TAP)).type).toBe('Approved');
  const repeated = await phone.seal(TAP);
  const first = outcomeOf(await phone.submit(repeated));
  // Its reversal, seconds later, needs a card that was sealed before the rotation.
  const uncertain = phone.tap({ amount: '10.69', currency: 'ZAR' });
  await eventually(async () => {
    const { rows } = await database.query('select from transactions where disposition is null and status = 4');
    expect(rows).toHaveLength(1);
  });

  const path = join(installation.environment().TAPWIRE_DATA!, 'keys.json');
  const times = { nowMs: Date.now(), retireAfterMs: HOUR_MS };
  for (const purpose of KEY_PURPOSES) await rotateKeys(path, purpose, times);
  const { added, kept } = await rotateKeys(path, 'card-data', times);
  await eventually(async () => expect(await publishedKids()).toEqual([...added, ...kept]));

  expect(outcomeOf(await installation.phone().tap(TAP)).type).toBe('Approved');
  expect(outcomeOf(await phone.tap(TAP)).type).toBe('Approved');
  // Recognized by a fingerprint that the old key made.
  expect(outcomeOf(await phone.submit(repeated))).toMatchObject({ serviceReference: first.serviceReference });
  const { serviceReference } = outcomeOf(await uncertain);
  await eventually(async () =>
    expect(await storedTransaction(database, serviceReference)).toMatchObject({ disposition: Disposition.Voided }),
  );
  await expectInvariants(installation);
});

test('a PIN that was required under the old keys is accepted under the new ones', async () => {
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  const path = join(installation.environment().TAPWIRE_DATA!, 'keys.json');
  const times = { nowMs: Date.now(), retireAfterMs: HOUR_MS };
  for (const purpose of KEY_PURPOSES) await rotateKeys(path, purpose, times);
  const { added } = await rotateKeys(path, 'card-data', times);
  await eventually(async () => expect(await publishedKids()).toEqual(expect.arrayContaining([...added])));
  expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
  await expectInvariants(installation);
});
