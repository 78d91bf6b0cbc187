import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleSession, consoleClient } from '../support/console-client.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { sellApproved, storedSale } from '../support/refunds.ts';

const INSTALLATION = { acquirerId: 0 };
const LISTS = ['webhooks', 'links', 'jobs', 'processors', 'routes', 'users', 'audit'];

interface WorkPage {
  readonly rows: (Record<string, unknown> & { id: string; acquirerId: number })[];
  readonly next: string[] | null;
}

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
  // No job of these tests is worked on.
  const died = `insert into pgboss.job (name, data, source_name, source_output, source_created_on, created_on)
    select 'dead-letters', json_build_object('acquirerId', 1 + n % 2, 'id', gen_random_uuid(), 'attempt', 1, 'pan', '4111111111111111'),
      'expire-pin', '{"reason":"the switch is silent"}', now(), now() - n * interval '1 s' from generate_series(1, 120) n`;
  await installation.database.query(died);
});
afterAll(() => installation.stop());

const { logIn, data, act, look, post } = consoleClient(() => installation);

async function read(session: ConsoleSession, list: string, filter: object = {}, after?: unknown): Promise<WorkPage> {
  const response = await data(session, 'work', { list, filter, ...(after !== undefined && { after }) });
  expect(response.status).toBe(200);
  return (await response.json()) as WorkPage;
}

async function readAll(session: ConsoleSession, list: string, filter: object = {}) {
  const rows = [];
  for (let page = await read(session, list, filter); ; page = await read(session, list, filter, page.next!)) {
    rows.push(...page.rows);
    if (!page.next) return rows;
  }
}

describe('the lists of the work view', () => {
  test('show an acquirer its own rows, and the installation all', async () => {
    const [own, all] = [await logIn({ acquirerId: 2 }, 'operator'), await logIn(INSTALLATION, 'operator')];
    await logIn({ acquirerId: 1 }, 'operator');
    for (const list of ['processors', 'routes', 'users']) {
      const seen = (await readAll(own, list)).map(({ acquirerId }) => acquirerId);
      expect([...new Set(seen)], list).toEqual([2]);
      expect((await readAll(all, list)).length, list).toBeGreaterThan(seen.length);
      expect((await read(own, list, { acquirer: 1 })).rows).toEqual([]);
    }
    const jobs = await readAll(own, 'jobs', { state: 'dead' });
    expect(jobs).toHaveLength(60);
    expect(JSON.stringify(jobs)).not.toContain('4111111111111111');
    expect(jobs[0]).toMatchObject({
      queue: 'expire-pin',
      state: 'dead',
      error: 'the switch is silent',
      names: { acquirerId: 2 },
    });
  });

  test('continue after the last row of a page, without gaps and repeats', async () => {
    const session = await logIn(INSTALLATION, 'viewer');
    const rows = await readAll(session, 'jobs', { queue: 'expire-pin', state: 'dead' });
    expect(new Set(rows.map(({ id }) => id)).size).toBe(120);
    expect(rows).toHaveLength(120);
  });

  test('refuse a position of another list, and unknown filters', async () => {
    const session = await logIn(INSTALLATION, 'operator');
    for (const list of LISTS)
      expect((await data(session, 'work', { list, filter: {}, after: ['x', 'y'] })).status, list).not.toBe(500);
    expect((await data(session, 'work', { list: 'jobs', filter: {}, after: ['x', 'y'] })).status).toBe(400);
    expect((await data(session, 'work', { list: 'jobs', filter: { pan: '1' } })).status).toBe(400);
    expect((await data(session, 'work', { list: 'api_keys', filter: {} })).status).toBe(400);
  });

  test('the lists of the work view of users and changes are for those who may act', async () => {
    const session = await logIn({ acquirerId: 1 }, 'viewer');
    for (const list of LISTS)
      expect((await data(session, 'work', { list, filter: {} })).status, list).toBe(
        ['users', 'audit'].includes(list) ? 403 : 200,
      );
  });
});

