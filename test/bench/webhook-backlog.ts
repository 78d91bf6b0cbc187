/**
 * The effect of a backlog of 100,000 webhooks on taps: taps per second without one, with one for a receiver that
 * accepts them, and with one for a receiver that hangs. The three are measured alternating, on one gateway.
 */
import { randomBytes } from 'node:crypto';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { MAX_PER_SECOND, type Parts, startParts } from './e2e.ts';
import { percentile } from './http-load.ts';
import { type FullLoad, measureFullLoad, measurePeak, WARM_UP_SECONDS } from './peak.ts';
import type { BenchOptions } from './run.ts';
import { WebhookSink } from './webhook-sink.ts';

const BACKLOG = 100_000;
const SECONDS = 6;
const ROUNDS = 3;
/** The directory of the gateway is updated, and the first attempts begin. */
const SETTLE_MS = 3_000;
/** Not the benchmark's own integrator: its taps have no webhooks of their own. */
const INTEGRATOR = 2;

const KINDS = ['none', 'taken', 'hanging'] as const;
type Kind = (typeof KINDS)[number];

interface Figure extends FullLoad {
  readonly attemptsPerSecond: number;
}

type Figures = Record<Kind, Figure[]>;

export async function bench(
  { seconds = SECONDS, rounds = ROUNDS }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = await startParts(folder, closers);
  const endpoints = await saveEndpoints(parts.database, folder, await WebhookSink.start(closers));
  await measurePeak(parts, WARM_UP_SECONDS);
  const figures: Figures = { none: [], taken: [], hanging: [] };
  for (let round = 0; round < rounds; round++) {
    for (const kind of KINDS) figures[kind].push(await measure(parts, kind, endpoints[kind], seconds));
  }
  printTable(figures);
  return figures;
}

async function saveEndpoints(
  database: Database,
  folder: string,
  sink: WebhookSink,
): Promise<Record<Kind, string | undefined>> {
  await database.query("insert into integrators (acquirer_id, id, name) values (1, 2, 'Notified of everything')");
  const register = (serves: 'taps' | 'links', path: string) =>
    sink.register(database, folder, { integratorId: INTEGRATOR, serves, path });
  return { none: undefined, taken: await register('taps', '/taken-all'), hanging: await register('links', '/hanging') };
}

async function measure(parts: Parts, kind: Kind, endpoint: string | undefined, seconds: number): Promise<Figure> {
  const { database, taps } = parts;
  await taps.prepare(seconds * MAX_PER_SECOND);
  if (endpoint) await makeBacklog(database, endpoint);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const attempts = await attemptsOf(database);
  const load = await measureFullLoad(parts, seconds);
  const attemptsPerSecond = ((await attemptsOf(database)) - attempts) / seconds;
  const { rows } = await database.query("select count(*)::int as left from pgboss.job where name = 'webhook'");
  console.log(
    `${kind.padEnd(8)} ${load.tapsPerSecond.toFixed(0)} taps/s of ${load.microsecondsPerTap.toFixed(0)} µs, ${attemptsPerSecond.toFixed(0)} attempts/s, ${rows[0].left} jobs left`,
  );
  await database.query("delete from pgboss.job where name = 'webhook'");
  return { ...load, attemptsPerSecond };
}

async function attemptsOf(database: Database): Promise<number> {
  const { rows } = await database.query('select count(*)::int as attempts from webhook_attempts');
  return rows[0].attempts;
}

/** As if that many outcomes had been committed while no gateway ran. */
async function makeBacklog(database: Database, endpoint: string): Promise<void> {
  const body = JSON.stringify({ padding: randomBytes(300).toString('hex') });
  await database.query(
    `with events as (
       insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body)
       select 1, gen_random_uuid(), $2, $1, gen_random_uuid(), 'transaction.completed', $3 from generate_series(1, ${BACKLOG})
       returning id
     )
     insert into pgboss.job (name, data, retry_limit, expire_seconds, deletion_seconds, keep_until)
     select 'webhook', jsonb_build_object('acquirerId', 1, 'eventId', id, 'endpointId', $1::text, 'round', 1, 'delivery', 1),
       10000, 60, 3600, now() + interval '1 day' from events`,
    [endpoint, INTEGRATOR, body],
  );
}

function printTable(figures: Figures): void {
  const median = (kind: Kind, key: keyof Figure) =>
    percentile(
      figures[kind].map((figure) => figure[key]),
      0.5,
    );
  const ofNone = (kind: Kind, key: keyof Figure) => `${((median(kind, key) / median('none', key)) * 100).toFixed(1)} %`;
  console.log(`
| backlog of ${BACKLOG} | taps per second | | gateway and Postgres per tap | | attempts per second |
|---|---|---|---|---|---|`);
  for (const kind of KINDS) {
    const taps = `${median(kind, 'tapsPerSecond').toFixed(0)} | ${ofNone(kind, 'tapsPerSecond')}`;
    const cost = `${median(kind, 'microsecondsPerTap').toFixed(0)} µs | ${ofNone(kind, 'microsecondsPerTap')}`;
    console.log(`| ${kind} | ${taps} | ${cost} | ${median(kind, 'attemptsPerSecond').toFixed(0)} |`);
  }
}
