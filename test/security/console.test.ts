import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConsoleNames } from '../../src/console/store/console-names.ts';
import type { KnownRoute } from '../../src/http/route-table.ts';
import { consoleClient } from '../support/console-client.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { ask, errorCodeOf, gather, gist, nameOf, type ReceivedResponse } from './ask.ts';
import { credentialsOf } from './credentials.ts';
import { type Row, row } from './row.ts';
import { isOfConsole } from './rows.ts';
import { strangely } from './strange.ts';
import { type Headers, nobodysThings, type Things, thingsOf } from './things.ts';

/** The console has its own session: its routes are tested here as all others are in the matrix. */
const LINE = { processId: randomUUID(), line: 'nowhere' };
const listed = () => row(({ transactionId: q, acquirerId: acquirer }) => ({ body: { filter: { q, acquirer } } }));
const ROWS: Readonly<Record<string, Row>> = {
  'GET /ops/session': row(() => ({})),
  'GET /ops/stream': row(() => ({})),
  'GET /ops/data/names': row(() => ({})),
  'GET /ops/data/cells': row(() => ({})),
  'GET /ops/data/specs': row(() => ({})),
  'GET /ops/data/operations': row(() => ({})),
  'GET /ops/data/audit-verdict': row(({ acquirerId: acquirer }) => ({ query: { acquirer } })),
  // Merchants of two acquirers may have the same id.
  'POST /ops/data/merchants': row(({ merchantReference: text }) => ({ body: { text } })),
  'POST /ops/data/transactions': listed(),
  'POST /ops/data/transactions/count': listed(),
  'POST /ops/data/transactions/changes': row(({ acquirerId, transactionId: id }) => ({
    body: { filter: { q: id, acquirer: acquirerId }, shown: [{ acquirerId, id }] },
  })),
  'POST /ops/data/transactions/export': listed(),
  'GET /ops/data/transactions/:id': row(({ transactionId: id }) => ({ params: { id } })),
  'GET /ops/data/transactions/:id/present': row(({ transactionId: id }) => ({ params: { id } })),
  'POST /ops/data/work': row(({ acquirerId: acquirer }) => ({ body: { list: 'webhooks', filter: { acquirer } } })),
  'GET /ops/data/history': row(({ acquirerId: acquirer, processorId: processor }) => ({
    query: { range: '1h', acquirer, processor },
  })),
  'GET /ops/data/views': row(() => ({})),
  'GET /ops/data/account': row(() => ({})),
  'GET /ops/data/sessions': row(() => ({})),
  'POST /ops/account/acts': row(() => ({ body: { act: 'endSession', id: 'f'.repeat(64) } })),
  'POST /ops/refunds': row(({ acquirerId, transactionId: id }) => ({
    body: { acquirerId, id, amount: '1.00', formId: 'a'.repeat(32), reason: 'why' },
  })),
  'POST /ops/acts': row(({ acquirerId, eventId: id }) => ({ body: { act: 'replayWebhook', acquirerId, id } })),
};
/** The other actions of the console. */
const ACTS: readonly Row[] = [
  row(({ acquirerId, transactionId: id }) => ({ body: { act: 'retryReversal', acquirerId, id } })),
  row(({ acquirerId, linkId: id }) => ({
    body: { act: 'cancelLink', acquirerId, id, formId: 'a'.repeat(32), reason: 'why' },
  })),
  row(({ acquirerId, transactionId: id }) => ({ body: { act: 'voidSale', acquirerId, id } })),
  row(({ acquirerId, transactionId: id }) => ({
    body: { act: 'resolveReview', acquirerId, id, books: 'voided', reason: 'why', seenAt: '2026-03-02T10:00:00.000Z' },
  })),
  row(({ acquirerId, eventId: id }) => ({ body: { act: 'confirmResolution', acquirerId, id } })),
  row(({ acquirerId, processorId }) => ({ body: { act: 'signOff', acquirerId, processorId, ...LINE } })),
];
/** The routes that begin and end a session, and one that a page without a session needs. */
const OPEN = [
  ...['POST /ops/session', 'DELETE /ops/session', 'GET /ops/availability', 'GET /ops/sign-in'],
  ...['GET /ops/oidc', 'GET /ops/oidc/callback'],
];

