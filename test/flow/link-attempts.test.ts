import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { outcomeOf, problemOf } from '../support/answers.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import {
  AppPhone,
  createLink,
  creationOf,
  type HandedLink,
  letExpire,
  offeredReference,
  statusOf,
} from '../support/links.ts';
import { voidSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { untilAnswered } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

const create = (changes?: Record<string, unknown>) => createLink(installation, changes);
const offered = (link: HandedLink) => offeredReference(installation, link);

/** Pays as a phone does that has just fetched the details of the link. */
async function pay(link: HandedLink, amount = '10.00') {
  return new AppPhone(installation, link).pay({ amount, merchantReference: await offered(link) });
}

async function payState(link: HandedLink) {
  const headers = { authorization: `Bearer ${link.token}` };
  return (await request(installation.url, `/pay/${link.id}/state`, { headers })).body as Record<string, unknown>;
}

describe('a link whose sale the merchant voids', () => {
  async function createVoidedLink(): Promise<HandedLink> {
    const link = await create();
    const { serviceReference } = outcomeOf(await pay(link));
    await untilAnswered(installation.database, serviceReference);
    expect((await voidSale(installation, serviceReference)).status).toBe(202);
    await eventually(async () => {
      expect(await statusOf(installation, link.id)).toMatchObject({ disposition: 'Voided' });
    });
    return link;
  }

  test('stays closed: no phone and no till pays it again, and its reference stays used', async () => {
    const link = await createVoidedLink();
    const authorizations = installation.asked.authorizations;
    expect(problemOf(await pay(link))).toMatchObject({ status: 409, errorCode: 124 });
    const till = { amount: '10.00', currency: 'ZAR', merchantReference: link.id };
    expect(problemOf(await installation.phone().tap(till))).toMatchObject({ status: 409, errorCode: 124 });
    expect(await creationOf(installation, link.paymentReference)).toBe(409);
    await letExpire(installation.database, link.id);
    expect(problemOf(await installation.phone().tap(till))).toMatchObject({ status: 409, errorCode: 124 });
    expect(await creationOf(installation, link.paymentReference)).toBe(409);
    expect(installation.asked.authorizations).toBe(authorizations);
  });

  test('reports to its pay page that it cannot be paid again', async () => {
    const link = await create({ amount: '10.51' });
    expect(outcomeOf(await pay(link, '10.51')).type).toBe('Declined');
    expect(await payState(link)).toMatchObject({ disposition: 'Declined', cancelled: false });
    expect(await payState(await createVoidedLink())).toMatchObject({ disposition: 'Voided', cancelled: true });
  });
});

test('a till that taps a link with the reference of its customer is too late, like the next customer', async () => {
  const link = await create();
  expect(outcomeOf(await new AppPhone(installation, link).pay()).type).toBe('Approved');
  for (const phone of [installation.phone(), new AppPhone(installation, link)]) {
    const tap = { amount: '10.00', currency: 'ZAR', merchantReference: link.paymentReference };
    expect(problemOf(await phone.tap(tap))).toMatchObject({ status: 409, errorCode: 124 });
  }
});
