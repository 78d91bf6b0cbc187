/**
 * What keeping the masked messages costs a tap: processor time of gateway and Postgres with all messages and with none,
 * alternating, on two installations side by side; how many were kept, and their size on disk.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { CONNECTIONS, MAX_PER_SECOND, type Parts, startParts } from './e2e.ts';
import { checked, percentile, saturate } from './http-load.ts';
import { processorTime } from './processor-time.ts';
import type { BenchOptions } from './run.ts';

const SECONDS = 6;
const ROUNDS = 5;
const WARM_UP_SECONDS = 3;
/** Waiting messages are written every tenth of a second. */
const SETTLE_MS = 1_000;

const KINDS = ['none', 'all'] as const;
type Kind = (typeof KINDS)[number];

interface Figure {
  readonly tapsPerSecond: number;
  /** Processor time of one tap, in microseconds. */
  readonly gatewayUs: number;
  readonly postgresUs: number;
}

interface Figures {
  readonly rounds: Readonly<Record<Kind, Figure[]>>;
  readonly taps: number;
  readonly kept: number;
  readonly bytesPerTap: number;
}

export async function bench(
  { seconds = SECONDS, rounds = ROUNDS }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const parts = { none: await start('none', folder, closers), all: await start('all', folder, closers) };
  let taps = 0;
  for (const kind of KINDS) {
    await parts[kind].taps.prepare(WARM_UP_SECONDS * MAX_PER_SECOND);
    const warm = checked(
      await saturate([parts[kind].gatewayPort], CONNECTIONS, WARM_UP_SECONDS, parts[kind].taps.next),
    );
    if (kind === 'all') taps += warm.responded;
  }
  const measured: Record<Kind, Figure[]> = { none: [], all: [] };
  for (let round = 0; round < rounds; round++) {
    for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
      const { figure, responded } = await measure(parts[kind], seconds);
      measured[kind].push(figure);
      if (kind === 'all') taps += responded;
    }
  }
  const figures = { rounds: measured, taps, ...(await keptIn(parts.all.database)) };
  printTable(figures);
  return figures;
}

function start(kept: Kind, folder: string, closers: (() => unknown)[]): Promise<Parts> {
  const own = join(folder, kept);
  mkdirSync(own);
  return startParts(own, closers, { settings: { MESSAGES_KEPT: kept } });
}

async function measure(
  { gatewayPort, taps, pids }: Parts,
  seconds: number,
): Promise<{ readonly figure: Figure; readonly responded: number }> {
  await taps.prepare(seconds * MAX_PER_SECOND);
  const before = processorTime(pids);
  const { responded, perSecond } = checked(await saturate([gatewayPort], CONNECTIONS, seconds, taps.next));
  await sleep(SETTLE_MS);
  const after = processorTime(pids);
  const perTap = (part: string) => ((after[part]! - before[part]!) * 1e6) / responded;
  return {
    figure: { tapsPerSecond: perSecond, gatewayUs: perTap('gateway'), postgresUs: perTap('Postgres') },
    responded,
  };
}

async function keptIn(database: Database): Promise<Pick<Figures, 'kept' | 'bytesPerTap'>> {
  await database.query('vacuum attempt_messages');
  const { rows } = await database.query(
    `select count(*)::float8 as kept, (select sum(pg_total_relation_size(relid))::float8
       from pg_partition_tree('attempt_messages')) / greatest(count(*), 1) as bytes
     from attempt_messages`,
  );
  return { kept: rows[0].kept, bytesPerTap: rows[0].bytes };
}

function printTable({ rounds, taps, kept, bytesPerTap }: Figures): void {
  const line = (kind: Kind) => {
    const of = (key: keyof Figure) => {
      const values = rounds[kind].map((figure) => figure[key]);
      return `${percentile(values, 0.5).toFixed(0)} (${Math.min(...values).toFixed(0)})`;
    };
    return `| ${kind} | ${of('tapsPerSecond')} | ${of('gatewayUs')} | ${of('postgresUs')} |`;
  };
  console.log(`
Median (minimum) of ${rounds.all.length} rounds, in turns

| messages kept | taps per second | gateway, µs per tap | Postgres, µs per tap |
|---|---|---|---|
${KINDS.map(line).join('\n')}

Kept ${kept} of ${taps} exchanges (${((100 * kept) / taps).toFixed(1)} %), ${bytesPerTap.toFixed(0)} bytes of disk each
`);
}
