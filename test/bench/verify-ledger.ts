/**
 * How long `tapwire verify-ledger` takes for a day of a million taps (`--rows`), how much processor time for a tap, and how much
 * memory: both books are made up here, and agree. A time for each tap that stays the same says that it is linear.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../src/config.ts';
import { prepareDatabase } from '../../src/gateway/prepare-database.ts';
import { JobTable } from '../../src/jobs/job-table.ts';
import type { LedgerLine } from '../../src/ops/verify-ledger/ledger-lines.ts';
import { verifyLedger } from '../../src/ops/verify-ledger/verify-ledger.ts';
import { loadProcessors } from '../../src/processor-kit/load-processors.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { saveTenants } from '../support/tenants.ts';
import { processorTime } from './processor-time.ts';
import type { BenchOptions } from './run.ts';

const ROWS = 1_000_000;
/** One in ten is Declined, one in fifty Voided; a terminal's STANs do not repeat within a day. */
const TERMINALS = 100;
/** Between looks at the memory. */
const LOOK_EVERY_MS = 50;

export async function bench({ json, rows = ROWS }: BenchOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-bench-'));
  const { database, stop } = await prepareDatabase(readConfig({ TAPWIRE_DATA: folder }));
  try {
    const jobs = await JobTable.open(database, console.error);
    await jobs.close();
    const types = await loadProcessors();
    await saveTenants(database, { type: 'type-1', config: types.get('type-1')!.exampleConfig });
    await fill(database, rows);
    const postgres = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
    const parts = { Postgres: postgres, verifier: process.pid };
    const figures = await measure(rows, parts, () => verifyLedger({ database, ledger: ledgerOf(rows), types }));
    if (json) writeFileSync(json, `${JSON.stringify({ rows, ...figures }, null, 2)}\n`);
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
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
  const startMs = performance.now();
  const findings = await verify();
  const seconds = (performance.now() - startMs) / 1_000;
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

const STAN = `lpad(((n / ${TERMINALS}) % 999999 + 1)::text, 6, '0')`;
const TID = `concat('B', lpad((n % ${TERMINALS})::text, 7, '0'))`;
const ID = `lpad(to_hex(n), 32, '0')::uuid`;
const DISPOSITION = 'case when n % 10 = 0 then 1 when n % 50 = 1 then 5 else 0 end';

async function fill(database: Database, rows: number): Promise<void> {
  const client = await database.connect();
  const from = `from generate_series(0, ${rows - 1}) as n`;
  const statements = [
    'set statement_timeout = 0',
    `insert into webhook_endpoints (acquirer_id, id, integrator_id, serves, url, sealed_secret, created_at)
     values (1, gen_random_uuid(), 10, 'taps', 'http://127.0.0.1/', '', now() - interval '1 month')`,
    `insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, disposition, type,
       amount_minor, approved_minor, currency, device_installation_id, tid, route_id, stan, rrn, sent_at, answer_by, reversal_state,
       created_at, updated_at)
     select 1, ${ID}, '1001', 10, concat('order-', n), 1, 8, ${DISPOSITION}, 1, 1000, case when n % 10 = 0 then null else 1000 end,
       'ZAR', 'device', ${TID}, 100, ${STAN}, concat('606010', ${STAN}), now(), now(), case when n % 50 = 1 then 3 else 0 end,
       now(), now() ${from}`,
    `insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
     select 1, ${ID}, 1, '${JSON.stringify(path(['RequestReceived', 'ReadyToSubmitToPaymentProcessor', 'SubmittedToPaymentProcessor']))}' ${from}`,
    `insert into transaction_events (acquirer_id, transaction_id, attempt, moves)
     select 1, ${ID}, 1, '${JSON.stringify(
       path(['ResponseReceivedFromPaymentProcessor', 'RespondedToPhone'], 'SubmittedToPaymentProcessor'),
     )}' ${from}`,
    `insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, state)
     select 1, gen_random_uuid(), 10, w.id, ${ID}, 'transaction.completed', json_build_object('sequence', sequence, 'amount', 10,
       'disposition', case when n % 10 = 0 then 'Declined' when sequence = 2 then 'Voided' when n % 50 = 1 then 'Indeterminate' else 'Approved' end)::text,
       'delivered' ${from} cross join webhook_endpoints w cross join generate_series(1, case when n % 50 = 1 then 2 else 1 end) as sequence`,
    'analyze',
  ];
  for (const statement of statements) await client.query(statement);
  client.release();
}

function path(steps: readonly string[], before: string | null = null) {
  const at = '2026-03-01T10:00:00.000Z';
  return steps.map((to, index) => ({ from: steps[index - 1] ?? before, to, at }));
}

/** What the switch would have booked of them. */
function* ledgerOf(rows: number): Generator<LedgerLine> {
  for (let n = 0; n < rows; n++) {
    if (n % 10 === 0) continue;
    const stan = String((Math.floor(n / TERMINALS) % 999_999) + 1).padStart(6, '0');
    const tid = `B${String(n % TERMINALS).padStart(7, '0')}`;
    yield {
      processor: 'type-1',
      key: `${tid} ${stan}`,
      kind: 'sale',
      stan,
      rrn: `606010${stan}`,
      tid,
      currencyNumeric: '710',
      amountMinor: 1_000,
      approvedMinor: 1_000,
      approvedAtMs: Date.now(),
      state: n % 50 === 1 ? 'reversed' : 'approved',
    };
  }
}
