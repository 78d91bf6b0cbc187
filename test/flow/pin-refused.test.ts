import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TAP_REFUSALS } from '../../src/basics/errors.ts';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { PinState } from '../../src/payments/model/pin.ts';
import { Status } from '../../src/payments/model/status.ts';
import { Phone, type PinSubmission } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { askedFor, enterPin, RIGHT_PIN, sealPin, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { storedTransaction, trailOf, untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  // No test waits for a silent switch, and a hundred requests at once take their time on a busy machine.
  installation = await startInstallation({ profile: { deadlineMs: 20_000 } });
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

async function authorizationsDuring(work: () => Promise<unknown>): Promise<number> {
  const before = installation.asked.authorizations;
  await work();
  return installation.asked.authorizations - before;
}

/** The wait continues unchanged: no refused request counts as an attempt. */
async function expectStillAwaited(id: string): Promise<void> {
  const { rows } = await installation.database.query(
    'select pin_state, pin_tries, attempt from transactions where id = $1',
    [id],
  );
  expect(rows).toEqual([{ pin_state: PinState.awaiting, pin_tries: 0, attempt: 1 }]);
}

describe('who may submit the PIN', () => {
  test('another device may not submit the PIN: 403, and the wait continues', async () => {
    const asked = await tapForPin(installation.phone());
    const response = problemOf(await enterPin(installation.phone(), asked));
    expect(response).toMatchObject({ status: 403, errorCode: 101 });
    await expectStillAwaited(asked.id);
  });

  test('another user on the same device may not submit the PIN: 403', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const profile = installation.profile();
    const merchant = { ...profile.merchant, user: 'another user' };
    const other = new Phone({ ...profile, merchant }, phone.deviceInstallationId);
    expect(problemOf(await enterPin(other, asked))).toMatchObject({ status: 403, errorCode: 101 });
    await expectStillAwaited(asked.id);
  });

  test.each([
    'bakery',
    'flowers',
    'tailor',
  ] as const)('the %s may not submit the PIN for a transaction of the coffee shop: 404, as for an unknown one', async (merchant) => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const other = installation.phone(merchant, phone.deviceInstallationId);
    const { requestId: _its, instance: _at, ...response } = problemOf(await enterPin(other, asked));
    const unknown = { ...asked, id: randomUUID() };
    const { requestId: _own, instance: _where, ...unknownResponse } = problemOf(await enterPin(phone, unknown));
    expect(response).toMatchObject({ status: 404, errorCode: 122 });
    expect(response).toEqual(unknownResponse);
    await expectStillAwaited(asked.id);
  });
});

