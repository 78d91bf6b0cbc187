import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cancelLink } from '../../src/store/links/commit-links.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import { type ConsoleSession, consoleClient } from '../support/console-client.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { AppPhone, ask, createLink, creationOf, type HandedLink, letExpire, statusOf } from '../support/links.ts';
import { untilResponded } from '../support/transactions.ts';

interface ListedLink {
  readonly id: string;
  readonly acquirerId: number;
  readonly reference: string;
  readonly state: string;
  readonly amount: string;
  readonly disposition: string | null;
}

let installation: Installation;
let operator: ConsoleSession;
beforeAll(async () => {
  installation = await startInstallation();
  operator = await logIn({ acquirerId: 1 }, 'operator');
});
afterAll(async () => {
  await expectInvariants(installation);
  await installation.stop();
});

const { logIn, data, act } = consoleClient(() => installation);
const newForm = () => randomUUID().replaceAll('-', '');
const cancel = (session: ConsoleSession, { id }: HandedLink, formId = newForm(), acquirerId = 1) =>
  act(session, { act: 'cancelLink', acquirerId, id, formId, reason: 'Wrong amount' });
const pay = (link: HandedLink) => new AppPhone(installation, link).pay();

async function read(session: ConsoleSession, filter: object, after?: string[]) {
  const response = await data(session, 'work', { list: 'links', filter, ...(after && { after }) });
  expect(response.status).toBe(200);
  return (await response.json()) as { rows: ListedLink[]; next: string[] | null };
}

async function recorded({ id }: HandedLink) {
  const text = `select actor, after from admin_events where kind = 'link' and subject_id = $1`;
  return (await installation.database.query(text, [id])).rows;
}

describe('cancelling a link', () => {
  test('has the effect of its expiry at once, is recorded with the reason, and a repeated form changes nothing', async () => {
    const link = await createLink(installation);
    const formId = newForm();
    expect((await cancel(operator, link, formId)).status).toBe(204);
    expect((await cancel(operator, link, formId)).status).toBe(204);
    const { expired, expiresAt, disposition } = await statusOf(installation, link.id);
    expect({ expired, disposition }).toEqual({ expired: true, disposition: null });
    expect(Date.parse(String(expiresAt))).toBeLessThanOrEqual(Date.now() + 1_000);
    expect((await ask(installation, link, `/consumer/qrCodeDetails/${link.id}`)).status).toBe(410);
    expect((await pay(link)).status).toBe(410);
    expect(await recorded(link)).toEqual([
      { actor: `user ${operator.username}`, after: { did: 'cancelLink', reason: 'Wrong amount' } },
    ]);
    expect((await cancel(operator, link)).status).toBe(410);
    expect(await creationOf(installation, link.paymentReference)).toBe(200);
  });

  test('is refused while a tap holds the link, and after it was paid; then nothing is recorded', async () => {
    const paid = await createLink(installation);
    expect((await pay(paid)).status).toBe(200);
    const response = await cancel(operator, paid);
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ errorCode: 134 });
    expect(await recorded(paid)).toEqual([]);
    expect(await statusOf(installation, paid.id)).toMatchObject({ expired: false, disposition: 'Approved' });
  });

  test('excludes a tap at the same moment: either the link is paid or it is cancelled', async () => {
    const links = await Promise.all(Array.from({ length: 12 }, () => createLink(installation)));
    await Promise.all(
      links.map(async (link, index) => {
        const wait = new Promise((resolve) => setTimeout(resolve, index * 3));
        const [tap, cancelled] = await Promise.all([pay(link), wait.then(() => cancel(operator, link))]);
        const isPaid = (await statusOf(installation, link.id)).disposition === 'Approved';
        expect(cancelled.status, JSON.stringify(tap.body)).toBe(isPaid ? 409 : 204);
      }),
    );
  });

  test('waits for a tap that is claiming the link', async () => {
    const [link, other] = [await createLink(installation), await createLink(installation)];
    const { body } = await pay(other);
    const { serviceReference } = (body as { onlineAuthorizationResponse: { serviceReference: string } })
      .onlineAuthorizationResponse;
    await untilResponded(installation.database, serviceReference);
    const { database } = installation;
    let cancelling: Promise<unknown> | undefined;
    await inTransaction(database, async (client) => {
      await client.query('select from links where id = $1 for update', [link.id]);
      cancelling = inTransaction(database, (second) =>
        cancelLink(second, { acquirerId: 1, id: link.id }, 'form'),
      ).catch(({ code }) => code);
      // The tap of another link, as if it had claimed this one.
      await client.query('update transactions set consumer_id = $1 where id = $2', [link.id, serviceReference]);
      await client.query('update links set transaction_id = $2 where id = $1', [link.id, serviceReference]);
    });
    expect(await cancelling).toBe('LINK_NOT_CANCELLABLE');
    await database.query('update transactions set consumer_id = $1 where id = $2', [other.id, serviceReference]);
    await database.query('update links set transaction_id = null where id = $1', [link.id]);
  });

  test('cancelling a link of another acquirer is like that of an unknown link; a viewer and a reason with a card number are refused', async () => {
    const link = await createLink(installation);
    const stranger = await logIn({ acquirerId: 2 }, 'admin');
    const statuses = [
      await cancel(stranger, link),
      await cancel(stranger, link, newForm(), 2),
      await cancel(stranger, { ...link, id: randomUUID() }, newForm(), 2),
      await cancel(await logIn({ acquirerId: 1 }, 'viewer'), link),
      await act(operator, {
        act: 'cancelLink',
        acquirerId: 1,
        id: link.id,
        formId: newForm(),
        reason: '4111111111111111',
      }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([404, 404, 404, 403, 400]);
    expect(await statusOf(installation, link.id)).toMatchObject({ expired: false });
  });
});

