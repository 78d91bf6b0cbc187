import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import { purge } from '../../src/store/transactions/purge.ts';
import { Phone, type PhoneResponse } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { AppPhone, createLink, statusOf } from '../support/links.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { BLOCK } from '../support/stans.ts';
import { storedTransactions, trailOf, untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

/** How many more authorizations the switch received while `during` ran. */
async function authorizationsDuring(during: () => Promise<unknown>): Promise<number> {
  const before = installation.asked.authorizations;
  await during();
  return installation.asked.authorizations - before;
}

const TAP = { amount: '10.00', currency: 'ZAR' } as const;

describe('identical blobs from the same device', () => {
  test('get the stored response, and the switch receives nothing', async () => {
    const phone = installation.phone();
    const sealed = await phone.seal(TAP);
    const first = outcomeOf(await phone.submit(sealed));
    const { id } = await untilResponded(installation.database, first.serviceReference);
    const trail = await trailOf(installation.database, id);
    expect(await authorizationsDuring(async () => expect(outcomeOf(await phone.submit(sealed))).toEqual(first))).toBe(
      0,
    );
    expect(await trailOf(installation.database, id)).toEqual(trail);
  });

  test('get the stored decline', async () => {
    const phone = installation.phone();
    const sealed = await phone.seal({ ...TAP, amount: '10.51' });
    const first = outcomeOf(await phone.submit(sealed));
    expect(first.type).toBe('Declined');
    expect(await authorizationsDuring(async () => expect(outcomeOf(await phone.submit(sealed))).toEqual(first))).toBe(
      0,
    );
  });

  test('wait for the response while the first request still runs', async () => {
    const phone = installation.phone();
    const sealed = await phone.seal({ ...TAP, amount: '20.20' });
    const asked = await authorizationsDuring(async () => {
      const first = phone.submit(sealed);
      const before = installation.asked.authorizations;
      await eventually(() => expect(installation.asked.authorizations).toBe(before + 1));
      const second = await phone.submit(sealed);
      expect(outcomeOf(second)).toEqual(outcomeOf(await first));
      expect(outcomeOf(second).type).toBe('Approved');
    });
    expect(asked).toBe(1);
  });

  test('submitted a hundred times at once make one authorization and one response', async () => {
    const phone = installation.phone();
    const sealed = await phone.seal(TAP);
    const asked = await authorizationsDuring(async () => {
      const responses = await Promise.all(Array.from({ length: 100 }, () => phone.submit(sealed)));
      const [first, ...others] = responses.map(outcomeOf);
      expect(first?.type).toBe('Approved');
      for (const other of others) expect(other).toEqual(first);
    });
    expect(asked).toBe(1);
  });

  test('identical blobs from the same device after a refusal are refused again, and have one row', async () => {
    const phone = installation.phone();
    const sealed = await phone.seal({ ...TAP, tamper: (values) => values.delete(0x9f02) });
    expect(problemOf(await phone.submit(sealed))).toMatchObject({ status: 400, errorCode: 104 });
    expect(problemOf(await phone.submit(sealed))).toMatchObject({ status: 400, errorCode: 104 });
    const { rowCount } = await installation.database.query(
      'select from transactions where merchant_reference = $1 and status = 0',
      [sealed.merchantReference],
    );
    expect(rowCount).toBe(1);
  });
});

describe('a used reference', () => {
  test('is refused to another device with 403', async () => {
    const phone = installation.phone();
    const sealed = await phone.seal(TAP);
    outcomeOf(await phone.submit(sealed));
    const response = problemOf(await installation.phone().submit(sealed));
    expect(response).toMatchObject({ status: 403, errorCode: 101 });
  });

  test('is refused to another user of the same device with 403', async () => {
    const phone = installation.phone();
    const sealed = await phone.seal(TAP);
    outcomeOf(await phone.submit(sealed));
    const profile = installation.profile();
    const other = new Phone(
      { ...profile, merchant: { ...profile.merchant, user: 'another user' } },
      phone.deviceInstallationId,
    );
    expect(problemOf(await other.submit(sealed))).toMatchObject({ status: 403, errorCode: 101 });
  });

  test.each([
    ['approved', '10.00'],
    ['declined', '10.51'],
    ['Indeterminate', '10.88'],
  ])('a used reference for a tap that was %s is refused to other blobs with 409', async (_outcome, amount) => {
    const phone = installation.phone();
    const merchantReference = randomUUID();
    outcomeOf(await phone.tap({ ...TAP, amount, merchantReference }));
    const asked = await authorizationsDuring(async () => {
      const response = problemOf(await phone.tap({ ...TAP, amount, merchantReference }));
      expect(response).toMatchObject({ status: 409, errorCode: 124 });
    });
    expect(asked).toBe(0);
  });

  test("is refused to the app of another link, even if nothing of the link's own tap reached a switch", async () => {
    const [link, other] = [await createLink(installation), await createLink(installation)];
    const stranger = new AppPhone(installation, other);
    const phone = new AppPhone(installation, link, stranger.deviceInstallationId);
    const tamper = (values: Map<number, Uint8Array>) => void values.delete(0x9f02);
    expect(problemOf(await phone.pay({ tamper }))).toMatchObject({ status: 400 });
    const { paymentReference: merchantReference } = link;
    expect(problemOf(await stranger.pay({ merchantReference }))).toMatchObject({ status: 403, errorCode: 101 });
    expect(outcomeOf(await phone.pay()).type).toBe('Approved');
    expect(await statusOf(installation, other.id)).toMatchObject({ transactionId: null });
  });

  test('is refused to all but one of a hundred different taps at once', async () => {
    const phone = installation.phone();
    const merchantReference = randomUUID();
    const sealed = await Promise.all(Array.from({ length: 100 }, () => phone.seal({ ...TAP, merchantReference })));
    const asked = await authorizationsDuring(async () => {
      const responses = await Promise.all(sealed.map((tap) => phone.submit(tap)));
      // A tap that could not be sent in time leaves the reference to the next one.
      const responded = responses.filter(({ status }) => status === 200).map((response) => outcomeOf(response).type);
      expect(responded.filter((type) => type !== 'UnableToGoOnline')).toEqual(['Approved']);
      expect(responses.filter(({ status }) => status === 409)).toHaveLength(100 - responded.length);
    });
    expect(asked).toBe(1);
  });

  test('is free for every other merchant', async () => {
    const merchantReference = randomUUID();
    for (const merchant of ['coffee', 'bakery', 'tailor'] as const) {
      const response = await installation.phone(merchant).tap({ ...TAP, merchantReference });
      expect(outcomeOf(response).type).toBe('Approved');
    }
  });
});

/** Numbers that gateways have reserved for messages of the acquirer. */
async function reservedStans(): Promise<number> {
  const { rows } = await installation.database.query<{ next: string }>(
    `select next_value as next from stan_blocks where scope = '1'`,
  );
  return Number(rows[0]!.next);
}

/** Several at once, as from phones that do not wait. */
const AT_ONCE = 30;

test.each<[string, (phone: Phone, sealed: TapRequest) => Promise<PhoneResponse>, number[]]>([
  ['repeats of a tap with a response', (phone, sealed) => phone.submit(sealed), [200]],
  ['other taps under its reference', (phone, { merchantReference }) => phone.tap({ ...TAP, merchantReference }), [409]],
  [
    "another merchant's copies of it",
    (phone, sealed) => installation.phone('bakery', phone.deviceInstallationId).submit(sealed),
    [400, 409],
  ],
])('%s use up no STANs', async (_what, submit, statuses) => {
  const phone = installation.phone();
  const sealed = await phone.seal(TAP);
  expect(outcomeOf(await phone.submit(sealed)).type).toBe('Approved');
  const before = await reservedStans();
  for (let sent = 0; sent < 7 * AT_ONCE; sent += AT_ONCE) {
    const responses = await Promise.all(Array.from({ length: AT_ONCE }, () => submit(phone, sealed)));
    expect(responses.filter(({ status }) => !statuses.includes(status))).toEqual([]);
  }
  // The process may have been at the end of its block.
  expect(await reservedStans()).toBeLessThanOrEqual(before + BLOCK);
  const { serviceReference, type } = outcomeOf(await phone.tap(TAP));
  expect(type).toBe('Approved');
  const { stan } = (await storedTransactions(installation.database)).find(({ id }) => id === serviceReference)!;
  const used = (await storedTransactions(installation.database)).filter((stored) => stored.stan === stan);
  expect(used).toHaveLength(1);
});

describe('a reference that has not reached a switch is used again as a new attempt of the same transaction', () => {
  test('a reference is used again after the card data was refused', async () => {
    const phone = installation.phone();
    const merchantReference = randomUUID();
    problemOf(
      await phone.tap({ ...TAP, merchantReference, tamper: (values) => values.delete(0x9f26) && values.delete(0x57) }),
    );
    const { serviceReference, type } = outcomeOf(await phone.tap({ ...TAP, merchantReference }));
    expect(type).toBe('Approved');
    await untilResponded(installation.database, serviceReference);
    const rows = (await storedTransactions(installation.database)).filter(({ id }) => id === serviceReference);
    expect(rows).toMatchObject([{ attempt: 2 }]);
    expect(await trailOf(installation.database, serviceReference)).toEqual([
      'BadRequestReceived',
      'RequestReceived',
      'ReadyToSubmitToPaymentProcessor',
      'SubmittedToPaymentProcessor',
      'ResponseReceivedFromPaymentProcessor',
      'RespondedToPhone',
    ]);
  });

  test('a reference is used again after the card declined offline', async () => {
    const phone = installation.phone();
    const merchantReference = randomUUID();
    const tamper = (values: Map<number, Uint8Array>) => void values.set(0x9f27, Uint8Array.of(0x00));
    const first = outcomeOf(await phone.tap({ ...TAP, merchantReference, tamper }));
    expect(first.type).toBe('DeclinedOffline');
    await untilResponded(installation.database, first.serviceReference);
    const second = outcomeOf(await phone.tap({ ...TAP, merchantReference }));
    expect(second).toMatchObject({ type: 'Approved', serviceReference: first.serviceReference });
  });

  /** A tap that the card declined, as if it had been submitted on an earlier day. */
  async function declinedOffline(merchantReference: string, phone: Phone, daysAgo: number): Promise<string> {
    const tamper = (values: Map<number, Uint8Array>) => void values.set(0x9f27, Uint8Array.of(0x00));
    const { serviceReference: id } = outcomeOf(await phone.tap({ ...TAP, merchantReference, tamper }));
    await untilResponded(installation.database, id);
    await letPass(id, daysAgo);
    return id;
  }

  const letPass = (id: string, days: number) =>
    installation.database.query(
      `update transactions set created_at = created_at - $2 * interval '1 day', sent_at = sent_at - $2 * interval '1 day' where id = $1`,
      [id, days],
    );

  test('a reference of months ago is used again, and the card is kept as long as that of any tap', async () => {
    const { database } = installation;
    const phone = installation.phone();
    const merchantReference = randomUUID();
    const id = await declinedOffline(merchantReference, phone, 70);
    const hasCardAfterPurge = async () => {
      await purge(database, { cardDays: 60, auditDays: 2_557, webhookDays: 30, linkDays: 180, messageDays: 30 });
      const text = `select sealed_card is not null as "hasCard" from transactions where id = $1`;
      return (await database.query(text, [id])).rows[0].hasCard;
    };
    expect(await hasCardAfterPurge()).toBe(false);
    const again = outcomeOf(await phone.tap({ ...TAP, merchantReference }));
    expect(again).toMatchObject({ type: 'Approved', serviceReference: id });
    await untilResponded(database, id);
    expect(await hasCardAfterPurge()).toBe(true);
    await letPass(id, 59);
    expect(await hasCardAfterPurge()).toBe(true);
    await letPass(id, 2);
    expect(await hasCardAfterPurge()).toBe(false);
    expect((await database.query('select from purge_held_cards where transaction_id = $1', [id])).rowCount).toBe(0);
  });

  test('a reference is not used again after 180 days, because its month may be archived during the attempt', async () => {
    const phone = installation.phone();
    const merchantReference = randomUUID();
    await declinedOffline(merchantReference, phone, 181);
    const sent = await authorizationsDuring(async () =>
      expect(problemOf(await phone.tap({ ...TAP, merchantReference }))).toMatchObject({ status: 409, errorCode: 124 }),
    );
    expect(sent).toBe(0);
  });

  test('a reference is used again at most fifty times; then every tap is refused', async () => {
    const phone = installation.phone();
    const merchantReference = randomUUID();
    const tamper = (values: Map<number, Uint8Array>) => void values.set(0x9f27, Uint8Array.of(0x00));
    for (let attempt = 1; attempt <= 50; attempt++) {
      const { type, serviceReference } = outcomeOf(await phone.tap({ ...TAP, merchantReference, tamper }));
      expect(type).toBe('DeclinedOffline');
      await untilResponded(installation.database, serviceReference);
    }
    for (const tap of [
      { ...TAP, merchantReference, tamper },
      { ...TAP, merchantReference },
    ])
      expect(problemOf(await phone.tap(tap))).toMatchObject({ status: 409, errorCode: 124 });
  });
});