describe('an invalid PIN request', () => {
  test.each<[what: string, pointer: string, change: (pin: PinSubmission) => PinSubmission | Promise<PinSubmission>]>([
    ['the reference of another transaction', '/merchantReference', (pin) => ({ ...pin, merchantReference: 'another' })],
    ['no pinToken', '/pinToken', ({ pinToken: _none, ...pin }) => pin as PinSubmission],
    ['a pinToken that is not a token', '/pinToken', (pin) => ({ ...pin, pinToken: 'let me in' })],
    [
      'a pinToken with a changed claim',
      '/pinToken',
      (pin) => ({ ...pin, pinToken: withClaim(pin.pinToken, 'attempt', 2) }),
    ],
    [
      'a merchant JWT as pinToken',
      '/pinToken',
      async (pin) => ({ ...pin, pinToken: await installation.phone().token() }),
    ],
    [
      'a PIN block that is not hex',
      '/pinBlock',
      (pin) => ({ ...pin, pinBlock: 'no hex at all!!!', ksn: '0'.repeat(20) }),
    ],
    ['a PIN block of 7 bytes', '/pinBlock', (pin) => ({ ...pin, pinBlock: '0'.repeat(14), ksn: '0'.repeat(20) })],
    ['a PIN block without its key serial number', '/ksn', (pin) => ({ ...pin, pinBlock: '0'.repeat(16) })],
  ])('%s is 400 and points to it', async (_what, pointer, change) => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const asks = await authorizationsDuring(async () => {
      const response = problemOf(await phone.submitPin(await change(await sealPin(phone, asked))));
      expect(response).toMatchObject({ status: 400, errorCode: 104 });
      expect(response.errors?.map((error) => error.pointer)).toContain(pointer);
    });
    expect(asks).toBe(0);
    await expectStillAwaited(asked.id);
  });

  test('no PIN block, neither sealed nor in the body, is 400 and points to it', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const withoutPin = await phone.sealReading(asked.reading);
    const response = problemOf(
      await phone.submitPin({ ...withoutPin, transactionId: asked.id, pinToken: asked.pinToken }),
    );
    expect(response).toMatchObject({ status: 400, errorCode: 104, errors: [{ pointer: '/pinBlock' }] });
    await expectStillAwaited(asked.id);
  });

  test('the pinToken of another transaction is 400', async () => {
    const phone = installation.phone();
    const [asked, other] = [await tapForPin(phone), await tapForPin(phone)];
    const response = problemOf(await enterPin(phone, { ...asked, pinToken: other.pinToken }));
    expect(response).toMatchObject({ status: 400, errorCode: 104, errors: [{ pointer: '/pinToken' }] });
    await expectStillAwaited(asked.id);
    await expectStillAwaited(other.id);
  });

  test.each([
    ['PAN', 0x57, '5413330089010640D31122010000000000000F'],
    ['amount', 0x9f02, '000000006065'],
    ['currency', 0x5f2a, '0840'],
    ['cryptogram', 0x9f26, '0011223344556677'],
    ['transaction counter', 0x9f36, 'FFFF'],
    ['unpredictable number', 0x9f37, '00000000'],
    ['decision of the card', 0x9f27, '00'],
  ])('another %s than the tap had is 400: a PIN block is only valid for the tap for which it was entered', async (_what, tag, hex) => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const { merchantReference, values } = phone.enterPin(asked.reading, RIGHT_PIN);
    const request = await phone.sealReading({ merchantReference, values: new Map(values).set(tag, fromHex(hex)) });
    const response = problemOf(
      await phone.submitPin({ ...request, transactionId: asked.id, pinToken: asked.pinToken }),
    );
    expect(response).toMatchObject({ status: 400, errorCode: 202, errors: [{ detail: TAP_REFUSALS.OTHER_TAP }] });
    await expectStillAwaited(asked.id);
  });

  test('blobs that do not open are 400', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const pin = await sealPin(phone, asked);
    const response = problemOf(await phone.submitPin({ ...pin, paymentCardData: pin.paymentCardData.slice(0, -8) }));
    expect(response).toMatchObject({ status: 400, errorCode: 202 });
    await expectStillAwaited(asked.id);
  });

  test('an invalid transaction id is 400, and no token at all 401', async () => {
    const phone = installation.phone();
    const pin = await sealPin(phone, await tapForPin(phone));
    expect(problemOf(await phone.submitPin({ ...pin, transactionId: 'nonsense' }))).toMatchObject({ status: 400 });
    const response = await fetch(new URL(`/transactions/${pin.transactionId}/submitPinMobile`, installation.url), {
      method: 'POST',
    });
    expect(response.status).toBe(401);
  });
});