let installation: Installation;
let own: Things;
let strangers: Things;
let session: Headers;
let strangerSession: Headers;
beforeAll(async () => {
  const provider = { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'console', OIDC_ROLES: 'ops=operator' };
  const settings = { RATE_PER_ADDRESS: '0', LOGIN_TRIES_PER_ADDRESS: '1000', ...provider };
  installation = await startInstallation({ settings });
  [own, strangers] = await Promise.all([thingsOf(installation, 'coffee', 41), thingsOf(installation, 'tailor', 42)]);
  [session, strangerSession] = await Promise.all([logIn(1), logIn(2)]);
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

async function logIn(acquirerId: number): Promise<Headers> {
  const { username } = await savePortalUser(installation.database, { acquirerId }, 'admin');
  const body = { username, password: PASSWORD };
  const response = await ask(installation.url, { method: 'POST', url: '/ops/session' }, { body }, {});
  const { csrfToken } = JSON.parse(response.text) as { csrfToken: string };
  return { cookie: response.headers.get('set-cookie')!.split(';')[0]!, 'x-csrf-token': csrfToken };
}

const { call, post, data, logIn: enter } = consoleClient(() => installation);

const routes = () => installation.routes.filter(isOfConsole);
/** All but the stream, which does not end. */
const responding = () =>
  routes().flatMap((route) => {
    const rows = route.url === '/ops/acts' ? [ROWS[nameOf(route)]!, ...ACTS] : [ROWS[nameOf(route)]];
    return route.url === '/ops/stream' ? [] : rows.flatMap((each) => (each ? [{ route, row: each }] : []));
  });
const described = (route: KnownRoute, how: string, { status, text }: ReceivedResponse) =>
  `${nameOf(route)}, ${how}: ${status} ${text.slice(0, 300)}`;

test('every route of the console has a row, or needs no session', () => {
  expect(routes().map(nameOf).sort()).toEqual([...Object.keys(ROWS), ...OPEN].sort());
});

test('every route of the console without a session is 401, with any other credential', async () => {
  const others: readonly { readonly name: string; readonly headers: Headers }[] = [
    { name: 'nothing', headers: {} },
    { name: 'a made-up session', headers: { cookie: `${session.cookie!.split('=')[0]}=${'a'.repeat(43)}` } },
    ...(await credentialsOf(installation, 'coffee', own)),
  ];
  const tries = routes().flatMap((route) => (ROWS[nameOf(route)] ? others.map((shown) => ({ route, shown })) : []));
  const faults = await gather(tries, async ({ route, shown }) => {
    const response = await ask(installation.url, route, await ROWS[nameOf(route)]!.send(own), shown.headers);
    return response.status === 401 && errorCodeOf(response) === 100
      ? undefined
      : described(route, shown.name, response);
  });
  expect(faults).toEqual([]);
});

test('what belongs to another acquirer receives exactly the same response as what does not exist', async () => {
  const nobodys = nobodysThings(own);
  const faults = await gather(responding(), async ({ route, row }) => {
    const ways = [own, nobodys].map((source) => [
      { ...source, acquirerId: strangers.acquirerId },
      { ...source, acquirerId: own.acquirerId },
    ]);
    const gists = await Promise.all(
      ways.map(async (abouts) => {
        const responses = await Promise.all(
          abouts.map(async (about) => ask(installation.url, route, await row.send(about), strangerSession)),
        );
        return responses.map((response) => gist(response, [own.transactionId, nobodys.transactionId]));
      }),
    );
    return JSON.stringify(gists[0]) === JSON.stringify(gists[1])
      ? undefined
      : `${nameOf(route)}: ${gists[0]} but ${gists[1]}`;
  });
  expect(faults).toEqual([]);
});

test('a callback of the identity provider that no browser awaits is refused with any content', async () => {
  const names = ['tapwire-sign-in', '__Host-tapwire-sign-in'];
  const values = ['', 'x', 'A'.repeat(400), 'AQ'.repeat(900), '%00', session.cookie!];
  const queries = ['', '?code=a&state=b', '?error=access_denied', '?code=%00&state=%ff', `?code=${'a'.repeat(5_000)}`];
  const tries = names.flatMap((name) => values.flatMap((value) => queries.map((query) => ({ name, value, query }))));
  const faults = await gather(tries, async ({ name, value, query }) => {
    const headers = { cookie: `${name}=${value}` };
    const response = await call(`/ops/oidc/callback${query}`, { redirect: 'manual', headers });
    const isSession = response.headers.getSetCookie().some((cookie) => cookie.startsWith('tapwire-console='));
    const isRefused = response.headers.get('location') === '/ops?sign-in=NOT_BEGUN' && !isSession;
    return isRefused ? undefined : `${name} ${value.slice(0, 20)} ${query.slice(0, 40)}: ${response.status}`;
  });
  expect(faults).toEqual([]);
});

test('an acquirer’s own things are found, shown and changed, and changed only from the page', async () => {
  const [found, shown, done] = await Promise.all(
    ['POST /ops/data/transactions', 'GET /ops/data/transactions/:id', 'POST /ops/acts'].map((name) =>
      sendOwn(name, session),
    ),
  );
  expect(found!.text).toContain(own.transactionId);
  expect(shown!.status).toBe(200);
  expect(done!.status).toBe(204);
  const { cookie } = session;
  const fromElsewhere: readonly Headers[] = [
    { cookie: cookie! },
    { ...session, 'x-csrf-token': 'x' },
    { ...session, 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of fromElsewhere) expect((await sendOwn('POST /ops/acts', headers)).status).toBe(403);
});

async function sendOwn(name: string, headers: Headers): Promise<ReceivedResponse> {
  const route = routes().find((each) => nameOf(each) === name)!;
  return ask(installation.url, route, await ROWS[name]!.send(own), headers);
}

test('a request with one strange element never causes more than a refusal', async () => {
  const tries = (
    await Promise.all(
      responding().map(async ({ route, row }, index) => {
        const sent = strangely(await row.send(own), {
          ...route,
          fields: [['text'], ['filter', 'q'], ['filter', 'min'], ['filter', 'from'], ['filter', 'acquirer']],
          parameters: [],
        });
        return fc.sample(sent, { seed: 20_260_301 + index, numRuns: 40 }).map((each) => ({ route, sent: each }));
      }),
    )
  ).flat();
  const faults = await gather(tries, async ({ route, sent }) => {
    const response = await ask(installation.url, route, sent, session);
    return response.status < 500 ? undefined : `${described(route, JSON.stringify(sent).slice(0, 300), response)}`;
  });
  expect(faults).toEqual([]);
});

test('a list is exported as CSV from the page only, without formulas, and recorded', async () => {
  const { database } = installation;
  const viewer = await enter({ acquirerId: 1 }, 'viewer');
  const formula = 'update transactions set x_tid = $2 where id = $1 returning x_tid';
  await database.query(formula, [own.transactionId, '=cmd()']);
  const filter = { q: own.transactionId, acquirer: 1 };
  const response = await data(viewer, 'transactions/export', { filter });
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  const [titles, line, ...rest] = (await response.text()).split('\r\n');
  expect(titles).toMatch(/^id,created_utc,/);
  expect(line).toContain(`${own.transactionId},`);
  expect(line).toContain(",'=cmd(),");
  expect(line).not.toContain('4111111111111111');
  expect(rest).toEqual(['']);
  const events = (
    await database.query(`select kind, after from admin_events where acquirer_id = 1 and actor = $1`, [
      `user ${viewer.username}`,
    ])
  ).rows;
  expect(events).toMatchObject([
    { kind: 'transactions', after: { did: 'exportTransactions', filter: { q: '[withheld]', acquirer: 1 }, rows: 1 } },
  ]);
  const elsewhere = await post('/ops/data/transactions/export', { filter }, { cookie: viewer.cookie });
  expect(elsewhere.status).toBe(403);
  const others = await data(await enter({ acquirerId: 2 }, 'viewer'), 'transactions/export', { filter });
  expect((await others.text()).trim()).toBe(titles);
});

test('a list is updated without prolonging the session', async () => {
  const viewer = await enter({ acquirerId: 1 }, 'viewer');
  const idle = `update console_sessions set acted_at = now() - interval '14 minutes' where secret_hash = sha256($1::bytea)`;
  const actedAt = 'select acted_at from console_sessions where secret_hash = sha256($1::bytea)';
  const secret = [viewer.cookie.split('=')[1]];
  await installation.database.query(idle, secret);
  const { rows: before } = await installation.database.query(actedAt, secret);
  const changes = await data(viewer, 'transactions/changes', {
    filter: {},
    shown: [{ acquirerId: 1, id: own.transactionId }],
  });
  expect(await changes.json()).toMatchObject({
    newer: { isMore: false },
    rows: [{ id: own.transactionId, amount: '100.00' }],
  });
  expect((await installation.database.query(actedAt, secret)).rows).toEqual(before);
});

test('names are those of the own acquirer and its processors only', async () => {
  const names = async (owner: { acquirerId: number }) => {
    const { cookie } = await enter(owner, 'viewer');
    return (await (await call('/ops/data/names', { headers: { cookie } })).json()) as ConsoleNames;
  };
  expect((await names({ acquirerId: 0 })).acquirers.map(({ id }) => id)).toEqual([1, 2]);
  const others = await names({ acquirerId: 2 });
  const found = await data(await enter({ acquirerId: 2 }, 'viewer'), 'merchants', { text: own.merchantId });
  expect((await found.json()) as object[]).toMatchObject([{ acquirerId: 2 }]);
  expect(others.acquirers.map(({ id }) => id)).toEqual([2]);
  expect(others.processors.every(({ acquirerId }) => acquirerId === 2)).toBe(true);
});
