import { expect } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { REFUSED_STATUSES } from '../../src/payments/model/link.ts';
import { PinState } from '../../src/payments/model/pin.ts';
import { RELEASING_DISPOSITIONS } from '../../src/payments/model/review.ts';
import {
  MUST_NOT_REST,
  STATUS_MOVES,
  type StatusId,
  type StatusName,
  statusName,
} from '../../src/payments/model/status.ts';
import { TransactionType, VoidState } from '../../src/payments/model/transaction.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { readEntries, type StoredEntry } from '../../src/store/transactions/guarded-update.ts';
import type { LedgerEntry } from '../../src/tools/simulator/ledger.ts';
import type { Installation } from './installation.ts';
import { faultsIn } from './log-lines.ts';

/** Jobs that pg-boss will still run: neither completed, cancelled nor permanently failed. */
const LIVE_JOBS = `select name, data from pgboss.job where state < 'completed'`;

/**
 * Invariants that hold at any time, also while transactions are in progress: the promises that can be
 * verified in the database alone. Each is read with one statement, so that a commit in between cannot look like a
 * fault.
 */
export async function expectSoundStates(database: Database): Promise<void> {
  expect(await restingWithoutOpenAttempt(database), 'transactions that rest where they must not').toEqual([]);
  expect(await pinsWithoutJob(database), 'waits for a PIN without a job that ends the wait').toEqual([]);
  expect(await reversalsWithoutJob(database), 'reversals without a job that sends them').toEqual([]);
  expect(await wrongReservations(database), 'sales whose reservations are not those of their refunds').toEqual([]);
  expect(await linksHeldTwice(database), 'links that more than one tap holds').toEqual([]);
  expect(await wrongVoids(database), 'sales whose void differs from its row').toEqual([]);
}

/**
 * Invariants that hold if a test caused no fault: sound states, audit trails that follow declared transitions and end
 * in the state of the row, a switch's ledger that agrees with what merchants were shown, and no transaction that needs
 * review.
 */
export async function expectInvariants(
  installation: Pick<Installation, 'database' | 'ledger' | 'logLines'>,
  { areFaultsExpected = false } = {},
): Promise<void> {
  const { database, ledger, logLines } = installation;
  await expectSoundStates(database);
  await expectTrailsToBePaths(database);
  await expectLedgerToAgree(database, ledger);
  if (!areFaultsExpected) expect(faultsIn(logLines)).toEqual([]);
}

interface ReportedRow {
  readonly rrn: string;
  readonly tid: string;
  readonly disposition: number | null;
  readonly approvedMinor: number | null;
}

/**
 * Every transaction that a switch approved is either Approved for the merchant, or reversed at the switch, or still
 * uncertain.
 */
async function expectLedgerToAgree(database: Database, ledger: readonly LedgerEntry[]): Promise<void> {
  const { rows } = await database.query<ReportedRow>(
    'select rrn, tid, disposition, approved_minor as "approvedMinor" from transactions where rrn is not null',
  );
  const isOf = (entry: LedgerEntry) => (reported: ReportedRow) =>
    reported.rrn === entry.rrn && reported.tid === entry.tid;
  for (const reported of rows) {
    const booked = ledger.filter((entry) => isOf(entry)(reported));
    expect(booked.length, 'authorizations of one transaction').toBeLessThanOrEqual(1);
    if (reported.disposition === null || reported.disposition === Disposition.Indeterminate) continue; // no outcome was reported yet
    const { disposition, approvedMinor } = reported;
    if (disposition === Disposition.Approved) expect(booked[0]).toMatchObject({ state: 'approved', approvedMinor });
    else expect(booked[0]?.state ?? 'reversed').toBe('reversed');
  }
  expect(
    ledger.filter((entry) => !rows.some(isOf(entry))),
    'money that the gateway does not know of',
  ).toEqual([]);
}

async function restingWithoutOpenAttempt(database: Database): Promise<object[]> {
  const { rows } = await database.query<{ id: string; status: StatusId }>(
    `select id, status, attempt from transactions t where status = any($1) and not exists (
       select from open_attempts o where o.acquirer_id = t.acquirer_id and o.id = t.id and o.attempt = t.attempt)`,
    [MUST_NOT_REST],
  );
  return rows.map((row) => ({ ...row, status: statusName(row.status) }));
}

/** In any status: 8 and 9 may not rest either while a PIN is awaited. */
async function pinsWithoutJob(database: Database): Promise<object[]> {
  const { rows } = await database.query(
    `with live as (${LIVE_JOBS})
     select id, status, attempt from transactions t where pin_state = $1 and not exists (
       select from live where name = 'expire-pin' and data ->> 'id' = t.id::text
         and (data ->> 'attempt')::integer = t.attempt)`,
    [PinState.awaiting],
  );
  return rows;
}