/** After a tap without a response, see pin-outcomes.test.ts: its deadline is shorter. */
describe('a PIN that is not awaited is 409', () => {
  test.each(['10.00', '10.51'])('a PIN that is not awaited is 409 after a tap of %s', async (amount) => {
    const phone = installation.phone();
    const reading = phone.read({ amount, currency: 'ZAR' });
    const { serviceReference: id } = outcomeOf(await phone.submit(await phone.sealReading(reading)));
    const { pinToken } = await tapForPin(phone);
    expect(problemOf(await enterPin(phone, { id, pinToken, reading }))).toMatchObject({ status: 409, errorCode: 104 });
  });

  test('a PIN that is not awaited is 409 after it was approved', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    expect(outcomeOf(await enterPin(phone, asked)).type).toBe('Approved');
    expect(problemOf(await enterPin(phone, asked))).toMatchObject({ status: 409, errorCode: 104 });
  });

  test('a PIN that is not awaited is 409 with a token that a wrong PIN has invalidated; the new one is valid', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const again = askedFor(asked.reading, await enterPin(phone, asked, WRONG_PIN));
    expect(problemOf(await enterPin(phone, asked))).toMatchObject({ status: 409, errorCode: 104 });
    expect(outcomeOf(await enterPin(phone, again)).type).toBe('Approved');
  });
});

describe('simultaneous requests', () => {
  test('a hundred different PIN requests make one authorization: one is accepted, the others are 409', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const pins = await Promise.all(Array.from({ length: 100 }, () => sealPin(phone, asked)));
    const asks = await authorizationsDuring(async () => {
      const responses = await Promise.all(pins.map((pin) => phone.submitPin(pin)));
      expect(responses.filter(({ status }) => status === 200).map((response) => outcomeOf(response).type)).toEqual([
        'Approved',
      ]);
      expect(responses.filter(({ status }) => status === 409)).toHaveLength(99);
    });
    expect(asks).toBe(1);
    expect(await storedTransaction(installation.database, asked.id)).toMatchObject({ attempt: 2 });
  });

  test('the same PIN request a hundred times makes one authorization and one response', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const pin = await sealPin(phone, asked);
    const asks = await authorizationsDuring(async () => {
      const responses = await Promise.all(Array.from({ length: 100 }, () => phone.submitPin(pin)));
      const [first, ...others] = responses.map(outcomeOf);
      expect(first?.type).toBe('Approved');
      for (const other of others) expect(other).toEqual(first);
    });
    expect(asks).toBe(1);
  });
});

describe('a repeated request', () => {
  test('4.4 while the PIN is awaited gets the stored response, with a valid token', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const sealed = await phone.sealReading(asked.reading);
    const tapped = phone.read({ amount: '50.05', currency: 'ZAR' });
    const request = await phone.sealReading(tapped);
    const first = askedFor(tapped, await phone.submit(request));
    const repeated = askedFor(tapped, await phone.submit(request));
    expect({ ...repeated.response, pinToken: '' }).toEqual({ ...first.response, pinToken: '' });
    expect(claimsOf(repeated.pinToken)).toMatchObject({
      ...claimsOf(first.pinToken),
      iat: expect.any(Number),
    });
    expect(outcomeOf(await enterPin(phone, repeated)).type).toBe('Approved');
    // Other blobs under the reference are still refused.
    expect(problemOf(await phone.submit(sealed))).toMatchObject({ status: 409, errorCode: 124 });
  });

  test('4.4 after the PIN gets the outcome', async () => {
    const phone = installation.phone();
    const reading = phone.read({ amount: '50.05', currency: 'ZAR' });
    const request = await phone.sealReading(reading);
    const asked = askedFor(reading, await phone.submit(request));
    const approved = outcomeOf(await enterPin(phone, asked));
    expect(outcomeOf(await phone.submit(request))).toEqual(approved);
  });

  test('4.5 after a wrong PIN gets the stored response, and does not count as an attempt', async () => {
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    const pin = await sealPin(phone, asked, WRONG_PIN);
    const first = askedFor(asked.reading, await phone.submitPin(pin));
    const asks = await authorizationsDuring(async () => {
      const { pinToken: _again, ...repeated } = outcomeOf(await phone.submitPin(pin));
      const { pinToken: _once, ...response } = first.response;
      expect(repeated).toEqual(response);
    });
    expect(asks).toBe(0);
    expect(outcomeOf(await enterPin(phone, first)).type).toBe('Approved');
  });
});

