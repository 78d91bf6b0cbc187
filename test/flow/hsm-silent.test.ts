import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { enterPin, RIGHT_PIN, tapForPin } from '../support/pins.ts';
import { outcomeOf } from '../support/responses.ts';
import { stallOfHsm } from '../support/stalling-hsm.ts';

const HSM_MODULE = fileURLToPath(new URL('../support/stalling-hsm.ts', import.meta.url));

let installation: Installation;
beforeAll(async () => {
  // One slot on the one connection: its holder keeps everything else from the switch.
  const settings = { HSM_MODULE, HSM_KEYS_FILE: undefined };
  installation = await startInstallation({ settings, profile: { maxInFlight: 1 } });
});
afterEach(() => {
  stallOfHsm().stalled = [];
  return expectInvariants(installation);
});
afterAll(() => installation.stop());

async function tapWithPin(phone: Phone) {
  const reading = phone.enterPin(phone.read({ amount: '50.05', currency: 'ZAR' }), RIGHT_PIN);
  return phone.submit(await phone.sealReading(reading));
}

test('a PIN that the HSM does not translate is UnableToGoOnline, nothing is sent, and other taps continue meanwhile', async () => {
  const stall = stallOfHsm();
  const { held } = stall; // by other files of this worker
  stall.stalled = ['translatePin'];
  const { authorizations } = installation.asked;
  const withPin = tapWithPin(installation.phone());
  await eventually(() => expect(stall.held).toBe(held + 1));
  expect(outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })).type).toBe('Approved');
  expect(outcomeOf(await withPin)).toMatchObject({ type: 'UnableToGoOnline', errorCode: 210 });
  expect(installation.asked.authorizations).toBe(authorizations + 1);
});

test('a required PIN is UnableToGoOnline, too', async () => {
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  stallOfHsm().stalled = ['translatePin'];
  expect(outcomeOf(await enterPin(phone, asked))).toMatchObject({ type: 'UnableToGoOnline', errorCode: 210 });
  expect(installation.ledger.filter(({ amountMinor }) => amountMinor === 5_005)).toEqual([]);
});