describe('the webhooks of a filter', () => {
  async function failedEvents(acquirerId: number, merchantId: string, state: string): Promise<string[]> {
    const ids = [randomUUID(), randomUUID(), randomUUID()];
    const { rows } = await installation.database.query(
      'select integrator_id from merchants where acquirer_id = $1 and id = $2',
      [acquirerId, merchantId],
    );
    for (const id of ids) {
      await installation.database.query(
        `insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, state, attempts)
         values ($1, $2, $3, $2, $2, 'transaction.completed', '{}', $4, 1)`,
        [acquirerId, id, rows[0].integrator_id, state],
      );
      await installation.database.query(
        `insert into webhook_attempts (acquirer_id, event_id, number, at, url, status, error, duration_ms)
         values ($1, $2, 1, now(), 'https://shop.example', null, 'refused', 5)`,
        [acquirerId, id],
      );
    }
    return ids;
  }

  test('are listed with the reason of the last failure, and replayed once by two who do so at once', async () => {
    const { database } = installation;
    const [failed, stopped] = [await failedEvents(1, '1001', 'failed'), await failedEvents(1, '1001', 'stopped')];
    const session = await logIn({ acquirerId: 1 }, 'operator');
    const { rows } = await read(session, 'webhooks', { state: 'failed' });
    expect(rows.map(({ id }) => id).sort()).toEqual([...failed].sort());
    expect(rows[0]).toMatchObject({ error: 'refused', status: null, attempts: 1 });
    expect((await read(await logIn({ acquirerId: 2 }, 'operator'), 'webhooks')).rows).toEqual([]);

    const wanted = { act: 'replayWebhooks', filter: { state: 'failed' } };
    expect((await act(await logIn({ acquirerId: 1 }, 'viewer'), wanted)).status).toBe(403);
    expect((await act(session, { act: 'replayWebhooks', filter: {} })).status).toBe(400);
    expect((await act(await logIn({ acquirerId: 2 }, 'operator'), wanted)).status).toBe(204);
    const responses = await Promise.all([act(session, wanted), act(session, wanted)]);
    expect(responses.map(({ status }) => status)).toEqual([204, 204]);
    const rounds = 'select distinct round from webhook_events where id = any($1::uuid[])';
    expect((await database.query(rounds, [failed])).rows).toEqual([{ round: 2 }]);
    expect((await database.query(rounds, [stopped])).rows).toEqual([{ round: 1 }]);
    const recorded = await database.query(
      `select actor, after from admin_events where kind = 'webhook event' and subject_id = 'several' order by id limit 1`,
    );
    expect(recorded.rows).toMatchObject([
      { actor: `user ${session.username}`, after: { did: 'replayWebhooks', events: 3, filter: { state: 'failed' } } },
    ]);
  });
});

describe('a refund', () => {
  const PATH = '/ops/refunds';
  const form = () => randomUUID().replaceAll('-', '');
  const send = (session: ConsoleSession, body: object) =>
    post(PATH, body, { cookie: session.cookie, 'x-csrf-token': session.csrf });
  const wanted = (id: string, more: object = {}) => ({
    ...{ acquirerId: 1, id, amount: '4.00', formId: form(), reason: 'Returned goods', ...more },
  });
  const refundsOf = async (id: string) => {
    const text = 'select count(*)::int from transactions where original_id = $1';
    return (await installation.database.query(text, [id])).rows[0].count;
  };
  const refundable = async (session: ConsoleSession, id: string) =>
    ((await (await look(session, id)).json()) as { summary: { refundable: unknown } }).summary.refundable;

  test('returns a part, shows what is left, and is recorded with its reason', async () => {
    const session = await logIn({ acquirerId: 1 }, 'operator');
    const id = await sellApproved(installation, '10.00');
    expect(await refundable(session, id)).toEqual({ currency: 'ZAR', amount: '10.00' });
    const response = await send(session, wanted(id));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ id: expect.any(String), disposition: 'Approved' });
    expect(await refundable(session, id)).toEqual({ currency: 'ZAR', amount: '6.00' });
    const tooMuch = await send(session, wanted(id, { amount: '6.01' }));
    expect(tooMuch.status).toBe(409);
    expect(((await tooMuch.json()) as { detail: string }).detail).toBe(
      'The amount exceeds the refundable balance of the sale.',
    );
    expect((await send(session, wanted(id, { amount: '6.001' }))).status).toBe(400);
    expect((await send(session, wanted(id, { amount: '6' }))).status).toBe(200);
    expect(await refundable(session, id)).toBeNull();
    const text = `select actor, kind, after from admin_events where subject_id = $1 order by id limit 1`;
    expect((await installation.database.query(text, [id])).rows).toMatchObject([
      {
        actor: `user ${session.username}`,
        kind: 'transactions',
        after: { did: 'refundSale', amount: '4.00', reason: 'Returned goods' },
      },
    ]);
    await expectInvariants(installation);
  });

  test('sent twice from one form is one refund, and another amount from it is refused', async () => {
    const session = await logIn({ acquirerId: 1 }, 'operator');
    const id = await sellApproved(installation, '10.00');
    const body = wanted(id);
    const responses = await Promise.all([send(session, body), send(session, body)]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    const [first, second] = await Promise.all(responses.map((response) => response.json()));
    expect(second).toEqual(first);
    expect(await refundsOf(id)).toBe(1);
    expect((await send(session, { ...body, amount: '5.00' })).status).toBe(409);
    expect(await storedSale(installation.database, id)).toMatchObject({ refundedMinor: 400 });
  });

  test('is refused to viewers, to other acquirers, without the token, and with a card number', async () => {
    const id = await sellApproved(installation, '10.00');
    const operator = await logIn({ acquirerId: 1 }, 'operator');
    const stranger = await logIn({ acquirerId: 2 }, 'operator');
    expect((await send(await logIn({ acquirerId: 1 }, 'viewer'), wanted(id))).status).toBe(403);
    expect((await send(stranger, wanted(id))).status).toBe(404);
    expect((await send(stranger, wanted(id, { acquirerId: 2 }))).status).toBe(404);
    expect((await send({ ...operator, csrf: 'x' }, wanted(id))).status).toBe(403);
    expect((await send(operator, wanted(id, { reason: 'Card 4111111111111111' }))).status).toBe(400);
    expect(await refundsOf(id)).toBe(0);
    const none = await installation.database.query('select from admin_events where subject_id = $1', [id]);
    expect(none.rowCount).toBe(0);
  });
});