describe('the list of links', () => {
  test('states the outcome of each link, and finds one with a reference or an id', async () => {
    const [open, paid, expired, cancelled] = await Promise.all(
      Array.from({ length: 4 }, () => createLink(installation)),
    );
    await pay(paid!);
    await letExpire(installation.database, expired!.id);
    await cancel(operator, cancelled!);
    const states: [HandedLink, string][] = [
      [open!, 'open'],
      [paid!, 'paid'],
      [expired!, 'expired'],
      [cancelled!, 'cancelled'],
    ];
    for (const [link, state] of states) {
      for (const reference of [link.paymentReference, link.id])
        expect((await read(operator, { reference })).rows).toMatchObject([{ id: link.id, state }]);
      expect((await read(operator, { state, reference: link.id })).rows).toHaveLength(1);
    }
    const { rows } = await read(operator, { reference: paid!.id });
    expect(rows).toMatchObject([{ amount: 'ZAR 10.00', disposition: 'Approved' }]);
  });

  test('continues without gaps and repeats, and shows an acquirer its own links only', async () => {
    await installation.database.query(`insert into links (acquirer_id, id, integrator_id, merchant_id, kind, type,
        payment_reference, amount_minor, currency, is_consumer_app, expires_at, created_at)
      select m.acquirer_id, gen_random_uuid(), m.integrator_id, m.id, 'link', 1, 'many-' || n, 1000, 'ZAR', true, now(),
        now() - interval '1 day' - (n / 3) * interval '1 s'
      from (select distinct on (acquirer_id) * from merchants order by acquirer_id, id) m, generate_series(1, 70) n`);
    const all = await logIn({ acquirerId: 0 }, 'viewer');
    const to = new Date(Date.now() - 3_600_000).toISOString();
    const rows: ListedLink[] = [];
    for (let page = await read(all, { to }); ; page = await read(all, { to }, page.next!)) {
      rows.push(...page.rows);
      if (!page.next) break;
    }
    expect(new Set(rows.map(({ id }) => id)).size).toBe(140);
    expect(rows).toHaveLength(140);
    const strangers = (await read(await logIn({ acquirerId: 2 }, 'operator'), {})).rows;
    expect(new Set(strangers.map(({ acquirerId }) => acquirerId))).toEqual(new Set([2]));
    expect((await read(operator, { acquirer: 2 })).rows).toEqual([]);
  });
});
