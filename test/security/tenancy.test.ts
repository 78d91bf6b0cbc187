import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLE_SCOPES } from '../../src/auth/portal/portal-user.ts';
import { includesTenant } from '../../src/auth/tokens/check-token.ts';
import type { KnownRoute, RouteFacts } from '../../src/http/route-table.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { MERCHANTS, type MerchantName } from '../support/tenants.ts';
import { ask, errorCodeOf, gather, gist, nameOf, type ReceivedResponse } from './ask.ts';
import { credentialsOf, keysWithout, type Shown, shownTo } from './credentials.ts';
import type { Row } from './row.ts';
import { isFile, isOfConsole, OPEN_ROUTES, rowsOf } from './rows.ts';
import { nobodysThings, type Things, thingsOf } from './things.ts';
import { PATIENT, type TriedRoute, triedRoutes, UNLIMITED } from './tried-route.ts';
import { type Owner, usable } from './usable.ts';

/**
 * Every route that the gateway lists, with every kind of credential and every id in its request. The first merchant
 * owns the things; the others are of the same integrator, of the same acquirer, and of another acquirer.
 */
const OWNER = 'coffee';
const STRANGERS = ['bakery', 'flowers', 'tailor'] as const;

let installation: Installation;
let routes: TriedRoute[];
const things = {} as Record<MerchantName, Things>;
const credentials = {} as Record<MerchantName, Shown[]>;
let nobodys: Things;
beforeAll(async () => {
  installation = await startInstallation({ settings: UNLIMITED, profile: PATIENT });
  await Promise.all(
    ([OWNER, ...STRANGERS] as const).map(async (merchant, at) => {
      things[merchant] = await thingsOf(installation, merchant, 41 + at);
      credentials[merchant] = await credentialsOf(installation, merchant, things[merchant]);
    }),
  );
  nobodys = nobodysThings(things[OWNER]);
  const rows = rowsOf(installation);
  routes = triedRoutes(installation).filter((route) => nameOf(route) in rows);
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

const send = (route: TriedRoute, about: Things, shown: Pick<Shown, 'headers'>) =>
  Promise.resolve(route.row.send(about)).then((sent) => ask(installation.url, route, sent, shown.headers));

test('every route has a row in the matrix, or is known to be open', () => {
  const rows = rowsOf(installation);
  const guarded = installation.routes.filter((route) => !isOpen(route));
  expect(guarded.filter((route) => !(nameOf(route) in rows)).map(nameOf)).toEqual([]);
  expect(guarded.filter(({ facts }) => facts.takes.length === 0).map(nameOf)).toEqual([]);
  const known = new Set(installation.routes.map(nameOf));
  expect([...Object.keys(rows), ...OPEN_ROUTES].filter((name) => !known.has(name))).toEqual([]);
});

function isOpen(route: KnownRoute): boolean {
  const isPart = route.method === 'GET' && route.facts.isAsset === true && isFile(route.url);
  return OPEN_ROUTES.has(nameOf(route)) || isPart || isOfConsole(route);
}

test('a credential that a route does not accept is 401 or 403, with any body', async () => {
  const none: Pick<Shown, 'name' | 'headers'> = { name: 'nothing', headers: {} };
  const tries = routes.flatMap((route) => {
    const others = credentials[OWNER].filter(({ kind }) => !route.facts.takes.includes(kind));
    const alone = route.facts.takesBoth ? credentials[OWNER] : [];
    return [none, ...others, ...alone].map((shown) => ({ route, shown }));
  });
  const faults = await gather(tries, async ({ route, shown }) => {
    const sent = await route.row.send(things[OWNER]);
    const isRead = route.method !== 'GET' && route.method !== 'DELETE';
    const response = await ask(installation.url, route, sent, shown.headers, isRead ? '{' : undefined);
    const isRefused = [401, 403].includes(response.status) && [100, 101, 102, 117].includes(errorCodeOf(response) ?? 0);
    return isRefused ? undefined : describeResponse(route, shown.name, response);
  });
  expect(faults).toEqual([]);
  expect(tries.length).toBeGreaterThan(routes.length * 3);
});

test('a key without the scope of a route is 403, and so is a portal user whose role lacks it', async () => {
  const scopes = [...new Set(routes.flatMap(({ facts }) => facts.scope ?? []))];
  const lacking = new Map(
    await Promise.all(
      scopes.map(async (scope) => {
        const users = credentials[OWNER].filter(({ role }) => role && !includes(ROLE_SCOPES[role], scope));
        return [scope, [...(await keysWithout(installation, OWNER, scope)), ...users]] as const;
      }),
    ),
  );
  const tries = routes.flatMap((route) => {
    const { scope } = route.facts;
    if (scope === undefined) return [];
    const token = credentials[OWNER].find(({ kind }) => kind === 'merchantToken')!;
    return shownTo(route.facts, [...lacking.get(scope)!, ...(route.facts.takesBoth ? [token] : [])]).map((shown) => ({
      route,
      shown,
    }));
  });
  const faults = await gather(tries, async ({ route, shown }) => {
    const response = await send(route, things[OWNER], shown);
    return response.status === 403 ? undefined : describeResponse(route, shown.name, response);
  });
  expect(faults).toEqual([]);
  expect(tries.length).toBeGreaterThan(routes.length);
});

interface Attempt {
  readonly merchant: MerchantName;
  readonly route: TriedRoute;
  readonly shown: Shown;
  /** The names of the owner's things in the caller's own request. */
  readonly taken: readonly (keyof Things)[];
}

test('what belongs to another tenant receives exactly the same response as what does not exist', async () => {
  const attempts = (await Promise.all(STRANGERS.map((merchant) => attemptsOf(merchant)))).flat();
  const faults = await gather(attempts, async (attempt) => {
    const { merchant, route, shown, taken } = attempt;
    // One after the other, so that each kind of request was made equally often before.
    const [theirs, unknown] = [await tryWith(attempt, things[OWNER]), await tryWith(attempt, nobodys)];
    if (theirs.gist === unknown.gist && theirs.leak === undefined) return undefined;
    return `${nameOf(route)} with ${shown.name} of ${merchant}, ${taken}: ${theirs.gist} ${theirs.leak ?? ''}, not ${unknown.gist}`;
  });
  expect(faults).toEqual([]);
  expect(attempts.length).toBeGreaterThan(routes.length * 2);
});

/** The request with `taken` of these things, and otherwise its own. */
async function tryWith({ merchant, route, shown, taken }: Attempt, source: Things) {
  const { about, headers } = await usable(route.row, shown, ownerOf(merchant), false);
  const asked = { ...about, ...Object.fromEntries(taken.map((name) => [name, source[name]])) };
  const response = await send(route, asked, { headers });
  const named = taken.map((name) => source[name]);
  return { gist: gist(response, named), leak: leakIn(response.text, named) };
}

function ownerOf(merchant: MerchantName): Owner {
  const { headers } = credentials[merchant].find(({ kind }) => kind === 'acquirerKey')!;
  return { installation, merchant, things: things[merchant], acquirerKey: headers };
}

/** One attempt for each thing that a request names, and one for all of them. */
async function attemptsOf(merchant: (typeof STRANGERS)[number]): Promise<Attempt[]> {
  const own = things[merchant];
  const perRoute = await Promise.all(
    routes.map(async (route) => {
      const names = await namesReadBy(route.row, own);
      const each = names.map((name) => [name]);
      const takens: (keyof Things)[][] = names.length > 1 ? [...each, names] : each;
      const strangers = shownTo(route.facts, credentials[merchant]).filter((shown) =>
        isStranger(shown, names, merchant),
      );
      return strangers.flatMap((shown) =>
        takens
          .filter((taken) => !(shown.owner === 'operator' && taken.includes('acquirerId')))
          .map((taken) => ({
            merchant,
            route,
            shown,
            taken: taken.filter((name) => own[name] !== things[OWNER][name]),
          }))
          .filter(({ taken }) => taken.length > 0),
      );
    }),
  );
  return perRoute.flat();
}

/** The operator may see everything, but not one acquirer's things at another's address. */
function isStranger({ owner, role }: Shown, names: readonly (keyof Things)[], merchant: MerchantName): boolean {
  if (owner === 'operator') return merchant === 'tailor' && names.includes('acquirerId');
  const { acquirerId, integratorId, id: merchantId } = MERCHANTS[OWNER];
  return !includesTenant(owner, { acquirerId, integratorId, merchantId }) && (role ?? 'admin') === 'admin';
}

/** The names in a row's request, from the things that it reads. */
async function namesReadBy({ send }: Row, about: Things): Promise<(keyof Things)[]> {
  const read = new Set<keyof Things>();
  const watched = new Proxy(about, {
    get(target, name) {
      if (name in target && typeof target[name as keyof Things] !== 'object') read.add(name as keyof Things);
      return target[name as keyof Things];
    },
  });
  await send(watched);
  return [...read];
}

/** A value of the owner that others cannot know, except those in the request. */
function leakIn(text: string, asked: readonly unknown[]): string | undefined {
  const secrets = Object.entries(things[OWNER]).filter(
    ([, value]) => String(value).length >= 16 && !asked.includes(value),
  );
  return secrets.find(([, value]) => text.includes(String(value)))?.[0];
}

test('a list contains the caller’s own things, and nothing of other tenants', async () => {
  const lists = routes.filter(({ row }) => row.lists);
  const names = [OWNER, ...STRANGERS] as const;
  const tries = lists.flatMap((route) =>
    names.flatMap((merchant) =>
      shownTo(route.facts, credentials[merchant]).map((shown) => ({ route, merchant, shown })),
    ),
  );
  const faults = await gather(tries, async ({ route, merchant, shown }) => {
    if (!mayBy(shown, route.facts)) return undefined;
    const { params = {} } = await route.row.send(things[merchant]);
    const response = await ask(installation.url, route, { params, query: { limit: 500 } }, shown.headers);
    const listed = names.filter((name) => listsThing(response, things[name][route.row.lists!]));
    const [acquirerId] = [params.acquirerId === undefined ? undefined : things[merchant].acquirerId];
    const expected = names.filter((name) => isWithin(shown.owner, name, acquirerId));
    const isRight =
      response.status === 200 &&
      names.every((name) => listed.includes(name) === expected.includes(name) || isSame(route, name, listed));
    return isRight
      ? undefined
      : `${describeResponse(route, `${shown.name} of ${merchant}`, response)}: lists ${listed}, not ${expected}`;
  });
  expect(faults).toEqual([]);
  expect(lists.length).toBeGreaterThan(10);
});

function listsThing({ text }: ReceivedResponse, thing: Things[keyof Things]): boolean {
  const rows = JSON.parse(text) as Record<string, unknown>[];
  return rows.some(({ id, xTid, deviceInstallationId, name }) =>
    [id, xTid, deviceInstallationId, name].includes(thing),
  );
}

/** Whether two of these have things with one name, such as merchants of two acquirers. */
function isSame({ row }: TriedRoute, name: MerchantName, listed: readonly MerchantName[]): boolean {
  return listed.some((other) => other !== name && things[other][row.lists!] === things[name][row.lists!]);
}

function isWithin(owner: Shown['owner'], name: MerchantName, acquirerId: number | undefined): boolean {
  const { id: merchantId, ...tenant } = MERCHANTS[name];
  if (owner === 'operator') return tenant.acquirerId === acquirerId;
  return includesTenant(owner, { acquirerId: tenant.acquirerId, integratorId: tenant.integratorId, merchantId });
}

test('every kind of credential that a route accepts works with its own things', async () => {
  const tries = routes.flatMap((route) =>
    shownTo(route.facts, credentials[OWNER])
      .filter((shown) => mayBy(shown, route.facts))
      .map((shown) => ({ route, shown })),
  );
  const faults = await gather(tries, async ({ route, shown }) => {
    const { about, headers } = await usable(route.row, shown, ownerOf(OWNER));
    const response = await send(route, about, { headers });
    return response.status < 300 ? undefined : describeResponse(route, shown.name, response);
  });
  expect(faults).toEqual([]);
  expect(new Set(tries.map(({ route }) => nameOf(route)))).toEqual(new Set(routes.map(nameOf)));
});

/** POSTs without an Idempotency-Key, each with the reason why a repeat is harmless. */
const HARMLESS_TWICE: Readonly<Record<string, string>> = {
  'POST /login': 'another session',
  'POST /mobile/proximity-token': 'another token',
  'POST /tokens/check': 'changes nothing',
  'POST /transactions/references/check': 'changes nothing',
  'POST /acquirers/:acquirerId/processors/:id/check': 'changes nothing',
  'POST /acquirers/:acquirerId/routes/all/check': 'changes nothing',
  'POST /acquirers/:acquirerId/integrators/:id/callbacks/links/test': 'another test',
  'POST /acquirers/:acquirerId/integrators/:id/callbacks/taps/test': 'another test',
  'POST /transactions/mobile': 'the merchantReference is its key',
  'POST /transactions/:transactionId/submitPinMobile': 'the pinToken is spent once',
  'POST /transactions/:id/acknowledge': 'stays acknowledged',
  'POST /consumer/acknowledge': 'never goes back',
  'POST /integrator/callbackUrl': 'the same URL again',
  'POST /integrator/events/:id/replay': 'receivers recognize the id of an event',
  'POST /integrator/events/replay': 'receivers recognize the id of an event',
};

test('every POST that creates something accepts an Idempotency-Key', () => {
  const posts = installation.routes.filter(({ method, facts }) => method === 'POST' && !facts?.isAsset);
  const others = posts.filter((route) => !route.isIdempotent).map(nameOf);
  expect(others.sort()).toEqual(Object.keys(HARMLESS_TWICE).sort());
});

test('the same request with one Idempotency-Key is carried out once, and a different one refused', async () => {
  const keyed = routes.filter((route) => route.isIdempotent);
  let refused = 0;
  const faults = await gather(keyed, async (route) => {
    const shown = shownTo(route.facts, credentials[OWNER]).find((each) => mayBy(each, route.facts))!;
    const { about, headers } = await usable(route.row, shown, ownerOf(OWNER));
    const [sent, other] = [await route.row.send(about), await route.row.send(about)];
    const credential = { ...headers, 'idempotency-key': randomUUID() };
    const first = await ask(installation.url, route, sent, credential);
    const again = await ask(installation.url, route, sent, credential);
    const isReplayed =
      again.headers.get('idempotency-replayed') === 'true' && !first.headers.has('idempotency-replayed');
    if (first.status >= 300 || !isReplayed || again.status !== first.status || again.text !== first.text)
      return `${describeResponse(route, shown.name, first)}, then ${describeResponse(route, shown.name, again)}`;
    if (JSON.stringify(sent) === JSON.stringify(other)) return undefined;
    const differing = await ask(installation.url, route, other, credential);
    refused++;
    return differing.status === 422 ? undefined : describeResponse(route, `another body by ${shown.name}`, differing);
  });
  expect(faults).toEqual([]);
  expect(keyed.length).toBeGreaterThan(20);
  expect(refused).toBeGreaterThan(10);
});

function mayBy({ role }: Shown, { scope }: RouteFacts): boolean {
  return role === undefined || scope === undefined || includes(ROLE_SCOPES[role], scope);
}

function includes(list: readonly string[], text: string): boolean {
  return list.includes(text);
}

function describeResponse(route: TriedRoute, name: string, { status, text }: ReceivedResponse): string {
  return `${nameOf(route)} with ${name}: ${status} ${text.slice(0, 300)}`;
}
