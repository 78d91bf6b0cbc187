/**
 * How long `tapwire verify-ledger` takes for a day of a million taps (`--rows`), with processor time per tap and
 * memory. Both books are generated here, and agree. A constant time per tap shows that it is linear.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JobTable } from '../../src/jobs/job-table.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { readConfig } from '../../src/start/config.ts';
import { prepareDatabase } from '../../src/start/open-stores.ts';
import { verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import { seedBooks, seededLedger } from '../support/seed-books.ts';
import { saveTenants } from '../support/tenants.ts';
import { processorTime } from './processor-time.ts';
import type { BenchOptions } from './run.ts';

const ROWS = 1_000_000;
/** Interval between samples of the memory. */
const LOOK_EVERY_MS = 50;

export async function bench(
  { rows = ROWS }: BenchOptions,
  closers: (() => unknown)[],
  folder: string,
): Promise<unknown> {
  const { database, stop } = await prepareDatabase(readConfig({ TAPWIRE_DATA: folder }));
  closers.push(stop);
  const jobs = await JobTable.open(database, console.error);
  await jobs.close();
  const types = await loadProcessors();
  await saveTenants(database, { type: 'type-1', config: types.get('type-1')!.exampleConfig });
  await seedBooks(database, rows);
  await database.query('analyze');
  const postgres = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  const parts = { Postgres: postgres, verifier: process.pid };
  const figures = await measure(rows, parts, () => verifyLedger({ database, ledger: seededLedger(rows), types }));
  return { rows, ...figures };
}

async function measure(
  rows: number,
  parts: Readonly<Record<string, number>>,
  verify: () => ReturnType<typeof verifyLedger>,
) {
  globalThis.gc?.();
  const usedBefore = processorTime(parts);
  const before = process.memoryUsage().rss;
  let most = before;
  const looking = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, LOOK_EVERY_MS);
  const startedAtMs = performance.now();
  const findings = await verify();
  const seconds = (performance.now() - startedAtMs) / 1_000;
  clearInterval(looking);
  for (const { check, lookedAt, violationCount, violations } of findings) {
    console.log(`${check}: ${lookedAt} looked at, ${violationCount} violations ${violations[0]?.what ?? ''}`);
  }
  const megabytes = (most - before) / 1e6;
  const used = Object.entries(processorTime(parts));
  const microseconds = Object.fromEntries(
    used.map(([name, total]) => [name, ((total - usedBefore[name]!) / rows) * 1e6] as const),
  );
  const perTap = Object.entries(microseconds).map(([name, each]) => `${name} ${each.toFixed(0)}`);
  console.log(
    `${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MB more than before, µs for a tap: ${perTap.join(', ')}`,
  );
  return { seconds, megabytes, microseconds };
}
