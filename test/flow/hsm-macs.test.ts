import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import { stallOfHsm } from '../support/stalling-hsm.ts';

const HSM_MODULE = fileURLToPath(new URL('../support/stalling-hsm.ts', import.meta.url));
const TAPS = 8;

let installation: Installation;
beforeAll(async () => {
  const settings = { HSM_MODULE, HSM_KEYS_FILE: undefined };
  const config = { macKeys: [{ number: 1, keyId: 'demo-mac-1' }] };
  // More slots than taps: none of the taps waits for another one.
  installation = await startInstallation({ settings, config, profile: { maxInFlight: TAPS, deadlineMs: 8_000 } });
});
afterEach(() => {
  stallOfHsm().stalled = [];
});
afterAll(() => installation.stop());

const tapMany = () =>
  Promise.all(
    Array.from({ length: TAPS }, async () =>
      outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })),
    ),
  );

test('taps that get no MAC are UnableToGoOnline and never sent, and no slot stays taken', async () => {
  stallOfHsm().stalled = ['mac'];
  const { authorizations } = installation.asked;
  for (const outcome of await tapMany()) expect(outcome).toMatchObject({ type: 'UnableToGoOnline' });
  expect(installation.asked.authorizations).toBe(authorizations);
  stallOfHsm().stalled = [];
  for (const outcome of await tapMany()) expect(outcome.type).toBe('Approved');
  await expectInvariants(installation);
});

test('an approval whose MAC cannot be checked is never an approval, and it is reversed when the HSM responds again', async () => {
  const approved = () => installation.simulator.ledger.totals().approved;
  stallOfHsm().stalled = ['verifyMac'];
  const approvedBefore = approved();
  const { authorizations } = installation.asked;
  for (const { type } of await tapMany()) expect(type).not.toBe('Approved');
  expect(installation.asked.authorizations).toBe(authorizations + TAPS);
  stallOfHsm().stalled = [];
  await eventually(() => expect(approved()).toBe(approvedBefore));
  await eventually(() => expectInvariants(installation, { areFaultsExpected: true }));
});
