import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OnlineAuthorization } from '../../schemas/mobile-transaction.ts';
import type { Frame } from '../../src/console/frame.ts';
import type { TransactionStory } from '../../src/console/transaction-story.ts';
import { type ConsoleSession, consoleClient } from '../support/console-client.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { refundSale, sellApproved } from '../support/refunds.ts';

/** Users of the installation itself. */
const INSTALLATION = { acquirerId: 0 };
/** Of the simulated card. */
const PAN = '4111111111111111';

let installation: Installation;
let approved: string;
let reference: string;
let garbled: string;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
  const tap = async (amount: string) => {
    const { body } = await installation.phone().tap({ amount, currency: 'ZAR' });
    return (body as { onlineAuthorizationResponse: OnlineAuthorization }).onlineAuthorizationResponse.serviceReference;
  };
  approved = await tap('10.00');
  garbled = await tap('10.97');
  const { rows } = await installation.database.query('select merchant_reference from transactions where id = $1', [
    approved,
  ]);
  reference = rows[0].merchant_reference;
});
afterAll(() => installation.stop());

const { call, post, data, logIn, list, search, look, act, frame } = consoleClient(() => installation);

async function recorded(id: string) {
  const text = `select acquirer_id, actor, action, kind, after from admin_events where subject_id = $1 order by id`;
  return (await installation.database.query(text, [id])).rows;
}

