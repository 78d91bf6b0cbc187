import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KnownRoute } from '../../src/http/route-table.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { type Answer, ask, errorCodeOf, gather, gist, nameOf } from './ask.ts';
import { credentialsOf } from './credentials.ts';
import { bePatient } from './patience.ts';
import { type Row, row } from './row.ts';
import { isOfConsole } from './rows.ts';
import { strangely } from './strange.ts';
import { type Headers, nobodysThings, type Things, thingsOf } from './things.ts';

/** The console has its own session: its routes are tested here as all others are in the matrix. */
const LINE = { processId: randomUUID(), line: 'nowhere' };
const ROWS: Readonly<Record<string, Row>> = {
  'GET /ops/session': row(() => ({})),
  'GET /ops/stream': row(() => ({})),
  'POST /ops/search': row(({ transactionId: query }) => ({ body: { query } })),
  'GET /ops/transactions/:acquirerId/:id': row(({ acquirerId, transactionId: id }) => ({ params: { acquirerId, id } })),
  'POST /ops/acts': row(({ acquirerId, eventId: id }) => ({ body: { act: 'replayWebhook', acquirerId, id } })),
};
/** The other actions of the console. */
const ACTS: readonly Row[] = [
  row(({ acquirerId, transactionId: id }) => ({ body: { act: 'retryReversal', acquirerId, id } })),
  row(({ acquirerId, processorId }) => ({ body: { act: 'signOff', acquirerId, processorId, ...LINE } })),
];
/** The routes that begin and end a session. */
const OPEN = ['POST /ops/session', 'DELETE /ops/session'];

bePatient();

let installation: Installation;
let own: Things;
let strangers: Things;
let session: Headers;
let strangerSession: Headers;
beforeAll(async () => {
  installation = await startInstallation({ settings: { RATE_PER_ADDRESS: '0', LOGIN_TRIES_PER_ADDRESS: '1000' } });
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
  const answer = await ask(installation.url, { method: 'POST', url: '/ops/session' }, { body }, {});
  const { csrfToken } = JSON.parse(answer.text) as { csrfToken: string };
  return { cookie: answer.headers.get('set-cookie')!.split(';')[0]!, 'x-csrf-token': csrfToken };
}

const routes = () => installation.routes.filter(isOfConsole);
/** All but the stream, which does not end. */
const answering = () =>
  routes().flatMap((route) => {
    const rows = route.url === '/ops/acts' ? [ROWS[nameOf(route)]!, ...ACTS] : [ROWS[nameOf(route)]];
    return route.url === '/ops/stream' ? [] : rows.flatMap((each) => (each ? [{ route, row: each }] : []));
  });
const described = (route: KnownRoute, how: string, { status, text }: Answer) =>
  `${nameOf(route)}, ${how}: ${status} ${text.slice(0, 300)}`;

test('every route of the console has a row, or begins or ends a session', () => {
  expect(routes().map(nameOf).sort()).toEqual([...Object.keys(ROWS), ...OPEN].sort());
});

test('without a session each is 401, with any other credential', async () => {
  const others: readonly { readonly name: string; readonly headers: Headers }[] = [
    { name: 'nothing', headers: {} },
    { name: 'a made-up session', headers: { cookie: `${session.cookie!.split('=')[0]}=${'a'.repeat(43)}` } },
    ...(await credentialsOf(installation, 'coffee', own)),
  ];
  const tries = routes().flatMap((route) => (ROWS[nameOf(route)] ? others.map((shown) => ({ route, shown })) : []));
  const faults = await gather(tries, async ({ route, shown }) => {
    const answer = await ask(installation.url, route, await ROWS[nameOf(route)]!.send(own), shown.headers);
    return answer.status === 401 && errorCodeOf(answer) === 100 ? undefined : described(route, shown.name, answer);
  });
  expect(faults).toEqual([]);
});

test('what belongs to another acquirer is answered exactly like what does not exist', async () => {
  const nobodys = nobodysThings(own);
  const faults = await gather(answering(), async ({ route, row }) => {
    const ways = [own, nobodys].map((source) => [
      { ...source, acquirerId: strangers.acquirerId },
      { ...source, acquirerId: own.acquirerId },
    ]);
    const gists = await Promise.all(
      ways.map(async (abouts) => {
        const answers = await Promise.all(
          abouts.map(async (about) => ask(installation.url, route, await row.send(about), strangerSession)),
        );
        return answers.map((answer) => gist(answer, [own.transactionId, nobodys.transactionId]));
      }),
    );
    return JSON.stringify(gists[0]) === JSON.stringify(gists[1])
      ? undefined
      : `${nameOf(route)}: ${gists[0]} but ${gists[1]}`;
  });
  expect(faults).toEqual([]);
});

test('an acquirer’s own things are found, shown and changed, and changed only from the page', async () => {
  const [found, shown, done] = await Promise.all(
    ['POST /ops/search', 'GET /ops/transactions/:acquirerId/:id', 'POST /ops/acts'].map((name) =>
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

async function sendOwn(name: string, headers: Headers): Promise<Answer> {
  const route = routes().find((each) => nameOf(each) === name)!;
  return ask(installation.url, route, await ROWS[name]!.send(own), headers);
}

test('a request with one strange element never causes more than a refusal', async () => {
  const tries = (
    await Promise.all(
      answering().map(async ({ route, row }, index) => {
        const sent = strangely(await row.send(own), { ...route, fields: [['hours'], ['query']], parameters: [] });
        return fc.sample(sent, { seed: 20_260_301 + index, numRuns: 40 }).map((each) => ({ route, sent: each }));
      }),
    )
  ).flat();
  const faults = await gather(tries, async ({ route, sent }) => {
    const answer = await ask(installation.url, route, sent, session);
    return answer.status < 500 ? undefined : `${described(route, JSON.stringify(sent).slice(0, 300), answer)}`;
  });
  expect(faults).toEqual([]);
});
