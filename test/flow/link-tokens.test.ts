import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Phone } from '../../src/tools/phone/phone.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import {
  AppPhone,
  ask,
  createLink,
  type HandedLink,
  letExpire,
  linkBody,
  offeredReference,
  post,
} from '../support/links.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { untilResponded } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  // Requests here must be refused for their reference, not for their number.
  installation = await startInstallation({ role: 'none', settings: { TAPS_PER_LINK: '0' } });
  await installation.database.query(`update routes set currency = 'EUR' where acquirer_id = 2`);
  await installation.startGateway();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const TAP = { amount: '10.00', currency: 'ZAR' };
/** A blob that opens and cannot be used. */
const SPOILED = { tamper: (values: Map<number, Uint8Array>) => void values.delete(0x57) };

const create = (changes?: Record<string, unknown>, path?: string) => createLink(installation, changes, path);
const app = (link: HandedLink, device?: string) => new AppPhone(installation, link, device);
const offered = (link: HandedLink) => offeredReference(installation, link);

async function rowsOf(merchantReference: string): Promise<number> {
  const text = 'select from transactions where merchant_reference = $1';
  return (await installation.database.query(text, [merchantReference])).rowCount ?? 0;
}

async function tapOnOwn(merchantReference: string) {
  const session = await post(installation, '/refresh/intentSessionToken', { merchantId: '1001' });
  const { token } = session.body as { token: string };
  return ask(installation, { token }, `/consumer/taponown/${merchantReference}`);
}

