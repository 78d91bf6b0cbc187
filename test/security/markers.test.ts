import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SAMPLE_CARDS } from '../../src/card/sample-tap.ts';
import type { KnownRoute } from '../../src/http/route-table.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { PASSWORD } from '../support/portal-users.ts';
import { everythingStored, type SecretMark, secretsIn } from '../support/secrets.ts';
import { ask, gather, type ReceivedResponse } from './ask.ts';
import { credentialsOf, type Shown, shownTo } from './credentials.ts';
import { type Row, row, type Sent } from './row.ts';
import { changed, placesIn } from './strange.ts';
import { type Headers, thingsOf } from './things.ts';
import { PATIENT, type TriedRoute, triedRoutes, UNLIMITED } from './tried-route.ts';
import { type Owner, usable } from './usable.ts';

let installation: Installation;
let owner: Owner;
let credentials: Shown[];
let routes: TriedRoute[];
beforeAll(async () => {
  installation = await startInstallation({ settings: { ...UNLIMITED, LOG_LEVEL: 'trace' }, profile: PATIENT });
  const things = await thingsOf(installation, 'coffee', 41);
  credentials = await credentialsOf(installation, 'coffee', things);
  const acquirerKey = credentials.find(({ kind }) => kind === 'acquirerKey')!.headers;
  owner = { installation, merchant: 'coffee', things, acquirerKey };
  routes = triedRoutes(installation, openRow).filter(isLooked);
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

/** Excludes parts of pages, and the virtual reader of `dev`, whose purpose is to read cards in clear. */
function isLooked({ url, facts }: KnownRoute): boolean {
  return facts?.isAsset !== true || (facts.takes.length > 0 && !url.startsWith('/dev/'));
}

const { pan } = SAMPLE_CARDS.visa;
const CARD = {
  pan,
  track2: `${pan}D31122010000000000`,
  trackData: `${pan}=3112201`,
  pinBlock: '041234FEDCBA9876',
  ksn: 'FFFF9876543210E00001',
};
const PUSH_TOKEN = `push-token-${randomUUID()}`;
const CARD_MARKS: readonly SecretMark[] = Object.entries(CARD).map(([name, text]) => ({ name, text }));

/** For a route without credentials: a login, right and wrong. */
function openRow(name: string): Row {
  return row(() =>
    name === 'POST /login' ? { body: { username: 'unknown@coffee.example', password: PASSWORD } } : {},
  );
}

/** The secret part of a credential; its beginning is not secret. */
function marksOf({ name, headers }: Pick<Shown, 'name' | 'headers'>): SecretMark[] {
  const { authorization, 'x-api-key': key } = headers;
  const [head, payload, signature] = authorization?.slice('Bearer '.length).split('.') ?? [];
  return [
    ...(key === undefined ? [] : [{ name: `secret of the ${name}`, text: key.split('_')[3]! }]),
    ...(signature === undefined
      ? []
      : [
          { name, text: `${head}.${payload}` },
          { name: `signature of the ${name}`, text: signature },
        ]),
  ];
}

/** Values that routes create and show once: keys, passwords, secrets of webhooks, tokens. */
const SHOWN_ONCE = /"(key|password|secret|token|pinToken)":"([^"]{16,})"|#(eyJ[\w.-]+)/g;

function madeIn({ text }: ReceivedResponse): SecretMark[] {
  return [...text.matchAll(SHOWN_ONCE)].map(([, name = 'token of a link', value, ofLink]) => ({
    name,
    text: secretPartOf((value ?? ofLink)!),
  }));
}

/** The end of a key and the signature of a token are the secret; the rest may be known. */
function secretPartOf(text: string): string {
  if (text.startsWith('tw_')) return text.split('_')[3]!;
  return text.startsWith('eyJ') ? text.split('.').at(-1)! : text.replace(/^whsec_/, '');
}

/** The valid request, with each accepted kind of credential, and with an idempotency key if it is supported. */
async function takeThrough(route: TriedRoute): Promise<ReceivedResponse[]> {
  const responses: ReceivedResponse[] = [];
  const open: Shown[] = [{ kind: 'operatorKey', name: 'nothing', headers: {}, owner: 'operator' }];
  const shown = shownTo(route.facts, credentials);
  // Each kind of token, and one key: routes that accept one key accept the others.
  const tried = shown.filter(({ kind }, at) => at === 0 || !kind.endsWith('Key'));
  for (const each of tried.length === 0 ? open : tried) {
    const { about, headers } = await usable(route.row, each, owner);
    const sent = await route.row.send(about);
    const withPush = (sent.body as { pushToken?: string })?.pushToken
      ? { ...sent, body: { ...(sent.body as object), pushToken: PUSH_TOKEN } }
      : sent;
    const keyed = route.isIdempotent ? { ...headers, 'idempotency-key': randomUUID() } : headers;
    responses.push(await ask(installation.url, route, withPush, keyed));
  }
  return responses;
}

