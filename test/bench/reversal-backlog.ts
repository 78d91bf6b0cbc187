/**
 * The effect of a backlog of 10,000 reversals on taps: taps per second without one and with one, alternating on one
 * gateway. The backlog is as after an outage: uncertain taps of yesterday, all of them due at once, whose original the
 * switch does not know. So each is sent, doubted, and due again a minute later.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createCardVault } from '../../src/card/card-vault.ts';
import { readConfig } from '../../src/start/config.ts';
import { openKeyRing } from '../../src/start/open-key-ring.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { MAX_PER_SECOND, type Parts, startParts } from './e2e.ts';
import { percentile } from './http-load.ts';
import { type FullLoad, measureFullLoad, measurePeak, WARM_UP_SECONDS } from './peak.ts';
import type { BenchOptions } from './run.ts';

const BACKLOG = 10_000;
const SECONDS = 6;
const ROUNDS = 3;

const KINDS = ['none', 'backlog'] as const;
type Kind = (typeof KINDS)[number];

interface Figure extends FullLoad {
  readonly reversalsPerSecond: number;
}

export async function bench(
  { seconds = SECONDS, rounds = ROUNDS }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = await startParts(folder, closers);
  await measurePeak(parts, WARM_UP_SECONDS);
  const figures: Record<Kind, Figure[]> = { none: [], backlog: [] };
  for (let round = 0; round < rounds; round++) {
    for (const kind of KINDS) figures[kind].push(await measure(parts, folder, kind, seconds));
  }
  const ratio = printTable(figures);
  return { ratio, ...figures };
}

async function measure(parts: Parts, folder: string, kind: Kind, seconds: number): Promise<Figure> {
  const { database, taps } = parts;
  await taps.prepare(seconds * MAX_PER_SECOND);
  if (kind === 'backlog') await makeBacklog(database, folder);
  const sentBefore = await sentReversals(database);
  const load = await measureFullLoad(parts, seconds);
  const reversalsPerSecond = ((await sentReversals(database)) - sentBefore) / seconds;
  const { rows } = await database.query(
    "select count(*)::int as left from pgboss.job where name = 'reverse' and state < 'completed'",
  );
  console.log(
    `${kind.padEnd(8)} ${load.tapsPerSecond.toFixed(0)} taps/s of ${load.microsecondsPerTap.toFixed(0)} µs, ${reversalsPerSecond.toFixed(0)} reversals/s, ${rows[0].left} jobs left`,
  );
  await database.query("delete from pgboss.job where name = 'reverse'");
  await database.query('update transactions set reversal_state = 3 where reversal_state in (1, 2, 5)');
  return { ...load, reversalsPerSecond };
}

async function sentReversals(database: Database): Promise<number> {
  const { rows } = await database.query('select coalesce(sum(reversal_attempt), 0)::int as sent from transactions');
  return rows[0].sent;
}

/** Copies of one approved tap with their own ids, STANs and sealed cards, as if their responses had been lost. */
async function makeBacklog(database: Database, folder: string): Promise<void> {
  const vault = createCardVault(await openKeyRing(readConfig({ TAPWIRE_DATA: folder })));
  const { rows } = await database.query<{ acquirerId: number; id: string; sealed: Buffer }>(
    `select acquirer_id as "acquirerId", id, sealed_card as sealed from transactions where sealed_card is not null limit 1`,
  );
  const { acquirerId, id, sealed } = rows[0]!;
  const card = vault.open(id, sealed);
  const copies = Array.from({ length: BACKLOG }, () => {
    const copy = randomUUID();
    return {
      id: copy,
      reference: randomBytes(12).toString('hex'),
      sealed: `\\x${Buffer.from(vault.seal(copy, card)).toString('hex')}`,
    };
  });
  const { rows: columns } = await database.query<{ names: string; copied: string }>(
    `select string_agg(quote_ident(column_name), ', ') as names, string_agg('(r).' || quote_ident(column_name), ', ') as copied
     from information_schema.columns where table_name = 'transactions' and is_generated = 'NEVER'`,
  );
  const { names, copied } = columns[0]!;
  await database.query(
    `insert into transactions (${names})
     select ${copied} from (select jsonb_populate_record(t, jsonb_build_object('id', c.id, 'merchant_reference', c.reference, 'sealed_card', c.sealed,
       'status', 9, 'disposition', 4, 'reversal_state', 1, 'reversal_attempt', 0, 'response_code', null,
       'deadline_at', now() - interval '1 day', 'sent_at', now() - interval '1 day')) as r
     from transactions t cross join json_to_recordset($3::json) as c(id uuid, reference text, sealed text)
     where t.acquirer_id = $1 and t.id = $2) as copies`,
    [acquirerId, id, JSON.stringify(copies)],
  );
  await database.query(
    `insert into pgboss.job (name, data, retry_limit, expire_seconds, deletion_seconds, keep_until, dead_letter)
     select 'reverse', jsonb_build_object('acquirerId', $1::int, 'id', id, 'attempt', 1, 'reversalAttempt', 1), 10000, 150, 3600,
       now() + interval '1 day', 'dead-letters'
     from json_to_recordset($2::json) as c(id uuid)`,
    [acquirerId, JSON.stringify(copies)],
  );
  await database.query('analyze transactions, pgboss.job'); // as autovacuum would have done by then
}

/** @returns the taps per second with the backlog as a share of those without */
function printTable(figures: Record<Kind, Figure[]>): number {
  const median = (kind: Kind, key: keyof Figure) =>
    percentile(
      figures[kind].map((figure) => figure[key]),
      0.5,
    );
  console.log(`
| backlog of ${BACKLOG} reversals | taps per second | gateway and Postgres per tap | reversals per second |
|---|---|---|---|`);
  for (const kind of KINDS) {
    const [taps, cost, sent] = (['tapsPerSecond', 'microsecondsPerTap', 'reversalsPerSecond'] as const).map((key) =>
      median(kind, key).toFixed(0),
    );
    console.log(`| ${kind} | ${taps} | ${cost} µs | ${sent} |`);
  }
  const ratio = median('backlog', 'tapsPerSecond') / median('none', 'tapsPerSecond');
  console.log(`\ntaps per second with the backlog: ${(ratio * 100).toFixed(1)} % of those without`);
  return ratio;
}
