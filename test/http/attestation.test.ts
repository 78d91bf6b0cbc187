import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { RIGHT_PIN } from '../support/pins.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { storedTransactions } from '../support/transactions.ts';

const TAP = { amount: '10.00', currency: 'ZAR' } as const;
const ISSUER = 'https://attest.example';
const { publicKey, privateKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ profile: { deadlineMs: 8_000 } });
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

function attestedPhone(): Phone {
  return new Phone({ ...installation.profile('coffee'), attester: { iss: ISSUER, privateKey } });
}

async function require(isRequired: boolean): Promise<void> {
  await installation.database.query(
    `insert into attesters (acquirer_id, name, issuer, public_key, max_age_seconds, is_required)
     values (1, 'phones', $1, $2, 300, $3)
     on conflict (acquirer_id, name) do update set is_required = excluded.is_required`,
    [ISSUER, publicKey, isRequired],
  );
}

test('an acquirer that requires attestations takes only taps and PINs that have one', async () => {
  await require(true);
  await eventually(async () =>
    expect(problemOf(await installation.phone('coffee').tap(TAP))).toMatchObject({ status: 403, errorCode: 106 }),
  );
  const stored = (await storedTransactions(installation.database)).length;
  const { authorizations } = installation.asked;
  expect(problemOf(await installation.phone('coffee').tap(TAP))).toMatchObject({ errorCode: 106 });
  expect(await storedTransactions(installation.database)).toHaveLength(stored);
  expect(installation.asked.authorizations).toBe(authorizations);

  const phone = attestedPhone();
  expect(outcomeOf(await phone.tap(TAP)).type).toBe('Approved');
  expect(outcomeOf(await phone.tap({ ...TAP, amount: '50.05', pin: RIGHT_PIN })).type).toBe('Approved');
  expect(outcomeOf(await installation.phone('tailor').tap({ ...TAP, currency: 'EUR' })).type).toBe('Approved');
});

test('a PIN without attestation is refused, and the wait for the PIN goes on', async () => {
  await require(true);
  await eventually(async () => expect(problemOf(await installation.phone('coffee').tap(TAP)).status).toBe(403));
  const phone = attestedPhone();
  const reading = phone.read({ ...TAP, amount: '50.05' });
  const asked = outcomeOf(await phone.submit(await phone.sealReading(reading)));
  const pin = { transactionId: asked.serviceReference, pinToken: asked.pinToken! };
  const unattested = new Phone(installation.profile('coffee'), phone.deviceInstallationId);
  const request = { ...(await unattested.sealReading(unattested.enterPin(reading, RIGHT_PIN))), ...pin };
  expect(problemOf(await unattested.submitPin(request))).toMatchObject({ status: 403, errorCode: 106 });
  expect(outcomeOf(await phone.submitPin(request)).type).toBe('Approved');
});

test('attesters that are not required are only counted', async () => {
  await require(false);
  await eventually(async () => expect(outcomeOf(await installation.phone('coffee').tap(TAP)).type).toBe('Approved'));
  const metrics = await (await fetch(new URL('/metrics', installation.url))).text();
  expect(metrics).toMatch(/^tapwire_attestations_total\{result="attestation_missing"\} [1-9]/m);
  expect(metrics).toMatch(/^tapwire_attestations_total\{result="accepted"\} [1-9]/m);
});
