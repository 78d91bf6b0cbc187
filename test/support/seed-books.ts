import type { Database } from '../../src/store/postgres/open-database.ts';
import type { LedgerLine } from '../../src/tools/ledger/books.ts';

/** One in ten is Declined, one in fifty Voided. */
const TERMINALS = 100;
/** The acquirer's STANs do not repeat within a day. */
const STANS = 999_999;

const STAN = `lpad((n % ${STANS} + 1)::text, 6, '0')`;
const SENT_AT = `now() - (n / ${STANS}) * interval '1 day'`;
const TID = `concat('B', lpad((n % ${TERMINALS})::text, 7, '0'))`;
const ID = `lpad(to_hex(n), 32, '0')::uuid`;
const DISPOSITION = 'case when n % 10 = 0 then 1 when n % 50 = 1 then 5 else 0 end';

/**
 * Fills the database of `saveTenants` with the transactions of `seededLedger(rows)`, with their trails and webhooks;
 * the two agree. The planner's statistics are not updated.
 */
export async function seedBooks(database: Database, rows: number): Promise<void> {
  const client = await database.connect();
  const from = `from generate_series(0, ${rows - 1}) as n`;
  const statements = [
    'set statement_timeout = 0',
    `insert into webhook_endpoints (acquirer_id, id, integrator_id, serves, url, sealed_secret, created_at)
     values (1, gen_random_uuid(), 10, 'taps', 'http://127.0.0.1/', '', now() - interval '1 month')`,
    `insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, disposition, type,
       amount_minor, approved_minor, currency, device_installation_id, tid, route_id, stan, rrn, sent_at, respond_by, reversal_state,
       created_at, updated_at)
     select 1, ${ID}, '1001', 10, concat('order-', n), 1, 8, ${DISPOSITION}, 1, 1000, case when n % 10 = 0 then null else 1000 end,
       'ZAR', 'device', ${TID}, 100, ${STAN}, concat('606010', ${STAN}), ${SENT_AT}, now(), case when n % 50 = 1 then 3 else 0 end,
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
  ];
  for (const statement of statements) await client.query(statement);
  client.release(true); // its settings end with it
}

function path(steps: readonly string[], before: string | null = null) {
  const at = '2026-03-01T10:00:00.000Z';
  return steps.map((to, index) => ({ from: steps[index - 1] ?? before, to, at }));
}

/** What the switch would have booked for them. */
export function* seededLedger(rows: number): Generator<LedgerLine> {
  for (let n = 0; n < rows; n++) {
    if (n % 10 === 0) continue;
    const stan = String((n % STANS) + 1).padStart(6, '0');
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
