import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { operationsOf, readStoredDocument } from '../support/api-document.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { type Answer, ask, errorCodeOf, gather, nameOf } from './ask.ts';
import { credentialsOf, type Shown, shownTo } from './credentials.ts';
import { bePatient } from './patience.ts';
import { type Row, row, type Sent } from './row.ts';
import { changed, fieldsOf, type Place, placesIn, strangely } from './strange.ts';
import { type Things, thingsOf } from './things.ts';
import { type TriedRoute, triedRoutes, UNLIMITED } from './tried-route.ts';

/**
 * Requests that are right but for one thing, to every route. `npm run fuzz -- http --seconds N` goes on
 * for that long, from another seed each time.
 */
const SECONDS = Number(process.env.HTTP_FUZZ_SECONDS ?? 0);
const SEED = Number(process.env.HTTP_FUZZ_SEED ?? 20_260_301);
/** For each route, in each round. */
const REQUESTS_PER_ROUTE = 6;
const LONGEST_MS = 180_000 + SECONDS * 2_000;

interface StrangelyTried extends TriedRoute {
  /** What its query may have. */
  readonly parameters: readonly string[];
  /** What its body may have. */
  readonly fields: readonly Place[];
}

bePatient();

let installation: Installation;
let things: Things;
let credentials: Shown[];
let routes: StrangelyTried[];
beforeAll(async () => {
  installation = await startInstallation({ settings: UNLIMITED });
  things = await thingsOf(installation, 'coffee', 41);
  credentials = await credentialsOf(installation, 'coffee', things);
  const document = readStoredDocument();
  const operations = new Map(operationsOf(document).map((each) => [nameOf({ ...each, url: urlOf(each.path) }), each]));
  const tried = triedRoutes(installation, openRow).filter(({ facts }) => !facts.isAsset);
  routes = tried.map((route) => {
    const { schema } = route;
    const body = operations.get(nameOf(route))?.requestBody?.content['application/json'];
    const fields = fieldsOf(body?.schema, document.components.schemas);
    const parameters = schema.querystring instanceof z.ZodObject ? Object.keys(schema.querystring.shape) : [];
    return { ...route, fields, parameters };
  });
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

/** `/transactions/{id}` -> `/transactions/:id` */
function urlOf(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

/** Of a route that asks for nothing. */
function openRow(name: string): Row {
  return row(() => (name === 'POST /login' ? { body: { username: 'nobody@example', password: 'nothing' } } : {}));
}

/** What a configuration that cannot be found is answered with is ours to say, and no accident. */
const MEANT = [104, 208];

/** Sends it; a fault when it was more than the gateway could take. */
async function faultOf(route: TriedRoute, sent: Sent): Promise<string | undefined> {
  const { headers } = shownTo(route.facts, credentials)[0] ?? { headers: {} };
  const answer = await ask(installation.url, route, sent, headers);
  const isBroken = answer.status >= 500 && !MEANT.includes(errorCodeOf(answer) ?? 0);
  return isBroken || !isProblem(answer)
    ? `${nameOf(route)} ${JSON.stringify(sent).slice(0, 600)}: ${answer.status} ${answer.text.slice(0, 200)}`
    : undefined;
}

/** What is refused is refused as everything is; node itself turns away headers that are too long. */
function isProblem({ status, headers }: Answer): boolean {
  return status < 400 || status === 431 || headers.get('content-type') === 'application/problem+json';
}

/** As they come in a body, an address and a query. */
const UNSTORABLE = ['a\0b', 'a\udc00b'];

test(
  'text that no database holds is refused in every field of every route, never more',
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
  `a request with one strange thing in it is never more than the gateway can take (seed ${SEED})`,
  async () => {
    const untilMs = performance.now() + SECONDS * 1_000;
    const faults: string[] = [];
    let round = 0;
    do {
      const tries = await Promise.all(
        routes.map(async (route, index) => {
          const options = { seed: SEED + round * routes.length + index, numRuns: REQUESTS_PER_ROUTE };
          return fc.sample(strangely(await route.row.send(things), route), options).map((sent) => ({ route, sent }));
        }),
      );
      faults.push(...(await gather(tries.flat(), ({ route, sent }) => faultOf(route, sent))));
      round++;
    } while (faults.length === 0 && performance.now() < untilMs);
    expect(faults).toEqual([]);
  },
  LONGEST_MS,
);

test('and then everything works as before', async () => {
  const answer = await installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
  expect(answer).toMatchObject({ status: 200, body: { onlineAuthorizationResponse: { type: 'Approved' } } });
});
