import type { Database } from '../../src/store/postgres/open-database.ts';
import { attachPartition, TRANSACTIONS } from '../../src/store/postgres/partitions.ts';

/** The proportions of a busy acquirer after a year or two. */
export interface SeedPlan {
  readonly rows: number;
  /** Merchants have decreasing shares of the rows: the first one a fifth of them. */
  readonly merchants: number;
  readonly integrators: number;
  /**
   * Spreads the rows over the last year, with partitions for its months and ids that begin with the time. Otherwise there is
   * a row for every two seconds, all in the default partition.
   */
  readonly isOfYear?: boolean;
  readonly onProgress?: (rows: number) => void;
}

const YEAR_SECONDS = 365 * 86_400;
/** The rows of one statement: enough for the time to be spent on rows and not on round trips. */
const CHUNK_ROWS = 100_000;

/** Each merchant's share is a fifth of the remainder: 20 %, 16 %, 12.8 %, …; the last ones share the rest equally. */
const MERCHANT = `least($3::int - 1, case when (i * 7919) % 100 < 80 then floor(ln(1 - ((i * 104729) % 100000) / 100001.0) / ln(0.8))::int
  else (i % $3::int) end)`;

/** The id of row `i`, in SQL: a UUID v4 in format, and the same each time. */
export const seededId = (i: string) =>
  `overlay(overlay(md5('seed ' || ${i}) placing '4' from 13) placing '8' from 17)::uuid`;

/**
 * Settled purchases at rest, back from now in equal steps: 88 % approved, the rest in every other disposition, one
 * in a hundred thousand for review. Sealed cards are left out, as if purged: the first time that a process lists a
 * card, opening it for its expiry takes 20 µs more.
 */
const ROWS = `
with n as (
  select i, ${MERCHANT} as merchant, now() - i * $5::float8 * interval '1 s' as at,
    case when i % 100 < 88 then 0 when i % 100 < 97 then 1 when i % 1000 < 980 then 2 when i % 1000 < 990 then 3
      when i % 10000 < 9980 then 4 else 5 end as disposition
  from generate_series($1::bigint, $2::bigint) i
),
seeded as (
insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, disposition, type,
  amount_minor, currency, user_claim, device_installation_id, scheme, masked_pan, x_tid, tid, mid, route_id, stan, rrn, respond_by,
  response_code, authorization_code, approved_minor, needs_review, created_at, updated_at, chip_tags)
select 1, case when $6 then overlay(${seededId('i')}::text placing left(first_id(at)::text, 13) from 1)::uuid else ${seededId('i')} end, 'm' || merchant, 1 + merchant % $4::int, 'order-' || i, 1, 8, disposition, 1,
  100 + (i * 31) % 100000, 'ZAR', case when i % 3 = 0 then 'till-' || i % 7 end, 'device-' || i % 5000,
  (array['Visa', 'Mastercard', 'Amex'])[1 + i % 3], '411111******1111', 'T' || merchant, 'TW' || merchant % 1000000, 'SEED' || merchant % 1000000, 1,
  lpad((1 + i % 999999)::text, 6, '0'), lpad((i % 1000000000000)::text, 12, '0'), at,
  case disposition when 0 then '00' when 1 then '51' end, case when disposition = 0 then lpad((i % 1000000)::text, 6, '0') end,
  case when disposition = 0 then 100 + (i * 31) % 100000 end, i % 100000 = 99991, at, at, '\\x9f2701804f07a0000000031010'
from n
returning acquirer_id, merchant_id, merchant_reference, id)
insert into merchant_references select * from seeded on conflict do nothing`;

/** Fills an empty database with transactions of acquirer 1, and updates the planner's statistics. */
export async function seedTransactions(database: Database, plan: SeedPlan): Promise<void> {
  const { rows, merchants, integrators, isOfYear = false, onProgress } = plan;
  const stepSeconds = isOfYear ? YEAR_SECONDS / rows : 2;
  if (isOfYear) await attachYear(database);
  await database.query(
    `insert into acquirers (id, name) overriding system value values (1, 'Seeded Acquirer') on conflict do nothing`,
  );
  await database.query(
    `insert into integrators (acquirer_id, id, name) select 1, i, 'Integrator ' || i from generate_series(1, $1::int) i on conflict do nothing`,
    [integrators],
  );
  await database.query(
    `insert into merchants (acquirer_id, id, integrator_id, name, country, mcc, currency, time_zone)
     select 1, 'm' || i, 1 + i % $2::int, 'Merchant ' || i, 'ZA', '5411', 'ZAR', 'Africa/Johannesburg' from generate_series(0, $1::int - 1) i
     on conflict do nothing`,
    [merchants, integrators],
  );
  for (let from = 1; from <= rows; from += CHUNK_ROWS) {
    const to = Math.min(rows, from + CHUNK_ROWS - 1);
    await database.query(ROWS, [from, to, merchants, integrators, stepSeconds, isOfYear]);
    onProgress?.(to);
  }
  await database.query('analyze transactions');
  await database.query('analyze merchants');
}

/** The months of the past year; later ones exist. */
async function attachYear(database: Database): Promise<void> {
  const { rows } = await database.query<{ name: string; from: string; to: string }>(
    `select 'transactions_' || to_char(month, 'YYYYMMDD') as name, first_id(month at time zone 'UTC')::text as from,
       first_id((month + interval '1 month') at time zone 'UTC')::text as to
     from generate_series(date_trunc('month', now() at time zone 'UTC') - interval '12 months', now() at time zone 'UTC', interval '1 month') month`,
  );
  for (const month of rows) await attachPartition(database, TRANSACTIONS, month, true);
}
