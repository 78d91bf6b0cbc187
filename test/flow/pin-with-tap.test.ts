import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TAP_REFUSALS } from '../../src/basics/errors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import type { PhoneResponse, PhoneTap } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { askedFor, enterPin, RIGHT_PIN, WRONG_PIN } from '../support/pins.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';

const CVM_RESULTS = 0x9f34;
const KSN = 0xdf8a12;

/** The reader takes the PIN in advance: 9F34 says so, and the block is in the first tap. */
describe.each(['type-1', 'type-2'] as const)('a PIN with the first tap, at a switch of %s', (type) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ type });
  });
  afterEach(() => expectInvariants(installation));
  afterAll(() => installation.stop());

  async function tapWithPin(
    pin: string,
    tap: Partial<PhoneTap> = {},
    tamper: (values: Map<number, Uint8Array>) => void = () => {},
  ): Promise<PhoneResponse> {
    const phone = installation.phone();
    const { merchantReference, values } = phone.enterPin(phone.read({ amount: '50.05', currency: 'ZAR', ...tap }), pin);
    const tampered = new Map(values);
    tamper(tampered);
    return phone.submit(await phone.sealReading({ merchantReference, values: tampered }));
  }

  test('is sent in the first message and approved', async () => {
    const response = outcomeOf(await tapWithPin(RIGHT_PIN));
    expect(response).toMatchObject({ type: 'Approved', isSingleTapAndPin: false });
    expect(await untilResponded(installation.database, response.serviceReference)).toMatchObject({ attempt: 1 });
    expect(await trailOf(installation.database, response.serviceReference)).toEqual([
      'RequestReceived',
      'ReadyToSubmitToPaymentProcessor',
      'SubmittedToPaymentProcessor',
      'PIN submitted',
      'ResponseReceivedFromPaymentProcessor',
      'PIN done',
      'RespondedToPhone',
    ]);
  });

  test('a wrong PIN with the first tap leads to a request for another one', async () => {
    const phone = installation.phone();
    const reading = phone.read({ amount: '50.05', currency: 'ZAR', card: 'mastercard' });
    const wrong = await phone.sealReading(phone.enterPin(reading, WRONG_PIN));
    const asked = askedFor(reading, await phone.submit(wrong));
    expect(asked.response).toMatchObject({ type: 'Declined', errorCode: 211, isoResponseCode: '55' });
    expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
  });

  test('a tap with its PIN whose approval never arrives is reversed like any other', async () => {
    const response = outcomeOf(await tapWithPin(RIGHT_PIN, { amount: '10.69', card: 'amex' }));
    expect(response).toMatchObject({ type: 'Indeterminate', errorCode: 203, isSingleTapAndPin: false });
    await eventually(async () => {
      const { disposition } = await storedTransaction(installation.database, response.serviceReference);
      expect(disposition).toBe(Disposition.Voided);
    });
  });

  test('a PIN without 9F34 saying so is refused, and nothing is sent', async () => {
    const { authorizations } = installation.asked;
    const noCvm = (values: Map<number, Uint8Array>) => void values.set(CVM_RESULTS, Uint8Array.of(0x1f, 0x03, 0x02));
    const response = problemOf(await tapWithPin(RIGHT_PIN, {}, noCvm));
    expect(response).toMatchObject({ status: 400, errorCode: 202, errors: [{ detail: TAP_REFUSALS.PIN_UNEXPECTED }] });
    expect(installation.asked.authorizations).toBe(authorizations);
  });

  test('a PIN without its key serial number is refused, and nothing is sent', async () => {
    const { authorizations } = installation.asked;
    const response = problemOf(await tapWithPin(RIGHT_PIN, {}, (values) => values.delete(KSN)));
    expect(response).toMatchObject({ status: 400, errorCode: 202, errors: [{ detail: TAP_REFUSALS.PIN_MALFORMED }] });
    expect(installation.asked.authorizations).toBe(authorizations);
  });

  test('a PIN at a terminal that takes none is refused, and nothing is sent', async () => {
    await setCanTakePin(installation, false);
    try {
      const { authorizations } = installation.asked;
      await eventually(async () => {
        const response = problemOf(await tapWithPin(RIGHT_PIN));
        expect(response).toMatchObject({
          status: 400,
          errorCode: 202,
          errors: [{ detail: TAP_REFUSALS.PIN_NOT_TAKEN }],
        });
      });
      expect(installation.asked.authorizations - authorizations).toBeLessThan(RETRIED);
      const declined = outcomeOf(await installation.phone().tap({ amount: '50.05', currency: 'ZAR' }));
      expect(declined).toMatchObject({ type: 'Declined', errorCode: 65, isSingleTapAndPin: false });
      expect(declined).not.toHaveProperty('pinToken');
    } finally {
      await setCanTakePin(installation, true);
    }
  });
});

/** Taps are approved until the directory has read the change. */
const RETRIED = 1_000;

async function setCanTakePin({ database }: Installation, canTakePin: boolean): Promise<void> {
  await database.query('update terminals set can_take_pin = $1', [canTakePin]);
}