/** Pending (1), sent (2) or confirming (5): the job of the next attempt waits, or that of the current attempt runs. */
async function reversalsWithoutJob(database: Database): Promise<object[]> {
  const { rows } = await database.query(
    `with live as (${LIVE_JOBS})
     select id, reversal_state, reversal_attempt from transactions t where reversal_state in (1, 2, 5) and not exists (
       select from live where name = 'reverse' and data ->> 'id' = t.id::text and (data ->> 'attempt')::integer = t.attempt
         and (data ->> 'reversalAttempt')::integer = t.reversal_attempt + 1)
     union all
     select transaction_id, reversal_state, reversal_attempt from superseded_attempts s
     where reversal_state in (1, 2, 5) and not exists (
       select from live where name = 'reverse' and data ->> 'id' = s.transaction_id::text
         and (data ->> 'attempt')::integer = s.attempt and (data ->> 'reversalAttempt')::integer = s.reversal_attempt + 1)`,
  );
  return rows;
}

/** The amount reserved on a sale equals what its refunds returned or may have returned. */
async function wrongReservations(database: Database): Promise<object[]> {
  const { rows } = await database.query(
    `select sale.id, sale.refunded_minor, sum(refund.amount_minor) as refunded
     from transactions sale left join transactions refund on refund.acquirer_id = sale.acquirer_id
       and refund.original_id = sale.id and refund.type = $1
       and (refund.disposition is null or refund.disposition = any($2) or refund.reversal_state in (1, 2, 4, 5)
         or refund.needs_review)
     group by sale.acquirer_id, sale.id
     having sale.refunded_minor <> coalesce(sum(refund.amount_minor), 0)
       or (sale.refunded_minor > coalesce(sale.approved_minor, 0) and not sale.needs_review)`,
    [TransactionType.Refund, [Disposition.Approved, Disposition.Indeterminate]],
  );
  return rows;
}

/** A link has one tap at a time, the one that it names. */
async function linksHeldTwice(database: Database): Promise<object[]> {
  const { rows } = await database.query(
    `select t.consumer_id, count(*) as taps, bool_or(l.transaction_id is distinct from t.id) as is_another
     from transactions t left join links l on l.acquirer_id = t.acquirer_id and l.id = t.consumer_id
     where t.consumer_id is not null and t.type = any($1) and not t.status = any($2)
       and (t.void_state is not null or t.disposition is null or not t.disposition = any($3))
     group by t.acquirer_id, t.consumer_id
     having count(*) > 1 or bool_or(l.transaction_id is distinct from t.id)`,
    [[TransactionType.Tap, TransactionType.TT3], REFUSED_STATUSES, RELEASING_DISPOSITIONS],
  );
  return rows;
}

/**
 * A requested void has one open row. A completed void has a row that says so, and a sale that is Voided. Any other sale
 * has neither.
 */
async function wrongVoids(database: Database): Promise<object[]> {
  const { rows } = await database.query(
    `select sale.id, sale.void_state, sale.disposition, count(asked.id) filter (where asked.disposition is null) as open,
       count(asked.id) filter (where asked.disposition = $2) as done
     from transactions sale left join transactions asked on asked.acquirer_id = sale.acquirer_id
       and asked.original_id = sale.id and asked.type = $1
     group by sale.acquirer_id, sale.id
     having (sale.void_state is not distinct from $3) <> (count(asked.id) filter (where asked.disposition is null) = 1)
       or (sale.void_state is not distinct from $4) <> (count(asked.id) filter (where asked.disposition = $2) = 1)
       or (sale.void_state = $4 and sale.disposition <> $5)`,
    [TransactionType.Void, Disposition.Approved, VoidState.asked, VoidState.done, Disposition.Voided],
  );
  return rows;
}

interface Trail {
  readonly id: string;
  readonly status: StatusId;
  readonly moves: readonly StoredEntry[];
}

async function expectTrailsToBePaths(database: Database): Promise<void> {
  const { rows } = await database.query<Trail>(
    `select t.id, t.status, jsonb_agg(move order by e.id, position) as moves
     from transactions t join transaction_events e on e.acquirer_id = t.acquirer_id and e.transaction_id = t.id,
       jsonb_array_elements(e.moves) with ordinality as x(move, position)
     group by t.acquirer_id, t.id`,
  );
  for (const { id, status, moves } of rows) {
    let at: StatusName | null = null;
    for (const entry of readEntries(moves)) {
      if (!('to' in entry)) continue; // a step of the reversal
      const { from, to } = entry;
      if (from !== null) expect(from, `trail of ${id}`).toBe(at);
      expect(MOVES.get(from ?? null), `trail of ${id}: ${from} -> ${to}`).toContain(to);
      at = to;
    }
    expect(at, `trail of ${id}`).toBe(statusName(status));
  }
}

const MOVES = new Map(
  [...STATUS_MOVES].map(([from, to]) => [from === null ? null : statusName(from), to.map(statusName)]),
);