describe('the token of a link', () => {
  test.each([
    ['a link', '/consumer/applink', {}],
    ['an intent', '/consumer/intentTransaction', {}],
  ])('pays no other order: %s of 10.00 is not accepted under the reference of the SDK', async (_what, path, changes) => {
    const link = await create(changes, path);
    const order = `sdk-order-${randomUUID()}`;
    const authorizations = installation.asked.authorizations;
    expect(problemOf(await app(link).pay({ merchantReference: order }))).toMatchObject({ status: 403, errorCode: 101 });
    expect(installation.asked.authorizations).toBe(authorizations);
    expect(await rowsOf(order)).toBe(0);
    expect(problemOf(await tapOnOwn(order))).toMatchObject({ status: 404, errorCode: 122 });
    expect(outcomeOf(await app(link).pay()).type).toBe('Approved');
  });

  test('admits neither its own id nor the reference of another link', async () => {
    const [link, other] = [await create(), await create()];
    for (const merchantReference of [link.id, other.id, other.paymentReference, await offered(other)]) {
      const response = await app(link).pay({ merchantReference });
      expect(problemOf(response)).toMatchObject({ status: 403, errorCode: 101 });
      expect(await rowsOf(merchantReference)).toBe(0);
    }
    expect(outcomeOf(await app(other).pay()).type).toBe('Approved');
  });

  test('admits the reference in the details after a decline, and a repeat of the previous tap', async () => {
    const link = await create({ amount: '10.51' });
    const phone = app(link);
    const first = await phone.seal({ amount: '10.51', currency: 'ZAR', merchantReference: link.paymentReference });
    const declined = outcomeOf(await phone.submit(first));
    expect(declined.type).toBe('Declined');
    const merchantReference = await offered(link);
    expect(merchantReference).not.toBe(link.paymentReference);
    const second = await phone.seal({ amount: '10.51', currency: 'ZAR', merchantReference });
    const again = outcomeOf(await phone.submit(second));
    expect(again.serviceReference).not.toBe(declined.serviceReference);
    // The details now contain a third reference, and both responses are still available.
    expect(await offered(link)).not.toBe(merchantReference);
    for (const [tap, { serviceReference }] of [
      [first, declined],
      [second, again],
    ] as const) {
      expect(outcomeOf(await phone.submit(tap)).serviceReference).toBe(serviceReference);
    }
  });

  test('submits a PIN under no other reference', async () => {
    const link = await create({ amount: '50.05' });
    const phone = app(link);
    const { serviceReference, pinToken } = outcomeOf(await phone.pay({ amount: '50.05' }));
    const send = (merchantReference: string) =>
      request(installation.url, `/transactions/${serviceReference}/submitPinMobile`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${link.token}`,
          'content-type': 'application/json',
          'x-device-installation-id': phone.deviceInstallationId,
        },
        body: JSON.stringify({ merchantReference, pinToken, generalCardData: 'AA', paymentCardData: 'AA' }),
      });
    expect(problemOf(await send('sdk-order'))).toMatchObject({ status: 403, errorCode: 101 });
    expect(problemOf(await send(await offered(link)))).toMatchObject({ status: 400, errorCode: 104 });
    expect(await rowsOf('sdk-order')).toBe(0);
  });

  test('uses up no reference of the tills: 300 in a row are refused and leave no row', async () => {
    const link = await create();
    const phone = app(link);
    const references = Array.from({ length: 300 }, (_, index) => `till-${link.id}-${index}`);
    for (const merchantReference of references) {
      expect((await phone.pay({ merchantReference, ...SPOILED })).status).toBe(403);
    }
    const { rowCount } = await installation.database.query(
      'select from transactions where merchant_reference like $1',
      [`till-${link.id}-%`],
    );
    expect(rowCount).toBe(0);
    for (const merchantReference of [references[0]!, references[299]!]) {
      expect(outcomeOf(await installation.phone().tap({ ...TAP, merchantReference })).type).toBe('Approved');
    }
  });

  test('leaves no row of a spoiled tap, a hundred times at once, and the next one pays', async () => {
    const link = await create();
    const spoiled = await Promise.all(Array.from({ length: 100 }, () => app(link).pay(SPOILED)));
    for (const response of spoiled) expect(problemOf(response)).toMatchObject({ status: 400, errorCode: 202 });
    expect(await rowsOf(link.paymentReference)).toBe(0);
    const tap = { ...TAP, merchantReference: link.paymentReference };
    expect(outcomeOf(await installation.phone().tap(tap)).type).toBe('Approved');
  });

  test('leaves no row if nothing is configured for its merchant', async () => {
    // The tailor's acquirer has no route for rand.
    const headers = { 'x-api-key': await installation.apiKey({ acquirerId: 2, integratorId: 20 }) };
    const { paymentReference, ...body } = linkBody('tailor');
    const made = await post(installation, '/consumer/intentTransaction', { ...body, paymentReference }, headers);
    const link = { ...(made.body as { id: string; token: string }), paymentReference };
    expect(problemOf(await app(link).pay())).toMatchObject({ status: 500, errorCode: 208 });
    expect(await rowsOf(paymentReference)).toBe(0);
  });
});

describe('too many taps', () => {
  test('too many taps with the token of a link are 429, and the tills of its merchant are not affected', async () => {
    const limited = await installation.startGateway({ TAPS_PER_LINK: '1', TAPS_PER_MERCHANT: '1' });
    try {
      const link = await create();
      const headers = {
        authorization: `Bearer ${link.token}`,
        'content-type': 'application/json',
        'x-device-installation-id': 'device',
      };
      const body = JSON.stringify({ merchantReference: 'till', generalCardData: 'AA', paymentCardData: 'AA' });
      const submit = () => request(limited.url, '/transactions/mobile', { method: 'POST', headers, body });
      const responses = await Promise.all(Array.from({ length: 40 }, submit));
      const refused = responses.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(0);
      expect(refused[0]!.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(refused[0]!.headers.get('ratelimit')).toContain('"link"');
      expect(problemOf({ ...refused[0]!, ms: 0 })).toMatchObject({ errorCode: 203 });
      expect(outcomeOf(await installation.phoneAt(limited.url).tap(TAP)).type).toBe('Approved');
    } finally {
      await limited.stop();
    }
  });
});

describe('a reference that has not reached a switch', () => {
  test.each([
    ['device', 'till-1'],
    ['user', 'till-2'],
  ])('belongs to no %s: a blob that one phone spoils does not exclude the next one', async (_what, user) => {
    const merchantReference = randomUUID();
    const spoiled = problemOf(await installation.phone().tap({ ...TAP, ...SPOILED, merchantReference }));
    expect(spoiled).toMatchObject({ status: 400, errorCode: 202 });
    const profile = installation.profile();
    const next = new Phone({ ...profile, merchant: { ...profile.merchant, user } });
    const paid = outcomeOf(await next.tap({ ...TAP, merchantReference }));
    expect(paid.type).toBe('Approved');
    const { rows } = await installation.database.query(
      'select attempt, device_installation_id as device from transactions where merchant_reference = $1',
      [merchantReference],
    );
    expect(rows).toEqual([{ attempt: 2, device: next.deviceInstallationId }]);
  });

  test('is available to the next phone after the card declined offline, and to one of many that tap at once', async () => {
    const merchantReference = randomUUID();
    const tamper = (values: Map<number, Uint8Array>) => void values.set(0x9f27, Uint8Array.of(0));
    const refused = outcomeOf(await installation.phone().tap({ ...TAP, tamper, merchantReference }));
    expect(refused.type).toBe('DeclinedOffline');
    await untilResponded(installation.database, refused.serviceReference);
    const before = installation.ledger.length;
    const responses = await Promise.all(
      Array.from({ length: 100 }, () => installation.phone().tap({ ...TAP, merchantReference })),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status } of responses) expect([200, 403, 409]).toContain(status);
    expect(installation.ledger).toHaveLength(before + 1);
  });

  test('belongs to the device and user that tapped when something may have reached a switch', async () => {
    const merchantReference = randomUUID();
    expect(
      outcomeOf(await installation.phone().tap({ amount: '10.51', currency: 'ZAR', merchantReference })).type,
    ).toBe('Declined');
    const response = await installation.phone().tap({ ...TAP, merchantReference });
    expect(problemOf(response)).toMatchObject({ status: 403, errorCode: 101 });
  });

  test('is free for another link with the same paymentReference, and for a till after the link has expired', async () => {
    const tamper = (values: Map<number, Uint8Array>) => void values.set(0x9f27, Uint8Array.of(0));
    const first = await create();
    const refused = outcomeOf(await app(first).pay({ tamper }));
    expect(refused.type).toBe('DeclinedOffline');
    await untilResponded(installation.database, refused.serviceReference);
    await letExpire(installation.database, first.id);
    const second = await create({ paymentReference: first.paymentReference });
    const paid = outcomeOf(await app(second).pay());
    expect(paid).toMatchObject({ type: 'Approved', serviceReference: refused.serviceReference });
  });
});

describe('tap-on-own', () => {
  test('reports amount and currency, so that an order can be compared with its payment', async () => {
    const merchantReference = randomUUID();
    outcomeOf(await installation.phone().tap({ ...TAP, merchantReference }));
    expect(await tapOnOwn(merchantReference)).toMatchObject({
      status: 200,
      body: { merchantReference, disposition: 'Approved', amount: '10.00', currency: 'ZAR' },
    });
  });

  test('of a refused tap has the amount that was read, or none', async () => {
    const reported = async (tags: readonly number[]) => {
      const merchantReference = randomUUID();
      const tamper = (values: Map<number, Uint8Array>) => {
        for (const tag of tags) values.delete(tag);
      };
      await installation.phone().tap({ ...TAP, tamper, merchantReference });
      return (await tapOnOwn(merchantReference)).body;
    };
    const [track2, amount] = [0x57, 0x9f02];
    expect(await reported([track2])).toMatchObject({ disposition: null, amount: '10.00', currency: 'ZAR' });
    expect(await reported([track2, amount])).toMatchObject({ disposition: null, amount: null, currency: null });
  });
});
