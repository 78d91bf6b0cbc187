import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { operationsOf, readStoredDocument } from '../support/api-document.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { ask, errorCodeOf, gather, nameOf, type ReceivedResponse } from './ask.ts';
import { credentialsOf, type Shown, shownTo } from './credentials.ts';
import { type Row, row, type Sent } from './row.ts';
import { changed, fieldsOf, NUMBERS, numericPlaces, type Place, placesIn, strangely } from './strange.ts';
import { NOWHERE, type Things, thingsOf } from './things.ts';
import { PATIENT, type TriedRoute, triedRoutes, UNLIMITED } from './tried-route.ts';

/**
 * Valid requests with one fault, to every route. `npm run fuzz -- http --seconds N` continues for that long, with
 * another seed each time.
 */
const SECONDS = Number(process.env.HTTP_FUZZ_SECONDS ?? 0);
const SEED = Number(process.env.HTTP_FUZZ_SEED ?? 20_260_301);
/** For each route, in each round. */
const REQUESTS_PER_ROUTE = 6;
const LONGEST_MS = 300_000 + SECONDS * 2_000;

interface StrangelyTried extends TriedRoute {
  /** The parameters of its query. */
  readonly parameters: readonly string[];
  /** The fields of its body. */
  readonly fields: readonly Place[];
  /** The fields that may be numbers; `sent` may have more. */
  readonly numbersIn: (sent: Sent) => readonly Place[];
}

/** Without a credential. */
const NONE: Pick<Shown, 'headers'> = { headers: {} };