describe('the page', () => {
  test('loads only its own parts, with a policy that allows no other origin', async () => {
    const page = await call('/ops');
    const policy = page.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const html = await page.text();
    expect(html).not.toMatch(/<script>|<style|style=|\son\w+=|https?:\/\//);
    const parts = [...html.matchAll(/(?:src|href)="(\/ops\/[^"]+)"/g)].map(([, path]) => path!);
    expect(parts.length).toBeGreaterThanOrEqual(3);
    for (const part of parts) expect((await call(part)).status, part).toBe(200);
  });

  test('shows nothing without a login', async () => {
    for (const path of ['/ops/session', '/ops/stream', `/ops/data/transactions/${approved}`])
      expect((await call(path)).status, path).toBe(401);
    expect((await post('/ops/data/transactions', { filter: { q: reference } })).status).toBe(401);
    expect((await post('/ops/acts', { act: 'drain', processId: randomUUID() })).status).toBe(401);
  });
});

describe('a session', () => {
  test('is a cookie that scripts and other sites do not get, and ends on logout', async () => {
    const { username } = await savePortalUser(installation.database, { acquirerId: 1 }, 'viewer');
    const response = await post('/ops/session', { username, password: PASSWORD });
    const set = response.headers.get('set-cookie')!;
    expect(set).toMatch(/; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    const cookie = set.split(';')[0]!;
    expect(await (await call('/ops/session', { headers: { cookie } })).json()).toMatchObject({
      username,
      mayAct: false,
    });
    await call('/ops/session', { method: 'DELETE', headers: { cookie } });
    expect((await call('/ops/session', { headers: { cookie } })).status).toBe(401);
  });

  test('does not begin with a wrong password, nor for users of integrators', async () => {
    const { username } = await savePortalUser(installation.database, { acquirerId: 1, integratorId: 10 }, 'admin');
    expect((await post('/ops/session', { username, password: 'not this one, no' })).status).toBe(401);
    expect((await post('/ops/session', { username, password: PASSWORD })).status).toBe(403);
  });

  test('a session that was idle shows figures, but no transactions', async () => {
    const session = await logIn({ acquirerId: 1 }, 'operator');
    await installation.database.query(
      `update console_sessions set acted_at = now() - interval '16 minutes' where secret_hash = sha256($1::bytea)`,
      [session.cookie.split('=')[1]],
    );
    expect((await call('/ops/session', { headers: { cookie: session.cookie } })).status).toBe(200);
    expect((await look(session, approved)).status).toBe(401);
    expect((await act(session, { act: 'retryReversal', acquirerId: 1, id: garbled })).status).toBe(401);
  });

  test('ends with its user, and with time', async () => {
    const blocked = await logIn({ acquirerId: 1 }, 'viewer');
    const old = await logIn({ acquirerId: 2 }, 'viewer');
    await installation.database.query('update users set is_blocked = true where acquirer_id = 1 and role = $1', [
      'viewer',
    ]);
    await installation.database.query(
      `update console_sessions set begun_at = now() - interval '13 hours' where acquirer_id = 2`,
    );
    for (const { cookie } of [blocked, old])
      expect((await call('/ops/session', { headers: { cookie } })).status).toBe(401);
  });
});

describe('a transaction', () => {
  test('is found by id, reference, RRN, STAN, masked PAN, PAN and its hash', async () => {
    const session = await logIn(INSTALLATION, 'viewer');
    const { rows } = await installation.database.query(
      'select rrn, stan, masked_pan, pan_hash from transactions where id = $1',
      [approved],
    );
    const { rrn, stan, masked_pan, pan_hash } = rows[0];
    for (const query of [approved, reference, rrn, stan, masked_pan, pan_hash, PAN, '4111 1111 1111 1111']) {
      const { found } = await search(session, query);
      expect(
        found.map(({ id }) => id),
        query,
      ).toContain(approved);
    }
  });

  test('shows its trail, the messages of each attempt field by field, and the chip, without anything secret', async () => {
    const session = await logIn({ acquirerId: 1 }, 'viewer');
    const story = await eventually(async () => {
      const story = (await (await look(session, approved)).json()) as TransactionStory;
      expect(story.messages).toHaveLength(1);
      expect(story.trail.at(-1)).toMatchObject({ to: 'RespondedToPhone' });
      return story;
    });
    expect(story.summary).toMatchObject({
      id: approved,
      disposition: 'Approved',
      amount: 'ZAR 10.00',
      maskedPan: '411111******1111',
    });
    const [message] = story.messages;
    expect(message).toMatchObject({ kind: 'authorization', outcome: 'responded', processorId: 1 });
    const shownAt = (path: string) => message!.request.find((row) => row.path === path)?.value;
    expect([shownAt('2'), shownAt('4'), shownAt('mti')]).toEqual([
      '411111******1111',
      '000000001000',
      expect.stringContaining('0200'),
    ]);
    expect(message!.response!.find(({ path }) => path === '39')?.value).toBe('00');
    expect(story.tlv.map(({ tag }) => tag)).toEqual(expect.arrayContaining(['9F26', '95', '9F10']));
    expect(JSON.stringify(story)).not.toContain(PAN);
  });

  test('shows every reversal attempt, too', async () => {
    const session = await logIn({ acquirerId: 1 }, 'viewer');
    await eventually(async () => {
      const story = (await (await look(session, garbled)).json()) as TransactionStory;
      const kinds = story.messages.map(({ kind, outcome, response }) => [kind, outcome, response !== null]);
      expect(kinds).toEqual([
        ['authorization', 'deadline', false],
        ['reversal', 'responded', true],
      ]);
    });
  });

  test('a transaction of another acquirer is not found, like one that does not exist', async () => {
    const session = await logIn({ acquirerId: 2 }, 'admin');
    const responses = [await look(session, approved), await look(session, randomUUID())];
    expect(responses.map(({ status }) => status)).toEqual([404, 404]);
    for (const query of [approved, reference, PAN]) expect((await search(session, query)).found).toEqual([]);
    expect((await act(session, { act: 'retryReversal', acquirerId: 1, id: garbled })).status).toBe(404);
  });
});

describe('the list', () => {
  test('says how far back it searched what has no index', async () => {
    const session = await logIn(INSTALLATION, 'viewer');
    expect((await list(session, {})).searchedFrom).toBeNull();
    const { searchedFrom } = await list(session, { q: '1111' });
    expect(Date.now() - Date.parse(searchedFrom!)).toBeGreaterThan(6 * 86_400_000);
    expect((await list(session, { q: '1111', from: '2020-01-01T00:00:00Z' })).searchedFrom).toBeNull();
  });
});

test('the list shows each kind of transaction alone, and refuses a kind that does not exist', async () => {
  const session = await logIn(INSTALLATION, 'viewer');
  const sale = await sellApproved(installation, '44.00');
  await refundSale(installation, sale, { amount: '4.00', refundReference: 'kind-of-refund' });
  const typesOf = async (type: string) => {
    const { rows } = await list(session, { type, min: '4', max: '44' });
    return [...new Set(rows.map((row) => row.type))];
  };
  expect(await typesOf('sale')).toEqual(['Tap']);
  expect(await typesOf('refund')).toEqual(['Refund']);
  expect(await typesOf('mandate')).toEqual([]);
  expect((await data(session, 'transactions', { filter: { type: 'gift' } })).status).toBe(400);
});

describe.concurrent('the stream', () => {
  test('the stream of a process without switches shows those of the workers, and the outcomes of its own phones', async () => {
    const session = await logIn(INSTALLATION, 'viewer');
    const shown = await frame(
      session,
      ({ switches, processes, backlog }) => switches.length > 0 && processes.length > 1 && backlog !== null,
    );
    expect(shown.processes.map(({ role }) => role).sort()).toEqual(['api', 'worker']);
    expect(shown.switches.find(({ name }) => name === '1 1')).toMatchObject({ availability: 'ready', type: 'type-1' });
    expect(shown.switches.find(({ name }) => name === '1 1')!.lines).toMatchObject([{ state: 'ready', isHeld: false }]);
    expect(shown.outcomes.some(({ disposition, processor }) => disposition === 'Approved' && processor === '1 1')).toBe(
      true,
    );
    expect(shown.backlog!.database!.bytes).toBeGreaterThan(1_000_000);
  });

  test('shows an acquirer its own switches and nothing of the installation', async () => {
    const session = await logIn({ acquirerId: 2 }, 'viewer');
    const shown = await frame(session, ({ switches, backlog }) => switches.length > 0 && backlog !== null);
    expect(shown.switches.map(({ name }) => name)).toEqual(['2 1']);
    expect([shown.processes, shown.outcomes, shown.commits, shown.backlog!.queues, shown.backlog!.database]).toEqual([
      [],
      [],
      null,
      [],
      null,
    ]);
  });
});

describe('a transaction that is uncertain or was given up', () => {
  test('is shown to an acquirer even if others would hide it, and to no other acquirer', async () => {
    const { database } = installation;
    const [own, others] = [await logIn({ acquirerId: 2 }, 'viewer'), await logIn(INSTALLATION, 'viewer')];
    const died = `insert into pgboss.job (name, data, source_name, source_created_on, created_on)
      select 'dead-letters', json_build_object('acquirerId', $1::int, 'id', gen_random_uuid()), 'expire-pin', now(), now() - $2::interval
      from generate_series(1, $3)`;
    await database.query(died, [2, '1 hour', 1]);
    await database.query(died, [1, '0 s', 120]);
    onTestFinished(async () => void (await database.query(`delete from pgboss.job where name = 'dead-letters'`)));
    const letters = async (session: ConsoleSession, fits: (found: number) => boolean) =>
      (await frame(session, ({ backlog }) => backlog !== null && fits(backlog.deadLetters.length))).backlog!
        .deadLetters;
    expect((await letters(own, (found) => found > 0)).map(({ names }) => names.acquirerId)).toEqual([2]);
    expect((await letters(others, (found) => found === 100)).every(({ names }) => names.acquirerId === 1)).toBe(true);
  });

  test('is listed at any age', async () => {
    const { database } = installation;
    const session = await logIn({ acquirerId: 1 }, 'viewer');
    const flag = `update transactions set needs_review = $2 where id = $1`;
    await database.query(flag, [garbled, true]);
    onTestFinished(async () => void (await database.query(flag, [garbled, false])));
    const review = { attention: 'review' };
    expect((await list(session, review)).rows).toMatchObject([{ id: garbled }]);
    expect((await list(await logIn({ acquirerId: 2 }, 'viewer'), review)).rows).toEqual([]);
    expect((await list(session, { attention: 'reversal' })).rows.map(({ id }) => id)).not.toContain(approved);
  });
});

describe('an action', () => {
  test('requires the role, and the token of the session', async () => {
    const viewer = await logIn(INSTALLATION, 'viewer');
    const wanted = { act: 'retryReversal', acquirerId: 1, id: garbled };
    expect((await act(viewer, wanted)).status).toBe(403);
    const operator = await logIn(INSTALLATION, 'operator');
    expect((await act(operator, wanted, {})).status).toBe(403);
    expect((await act(operator, wanted, { 'x-csrf-token': viewer.csrf })).status).toBe(403);
    expect(
      (await act(operator, wanted, { 'x-csrf-token': operator.csrf, 'sec-fetch-site': 'cross-site' })).status,
    ).toBe(403);
    expect(await recorded(garbled)).toEqual([]);
  });

  test.concurrent('signs a connection off, and on again, at its worker; both are recorded', async () => {
    const session = await logIn({ acquirerId: 1 }, 'operator');
    const lineOf = ({ switches }: Frame) => switches.find(({ name }) => name === '1 1')!;
    const ready = lineOf(await frame(session, (each) => lineOf(each)?.lines[0]?.state === 'ready'));
    const named = { acquirerId: 1, processorId: 1, processId: ready.processId, line: ready.lines[0]!.id };
    expect((await act(session, { ...named, act: 'signOff' })).status).toBe(204);
    await frame(session, (each) => lineOf(each)?.lines[0]?.isHeld === true && lineOf(each).availability === 'down');
    expect((await act(session, { ...named, act: 'signOn' })).status).toBe(204);
    await frame(session, (each) => lineOf(each)?.lines[0]?.state === 'ready');
    expect((await recorded(named.line)).map(({ action, kind, after }) => [action, kind, after.did])).toEqual([
      ['act', 'line', 'signOff'],
      ['act', 'line', 'signOn'],
    ]);
  });

  test.concurrent('reaches no connection of another acquirer, with any name', async () => {
    const session = await logIn({ acquirerId: 2 }, 'operator');
    const { switches } = await frame(await logIn(INSTALLATION, 'viewer'), (each) => each.switches.length > 1);
    const other = switches.find(({ name }) => name === '1 1')!;
    const { id: line } = other.lines[0]!;
    const named = { act: 'signOff', processId: other.processId, line, processorId: 1 };
    expect((await act(session, { ...named, acquirerId: 1 })).status).toBe(404);
    expect((await act(session, { ...named, acquirerId: 2 })).status).toBe(404);
    expect((await act(session, { act: 'drain', processId: other.processId })).status).toBe(403);
  });

  test.concurrent('drains a process and lets it continue', async () => {
    const session = await logIn(INSTALLATION, 'admin');
    const worker = ({ processes }: Frame) => processes.find(({ role }) => role === 'worker');
    const { id: processId } = worker(await frame(session, (each) => worker(each) !== undefined))!;
    expect((await act(session, { act: 'drain', processId })).status).toBe(204);
    await frame(session, (each) => worker(each)?.isDraining === true);
    expect((await act(session, { act: 'resume', processId })).status).toBe(204);
    await frame(session, (each) => worker(each)?.isDraining === false);
    expect(await recorded(processId)).toMatchObject([
      { acquirer_id: 0, after: { did: 'drain' } },
      { after: { did: 'resume' } },
    ]);
  });

  test('an action on a reversal makes its next attempt now, and is refused if none is pending', async () => {
    const session = await logIn({ acquirerId: 1 }, 'operator');
    const { database } = installation;
    expect((await act(session, { act: 'retryReversal', acquirerId: 1, id: approved })).status).toBe(409);
    // As after the end of its schedule: no job is left.
    await eventually(async () => {
      const { rows } = await database.query('select reversal_state from transactions where id = $1', [garbled]);
      expect(rows[0].reversal_state).toBe(3);
    });
    await database.query(
      `update transactions set reversal_state = 4, needs_review = true, deadline_at = now() - interval '5 minutes' where id = $1`,
      [garbled],
    );
    expect((await act(session, { act: 'retryReversal', acquirerId: 1, id: garbled })).status).toBe(204);
    await eventually(async () => {
      const { rows } = await database.query(
        'select count(*)::int as made from attempt_messages where transaction_id = $1 and kind = $2',
        [garbled, 'reversal'],
      );
      expect(rows[0].made).toBe(2);
    });
  });

  test('replays a webhook and redrives a dead letter, of the own acquirer only', async () => {
    const session = await logIn({ acquirerId: 1 }, 'operator');
    const stranger = await logIn({ acquirerId: 2 }, 'operator');
    const { database } = installation;
    const event = randomUUID();
    const endpoint = randomUUID();
    await database.query(
      `insert into webhook_endpoints (acquirer_id, id, integrator_id, serves, url, sealed_secret, disabled_at) values (1, $1, 10, 'taps', 'http://127.0.0.1:9', '', now())`,
      [endpoint],
    );
    await database.query(
      `insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, state) values (1, $1, 10, $2, $3, 'transaction.outcome', '{}', 'failed')`,
      [event, endpoint, approved],
    );
    const replay = { act: 'replayWebhook', acquirerId: 1, id: event };
    expect((await act(stranger, replay)).status).toBe(404);
    expect((await act(session, replay)).status).toBe(204);
    const { rows } = await database.query('select round from webhook_events where id = $1', [event]);
    expect(rows[0].round).toBe(2);
    const { rows: letters } = await database.query(
      `insert into pgboss.job (name, data, source_name) values ('dead-letters', '{"acquirerId": 1}', 'expire-pin') returning id`,
    );
    const redrive = { act: 'redriveDeadLetter', id: letters[0].id };
    expect((await act(stranger, redrive)).status).toBe(404);
    expect((await act(session, redrive)).status).toBe(204);
    expect((await recorded(letters[0].id)).map(({ kind, after }) => [kind, after.did])).toEqual([
      ['dead letter', 'redriveDeadLetter'],
    ]);
  });
});

test('a process that stops does not wait for streams or silent clients; a session continues at another', async () => {
  const session = await logIn(INSTALLATION, 'viewer');
  const other = await installation.startGateway({ TAPWIRE_ROLE: 'api' });
  const response = await fetch(new URL('/ops/stream', other.url), { headers: { cookie: session.cookie } });
  expect(response.status).toBe(200);
  const read = response.text();
  const silent = connect(Number(new URL(other.url).port), '127.0.0.1');
  await once(silent, 'connect');
  onTestFinished(() => void silent.destroy());
  await other.stop();
  expect(await read).toContain('event: history');
});

test('a searched PAN is in no log line and no recorded statement', async () => {
  const session = await logIn(INSTALLATION, 'operator');
  await search(session, PAN);
  expect(JSON.stringify(installation.logLines)).not.toContain(PAN);
  const { rows } = await installation.database.query(
    'select count(*)::int as hits from pg_stat_activity where query like $1',
    [`%${PAN.slice(0, 15)}%`],
  );
  expect(rows[0].hits).toBeLessThanOrEqual(1); // this statement
});