/** Requests that fail, or have unknown fields, with card data and credentials in every possible place. */
async function failures(route: TriedRoute): Promise<ReceivedResponse[]> {
  const { kind, headers } = shownTo(route.facts, credentials)[0] ?? { kind: 'operatorKey' as const, headers: {} };
  const { about } = await usable(route.row, { kind, headers }, owner);
  const sent = await route.row.send(about);
  const { params = {}, body } = sent;
  const smuggled = {
    ...CARD,
    token: about.merchantToken,
    apiKey: headers['x-api-key'],
    pushToken: PUSH_TOKEN,
    password: PASSWORD,
  };
  const wrong: Sent[] = [
    { ...sent, query: { ...sent.query, card: pan, track2: CARD.track2 } },
    ...Object.keys(params).map((name) => ({ ...sent, params: { ...params, [name]: CARD.track2.padEnd(300, '0') } })),
    // What an integrator stores with a merchant, and what a switch receives, is stored unchanged.
    ...(body === undefined
      ? []
      : placesIn(body)
          .filter(([first]) => first !== 'config' && first !== 'settings')
          .map((place) => ({ ...sent, body: changed(body, place, [smuggled]) }))),
  ];
  const raw =
    body === undefined ? [] : [`{"pan":"${pan}"`, `<pan>${pan}</pan>`, JSON.stringify(smuggled), `"${CARD.track2}"`];
  const broken: Headers[] = Object.entries(headers).map(([name, value]) => ({ [name]: `${value}0` }));
  const asked = [
    ...wrong.map((each) => ask(installation.url, route, each, headers)),
    ...raw.map((text) => ask(installation.url, route, sent, headers, text)),
    ...broken.map((each) => ask(installation.url, route, sent, each)),
    ask(installation.url, route, sent, { ...headers, 'idempotency-key': `"${CARD.track2}"é` }).catch(() => undefined),
    ask(installation.url, route, sent, {
      ...headers,
      traceparent: pan,
      'x-correlation-id': pan,
      'user-agent': CARD.track2,
    }),
  ];
  return (await Promise.all(asked)).filter((response) => response !== undefined);
}

/** No response about a tenant's things is longer; the descriptions of the interface are. */
const MAX_CHARS = 20_000;
const textOf = ({ text, headers }: ReceivedResponse) => `${text.slice(0, MAX_CHARS)}\n${JSON.stringify([...headers])}`;

test('no secret is in a log line, column, job, metric or response after every route', async () => {
  const responses: string[] = [];
  const made: SecretMark[] = [];
  await gather(routes, async (route) => {
    // Invalid requests first: valid ones may remove their subject.
    responses.push(...(await failures(route)).map(textOf));
    const right = await takeThrough(route);
    made.push(...madeIn(right[0]!));
    responses.push(...right.map(textOf));
    return undefined;
  });
  const shown = credentials.flatMap((each) => marksOf(each));
  const sent = [
    ...CARD_MARKS,
    ...shown,
    { name: 'push token', text: PUSH_TOKEN },
    { name: 'password', text: PASSWORD },
  ];

  const stored = await everythingStored(installation.database);
  const figures = await (await fetch(new URL('/metrics', installation.url))).text();
  const logged = JSON.stringify(installation.logLines);
  const all = [...sent, ...made];
  expect(secretsIn(logged, all), 'log').toEqual([]);
  expect(secretsIn(stored, all), 'database').toEqual([]);
  expect(secretsIn(figures, all), 'metrics').toEqual([]);
  const reported = secretsIn(responses.join('\n'), sent);
  const telling = sent
    .filter(({ name }) => reported.includes(name))
    .map((mark) => responses.find((response) => secretsIn(response, [mark]).length > 0)?.slice(0, 500));
  expect({ reported, telling }, 'responses').toEqual({ reported: [], telling: [] });

  // The requests did arrive.
  expect(logged).toContain('"msg":"responded"');
  for (const text of [stored, responses.join()]) expect(text).toContain('411111******1111');
  expect(new Set(made.map(({ name }) => name))).toEqual(
    new Set(['key', 'password', 'secret', 'token', 'token of a link']),
  );
});