let installation: Installation;
let things: Things;
let credentials: Shown[];
let routes: StrangelyTried[];
beforeAll(async () => {
  installation = await startInstallation({ settings: UNLIMITED, profile: PATIENT });
  things = await thingsOf(installation, 'coffee', 41);
  await registerLinksCallback();
  credentials = await credentialsOf(installation, 'coffee', things);
  const document = readStoredDocument();
  const operations = new Map(operationsOf(document).map((each) => [nameOf({ ...each, url: urlOf(each.path) }), each]));
  const tried = triedRoutes(installation, openRow).filter(({ facts }) => !facts.isAsset);
  routes = tried.map((route) => {
    const { schema } = route;
    const body = operations.get(nameOf(route))?.requestBody?.content['application/json'];
    const fields = fieldsOf(body?.schema, document.components.schemas);
    const parameters = schema.querystring instanceof z.ZodObject ? Object.keys(schema.querystring.shape) : [];
    const numbersIn = (sent: Sent) => numericPlaces(body?.schema, document.components.schemas, sent.body);
    return { ...route, fields, parameters, numbersIn };
  });
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

/** A strange request may rightly make the acquirer require attestations, which the phone of this test does not send. */
async function removeAttesters(): Promise<void> {
  const key = await saveApiKey(installation.database, { acquirerId: things.acquirerId }, ['credentials:manage']);
  const url = new URL(`/acquirers/${things.acquirerId}/attesters`, installation.url);
  const headers = { 'x-api-key': key };
  const { rows } = await installation.database.query<{ name: string }>(
    'select name from attesters where acquirer_id = $1',
    [things.acquirerId],
  );
  for (const { name } of rows) {
    const { status } = await fetch(`${url}/${encodeURIComponent(name)}`, { method: 'DELETE', headers });
    expect(status).toBe(204);
  }
}

/** Without one, every request about its secret would be 404. */
async function registerLinksCallback(): Promise<void> {
  const key = await saveApiKey(installation.database, { acquirerId: things.acquirerId }, ['webhooks:manage']);
  const path = `/acquirers/${things.acquirerId}/integrators/${things.integratorId}/callbacks/links`;
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const body = JSON.stringify({ callbackUrl: NOWHERE });
  const { status } = await fetch(new URL(path, installation.url), { method: 'PUT', headers, body });
  expect(status).toBe(200);
}

/** `/transactions/{id}` -> `/transactions/:id` */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** For a route without credentials. */
function openRow(name: string): Row {
  return row(() => (name === 'POST /login' ? { body: { username: 'unknown@example', password: 'nothing' } } : {}));
}

/** A missing configuration is 500 according to section 7.1 of the interface, and not a fault. */
const NO_CONFIGURATION = 208;

/**
 * Sends it; returns a fault if it was more than the gateway could handle. `shown`: the credential, by default one that
 * it accepts.
 */
async function faultOf(
  route: TriedRoute,
  sent: Sent,
  shown: Pick<Shown, 'headers'> = shownTo(route.facts, credentials)[0] ?? NONE,
): Promise<string | undefined> {
  const response = await ask(installation.url, route, sent, shown.headers);
  const isBroken = response.status >= 500 && response.status !== 503 && errorCodeOf(response) !== NO_CONFIGURATION;
  return isBroken || !isProblem(response)
    ? `${nameOf(route)} ${JSON.stringify(sent).slice(0, 600)}: ${response.status} ${response.text.slice(0, 200)}`
    : undefined;
}

function isProblem({ status, headers }: ReceivedResponse): boolean {
  return status < 400 || headers.get('content-type') === 'application/problem+json';
}

/** As in a body, an address and a query. */
const UNSTORABLE = ['a\0b', 'a\udc00b'];

test(
  'text that no database can store is only refused, in every field of every route',
  async () => {
    const tries = (
      await Promise.all(
        routes.map(async (route) => {
          const sent = await route.row.send(things);
          const places = [
            ...placesIn(sent.body).filter((place) => typeof at(sent.body, place) === 'string'),
            ...route.fields,
          ];
          const inBody =
            sent.body === undefined
              ? []
              : places.map((place) => (text: string) => ({ ...sent, body: changed(sent.body, place, text) }));
          const inAddress = Object.keys(sent.params ?? {}).map((name) => (text: string) => ({
            ...sent,
            params: { ...sent.params, [name]: text },
          }));
          const inQuery = route.parameters.map((name) => (text: string) => ({
            ...sent,
            query: { ...sent.query, [name]: text },
          }));
          return [...inBody, ...inAddress, ...inQuery].flatMap((change) =>
            UNSTORABLE.map((text) => ({ route, sent: change(text) })),
          );
        }),
      )
    ).flat();
    expect(await gather(tries, ({ route, sent }) => faultOf(route, sent))).toEqual([]);
    expect(tries.length).toBeGreaterThan(500);
  },
  LONGEST_MS,
);

function at(value: unknown, place: Place): unknown {
  return place.reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
}

test(
  'a number of any size and form is accepted or refused in every numeric field',
  async () => {
    const tries = (
      await Promise.all(
        routes.map(async (route) => {
          const sent = await route.row.send(things);
          return route
            .numbersIn(sent)
            .flatMap((place) =>
              NUMBERS.map((number) => ({ route, sent: { ...sent, body: changed(sent.body, place, number) } })),
            );
        }),
      )
    ).flat();
    expect(await gather(tries, ({ route, sent }) => faultOf(route, sent))).toEqual([]);
    expect(tries.length).toBeGreaterThan(500);
  },
  LONGEST_MS,
);

/** Mostly one that the route accepts; sometimes another, or none. */
function anyCredential({ facts }: TriedRoute): fc.Arbitrary<Shown | undefined> {
  const taken = shownTo(facts, credentials);
  const any = fc.option(fc.constantFrom(...credentials), { nil: undefined });
  return taken.length === 0 ? any : fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...taken) }, any);
}

test(
  `a request with one strange element never causes more than a refusal (seed ${SEED})`,
  async () => {
    const untilMs = performance.now() + SECONDS * 1_000;
    const faults: string[] = [];
    let round = 0;
    let count = 0;
    do {
      const tries = await Promise.all(
        routes.map(async (route, index) => {
          const options = { seed: SEED + round * routes.length + index, numRuns: REQUESTS_PER_ROUTE };
          const strange = strangely(await route.row.send(things), route);
          const pairs = fc.sample(fc.tuple(strange, anyCredential(route)), options);
          return pairs.map(([sent, shown]) => ({ route, sent, shown: shown ?? NONE }));
        }),
      );
      faults.push(...(await gather(tries.flat(), ({ route, sent, shown }) => faultOf(route, sent, shown))));
      count += tries.flat().length;
      round++;
    } while (faults.length === 0 && performance.now() < untilMs);
    if (SECONDS > 0) console.log(`${count} requests in ${round} rounds`);
    expect(faults).toEqual([]);
  },
  LONGEST_MS,
);

test(
  'everything works as before after the strange requests',
  async () => {
    await removeAttesters();
    // The gateway knows of a removal within seconds.
    await expect
      .poll(() => installation.phone().tap({ amount: '10.00', currency: 'ZAR' }), { interval: 250 })
      .toMatchObject({ status: 200, body: { onlineAuthorizationResponse: { type: 'Approved' } } });
  },
  LONGEST_MS,
);
