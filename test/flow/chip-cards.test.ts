import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { VirtualCard } from '../../src/tools/phone/virtual-card.ts';
import { TEST_CARDS } from '../../src/tools/simulator/issuer/chip-card.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { askedFor, enterPin, tapForPin } from '../support/pins.ts';
import { outcomeOf } from '../support/responses.ts';

/** A payment above it needs a PIN. */
const LIMIT_MINOR = 50_00;
const SCRIPT = '9F1804000000018609841E0000048E4A1B2C';
const CARDS = TEST_CARDS.map((profile) => ({ ...profile, noCvmLimitMinor: LIMIT_MINOR, scripts: { 71: SCRIPT } }));

/** From a phone to the issuer and back: the gateway must neither lose nor change what the card has signed. */
describe.each(['type-1', 'type-2', 'type-1993'])('through a gateway, at a switch of %s', (type) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ type, chipCards: CARDS });
  });
  afterEach(() => expectInvariants(installation));
  afterAll(() => installation.stop());

  test.each(
    CARDS.map((profile) => [profile.name, profile] as const),
  )('the issuer and a card %s trust each other, and the script arrives', async (_, profile) => {
    const chipCard = new VirtualCard(profile);
    const outcome = outcomeOf(await installation.phone().tap({ amount: '12.00', currency: 'ZAR', chipCard }));
    expect(outcome).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
    expect(chipCard.trusts(outcome.tags)).toBe(true);
    expect(outcome.tags).toContainEqual({ tag: '71', value: SCRIPT });
  });

  test('a value that changed after the card had signed it is declined with 63', async () => {
    const chipCard = new VirtualCard(CARDS[0]!, 100);
    const tamper = (values: Map<number, Uint8Array>) => values.set(0x95, Uint8Array.of(0, 0, 0, 0, 1));
    const outcome = outcomeOf(await installation.phone().tap({ amount: '12.00', currency: 'ZAR', chipCard, tamper }));
    expect(outcome).toMatchObject({ type: 'Declined', isoResponseCode: '63' });
    expect(chipCard.trusts(outcome.tags)).toBe(false);
  });

  test('a tap that repeats an ATC is declined with 59, by an issuer that the card trusts', async () => {
    const tap = async () => {
      const chipCard = new VirtualCard(CARDS[1]!, 200);
      const outcome = outcomeOf(await installation.phone().tap({ amount: '12.00', currency: 'ZAR', chipCard }));
      expect(chipCard.trusts(outcome.tags)).toBe(true);
      return outcome;
    };
    expect(await tap()).toMatchObject({ type: 'Approved' });
    expect(await tap()).toMatchObject({ type: 'Declined', isoResponseCode: '59' });
  });

  test('the PIN of a large payment follows with the values of the same tap, which are no repetition', async () => {
    const phone = installation.phone();
    const chipCard = new VirtualCard(CARDS[0]!, 300);
    const asked = await tapForPin(phone, { amount: '60.00', chipCard });
    const wrong = askedFor(asked.reading, await enterPin(phone, asked, '54321'));
    const outcome = outcomeOf(await enterPin(phone, wrong));
    expect(outcome).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
    expect(chipCard.trusts(outcome.tags)).toBe(true);
  });
});