describe('the record that the phone has its response', () => {
  /** A row whose response is not recorded yet, as for a tenth of a second, and the job that guards it meanwhile. */
  async function unrecorded(id: string): Promise<void> {
    await untilResponded(installation.database, id);
    await installation.database.query('update transactions set status = $1 where id = $2', [
      Status.ResponseReceivedFromPaymentProcessor,
      id,
    ]);
  }

  test('may be committed between the read of the row and the commit of the PIN', async () => {
    const { database } = installation;
    const phone = installation.phone();
    const asked = await tapForPin(phone);
    await unrecorded(asked.id);
    const recorder = await database.connect();
    try {
      await recorder.query('begin');
      await recorder.query('update transactions set status = $1 where id = $2', [Status.RespondedToPhone, asked.id]);
      const response = enterPin(phone, asked);
      await eventually(async () => {
        const { rowCount } = await database.query('select from pg_locks where not granted');
        expect(rowCount).toBeGreaterThan(0);
      });
      await recorder.query('commit');
      expect(outcomeOf(await response).type).toBe('Approved');
    } finally {
      recorder.release();
    }
  });

  test('is made by the PIN itself if it does not exist', async () => {
    const { database } = installation;
    const phone = installation.phone();
    // The trail of a phone that was faster than the record.
    const responses: string[] = [];
    for (let taps = 0; taps < 10; taps++) {
      const asked = await tapForPin(phone);
      responses.push(outcomeOf(await enterPin(phone, asked)).type);
      await untilResponded(database, asked.id);
      const statuses = (await trailOf(database, asked.id)).filter((entry) => !entry.startsWith('PIN'));
      expect(statuses.slice(3, 6)).toEqual([
        'ResponseReceivedFromPaymentProcessor',
        'RespondedToPhone',
        'RequestReceived',
      ]);
    }
    expect(new Set(responses)).toEqual(new Set(['Approved']));
  });
});

test('a device that was blocked meanwhile may not submit the PIN', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const asked = await tapForPin(phone);
  await database.query('insert into blocked_devices (acquirer_id, device_installation_id) values (1, $1)', [
    phone.deviceInstallationId,
  ]);
  const withoutPin = await phone.sealReading(asked.reading); // 400 until the directory knows
  await eventually(async () => {
    const response = await phone.submitPin({ ...withoutPin, transactionId: asked.id, pinToken: asked.pinToken });
    expect(problemOf(response)).toMatchObject({ status: 403, errorCode: 139 });
  });
  await expectStillAwaited(asked.id);
});

test('a PIN block that the HSM cannot open is a wrong PIN: it counts as an attempt, and nothing is sent', async () => {
  const { database } = installation;
  const phone = installation.phone();
  let asked = await tapForPin(phone);
  const { authorizations } = installation.asked;
  for (const left of [2, 1, 0]) {
    // With another reader's key: it does not decipher to a PIN.
    const withoutPin = await phone.sealReading(asked.reading);
    const ksn = `FFFF54415000000000${left === 2 ? '01' : left === 1 ? '02' : '04'}`;
    const pin = { ...withoutPin, transactionId: asked.id, pinToken: asked.pinToken, pinBlock: '0123456789ABCDEF', ksn };
    const phoneResponse = await phone.submitPin(pin);
    const isLast = left === 0;
    expect(outcomeOf(phoneResponse)).toMatchObject({
      type: 'Declined',
      errorCode: 211,
      isoResponseCode: '',
      isSingleTapAndPin: !isLast,
    });
    if (!isLast) asked = askedFor(asked.reading, phoneResponse);
  }
  expect(installation.asked.authorizations).toBe(authorizations);
  expect(await untilResponded(database, asked.id)).toMatchObject({ disposition: Disposition.Declined, attempt: 4 });
});

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
}

function withClaim(token: string, name: string, value: unknown): string {
  const [header, , signature] = token.split('.');
  const payload = Buffer.from(JSON.stringify({ ...claimsOf(token), [name]: value })).toString('base64url');
  return [header, payload, signature].join('.');
}
