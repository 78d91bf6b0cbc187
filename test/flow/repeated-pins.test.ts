import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { READER_TAGS } from '../../schemas/card-data.ts';
import { TAP_REFUSALS } from '../../src/basics/errors.ts';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { PinState } from '../../src/payments/model/pin.ts';
import type { Phone, PhoneResponse, TapReading } from '../../src/tools/phone/phone.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { type AskedForPin, askedFor, enterPin, RIGHT_PIN, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';

/** A PIN block is accepted once: a client that has seen one must not be able to submit it for another tap. */
const KEPT = [READER_TAGS.pinBlock, READER_TAGS.ksn];

function withoutBlock({ merchantReference, values }: TapReading): TapReading {
  return { merchantReference, values: new Map([...values].filter(([tag]) => !KEPT.includes(tag as never))) };
}

/** The PIN block of one reading, for another one. */
function withBlockOf({ merchantReference, values }: TapReading, entered: TapReading): TapReading {
  const added = [...entered.values].filter(([tag]) => [0x9f34, ...KEPT].includes(tag));
  return { merchantReference, values: new Map([...values, ...added]) };
}

type Form = 'sealed' | 'outside the sealed blob';

/** Submits the values of a PIN step, with the block in one of its two forms. */
async function submit(
  phone: Phone,
  { id: transactionId, pinToken }: AskedForPin,
  entered: TapReading,
  form: Form,
): Promise<PhoneResponse> {
  if (form === 'sealed') return phone.submitPin({ ...(await phone.sealReading(entered)), transactionId, pinToken });
  const [pinBlock, ksn] = KEPT.map((tag) => toHex(entered.values.get(tag)!)) as [string, string];
  return phone.submitPin({
    ...(await phone.sealReading(withoutBlock(entered))),
    transactionId,
    pinToken,
    pinBlock,
    ksn,
  });
}

const FORMS = ['sealed', 'outside the sealed blob'] as const;
const REFUSALS = {
  sealed: { status: 400, errorCode: 202, errors: [{ pointer: '/paymentCardData', detail: TAP_REFUSALS.PIN_REPEATED }] },
  'outside the sealed blob': { status: 400, errorCode: 104, errors: [{ pointer: '/ksn' }] },
} as const;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ profile: { deadlineMs: 20_000 } });
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

async function stateOf(id: string): Promise<object> {
  const { rows } = await installation.database.query(
    'select pin_state, pin_tries, attempt from transactions where id = $1',
    [id],
  );
  return rows[0];
}

describe.each(FORMS)('a PIN block that is %s', (form) => {
  test.each([
    'coffee',
    'bakery',
    'tailor',
  ] as const)('is refused for another tap of its card at the %s, and the wait for a PIN continues', async (merchant) => {
    const phone = installation.phone();
    const first = await tapForPin(phone);
    const entered = phone.enterPin(first.reading, RIGHT_PIN);
    expect(outcomeOf(await submit(phone, first, entered, form)).type).toBe('Approved');
    const other = installation.phone(merchant);
    const second = await tapForPin(other);
    const asked = installation.asked.authorizations;
    const response = await submit(other, second, withBlockOf(second.reading, entered), form);
    expect(problemOf(response)).toMatchObject(REFUSALS[form]);
    expect(installation.asked.authorizations).toBe(asked);
    expect(await stateOf(second.id)).toEqual({ pin_state: PinState.awaiting, pin_tries: 0, attempt: 1 });
    expect(outcomeOf(await enterPin(other, second)).type).toBe('Approved');
  });

  test('is refused for the next attempt of its own tap', async () => {
    const phone = installation.phone();
    const first = await tapForPin(phone);
    const entered = phone.enterPin(first.reading, WRONG_PIN);
    const again = askedFor(first.reading, await submit(phone, first, entered, form));
    const response = await submit(
      phone,
      again,
      { ...entered, values: new Map([...entered.values, [0x9f1e, Buffer.from('till')]]) },
      form,
    );
    expect(problemOf(response)).toMatchObject(REFUSALS[form]);
    expect(await stateOf(first.id)).toMatchObject({ pin_state: PinState.awaiting, pin_tries: 1, attempt: 2 });
    expect(outcomeOf(await enterPin(phone, again)).type).toBe('Approved');
  });

  test('is sent once for taps that bring it at the same moment', async () => {
    const phones = [installation.phone(), installation.phone('bakery'), installation.phone('tailor')] as const;
    const asks = await Promise.all(phones.map((phone) => tapForPin(phone)));
    const entered = phones[0].enterPin(asks[0]!.reading, RIGHT_PIN);
    const before = installation.asked.authorizations;
    const responses = await Promise.all(
      phones.map((phone, n) => submit(phone, asks[n]!, withBlockOf(asks[n]!.reading, entered), form)),
    );
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
    expect(installation.asked.authorizations).toBe(before + 1);
  });

  test('gets its stored response when its request is repeated', async () => {
    const phone = installation.phone();
    const first = await tapForPin(phone);
    const { id: transactionId, pinToken } = first;
    const entered = phone.enterPin(first.reading, RIGHT_PIN);
    const request = { ...(await phone.sealReading(entered)), transactionId, pinToken };
    const response = outcomeOf(await phone.submitPin(request));
    expect(outcomeOf(await phone.submitPin(request))).toEqual(response);
  });
});

test('a PIN block that came with a tap is refused for the tap of another merchant, and for the PIN of another tap', async () => {
  const phone = installation.phone();
  const entered = phone.enterPin(phone.read({ amount: '10.00', currency: 'ZAR' }), RIGHT_PIN);
  expect(outcomeOf(await phone.submit(await phone.sealReading(entered))).type).toBe('Approved');
  const other = installation.phone('bakery');
  const reading = other.read({ amount: '10.00', currency: 'ZAR' });
  expect(problemOf(await other.submit(await other.sealReading(withBlockOf(reading, entered))))).toMatchObject({
    status: 400,
    errorCode: 202,
  });
  const asked = await tapForPin(other);
  const response = await submit(other, asked, withBlockOf(asked.reading, entered), 'sealed');
  expect(problemOf(response)).toMatchObject(REFUSALS.sealed);
});

test('a client without the keys of a reader cannot use up its numbers', async () => {
  const phone = installation.phone();
  const first = await tapForPin(phone);
  const entered = phone.enterPin(first.reading, RIGHT_PIN);
  const forger = installation.phone('tailor');
  const forged = await tapForPin(forger);
  const values = new Map(withBlockOf(forged.reading, entered).values).set(READER_TAGS.pinBlock, Buffer.alloc(8, 7));
  const response = await submit(forger, forged, { ...forged.reading, values }, 'sealed');
  expect(outcomeOf(response)).toMatchObject({ errorCode: 211, isoResponseCode: '' });
  expect(outcomeOf(await submit(phone, first, entered, 'sealed')).type).toBe('Approved');
});

describe('readers whose blocks do not contain the PAN', () => {
  let format1: Installation;
  beforeAll(async () => {
    format1 = await startInstallation({ settings: { READER_PIN_FORMAT: '1' } });
  });
  afterAll(() => format1.stop());

  test('must seal them with the card data', async () => {
    const phone = format1.phone();
    const asked = await tapForPin(phone);
    const entered = phone.enterPin(asked.reading, RIGHT_PIN);
    const response = await submit(phone, asked, entered, 'outside the sealed blob');
    expect(problemOf(response)).toMatchObject({ status: 400, errorCode: 104, errors: [{ pointer: '/pinBlock' }] });
  });
});
