import type pg from 'pg';
import { StoreUnavailable } from '../../basics/errors.ts';
import type { AuditEntry } from '../../payments/model/decision.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import {
  ReversalState,
  type Transaction,
  type TransactionKey,
  TransactionType,
  VoidState,
} from '../../payments/model/transaction.ts';
import type {
  NewAttempt,
  NewVoid,
  PhoneResponseRecord,
  RefundStore,
  ReturnObstacle,
} from '../../payments/ports/store-ports.ts';
import { GroupCommit, inTransaction } from '../postgres/group-commit.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { commitAcknowledgements } from './commit-phone-responses.ts';
import { commitRefund, type ReserveOutcome } from './commit-refunds.ts';
import { insertTaps } from './commit-taps.ts';
import { findTransaction } from './find-transactions.ts';
import { INSERT_ENTRIES } from './guarded-update.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import { HAS_PROCESSOR, HAS_SWITCH, IS_BLOCKED } from './transaction-columns.ts';

// From here on the sale's reversal is required, and follows the steps of every reversal.
const ASK = `
with asked as (
  update transactions s
  set void_state = ${VoidState.asked}, reversal_state = ${ReversalState.owed}, reversal_attempt = 0,
    reversal_armed_at = clock_timestamp(), updated_at = clock_timestamp()
  where acquirer_id = $1 and id = $2 and disposition = ${Disposition.Approved} and void_state is null and refunded_minor = 0
    and reversal_state = ${ReversalState.none} and type not in (${TransactionType.Refund}, ${TransactionType.Void})
    and not ${IS_BLOCKED('s')} and ${HAS_SWITCH('s')}
  returning acquirer_id, id, attempt
)
${INSERT_ENTRIES}
select acquirer_id, id, attempt, $3::jsonb from asked`;

/**
 * Commits a void before its bytes are sent: the sale's reversal is required, its first job waits, and a row records
 * the void.
 */
async function startVoid(
  database: Database,
  { original, attempt, reverseJob, nowMs }: NewVoid,
  jobs: JobsInCommit,
): Promise<boolean> {
  const auditEntries: AuditEntry[] = [{ void: attempt.transaction.id, at: new Date(nowMs).toISOString() }];
  return inTransaction(database, async (client) => {
    const values = [original.acquirerId, original.id, JSON.stringify(auditEntries)];
    const { rowCount } = await client.query({ name: 'ask-void', text: ASK, values });
    if (rowCount !== 1) return false;
    await insertTaps(client, [attempt], jobs);
    await jobs.enqueue(client, [reverseJob]);
    return true;
  });
}

const FIND_OBSTACLE = `select case when ${IS_BLOCKED('s')} then 'inReview' when not ${HAS_PROCESSOR('s')} then 'noProcessor'
      when not ${HAS_SWITCH('s')} then 'otherSwitch' end as obstacle,
    exists (select from acquirer_cells c where c.acquirer_id = $1 and c.state in ('arriving', 'gone')) as "isElsewhere"
  from transactions s where s.acquirer_id = $1 and s.id = $2`;

/**
 * Why nothing of a sale can be returned now, besides its own state.
 *
 * @throws StoreUnavailable if another cell serves the acquirer: the row is a copy, and the switch is closed here
 */
async function findObstacle(
  database: Database,
  { acquirerId, id }: TransactionKey,
): Promise<ReturnObstacle | undefined> {
  const query = { name: 'obstacle-of-sale', text: FIND_OBSTACLE, values: [acquirerId, id] };
  const { rows } = await database.query<{ obstacle: ReturnObstacle | null; isElsewhere: boolean }>(query);
  if (rows[0]?.isElsewhere) throw new StoreUnavailable(false);
  return rows[0]?.obstacle ?? undefined;
}

const FIND_VOID = `select id from transactions
  where acquirer_id = $1 and original_id = $2 and type = ${TransactionType.Void} order by created_at desc limit 1`;

/** The row of a sale's last void. */
async function findVoid(database: Database, { acquirerId, id }: TransactionKey): Promise<Transaction | undefined> {
  const { rows } = await database.query<{ id: string }>({
    name: 'find-void',
    text: FIND_VOID,
    values: [acquirerId, id],
  });
  return rows[0] && findTransaction(database, { acquirerId, id: rows[0].id });
}

/** An announcement older than the longest business day comes from a switch that has stopped announcing. */
const ANNOUNCED_WITHIN = '5 days';

// The sale's own settlement date (DE15 of its response) is its business date. If the switch sends none, it is the
// date that was announced before the sale's deadline. If the first announcement came later, the sale belongs to its
// calendar day. Without any announcement, the end of that day settles it. The days are those of the merchant's time zone when
// the tap was stored, which a change of the merchant does not change.
const IS_SETTLED = `
with sale as (
  select t.acquirer_id, r.processor_id, t.deadline_at, t.time_zone as zone,
    (t.sent_at at time zone t.time_zone)::date as day, t.settlement_date::date as own
  from transactions t join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id
  where t.acquirer_id = $1 and t.id = $2
),
known as (
  select max(b.business_date) as latest, max(b.business_date) filter (where b.since <= sale.deadline_at) as at_sale,
    bool_or(b.since > clock_timestamp() - interval '${ANNOUNCED_WITHIN}') as is_live
  from sale join business_dates b on b.acquirer_id = sale.acquirer_id and b.processor_id = sale.processor_id
)
select case when known.is_live then known.latest > coalesce(sale.own, known.at_sale, sale.day)
  else (clock_timestamp() at time zone sale.zone)::date > coalesce(sale.own, sale.day) end as "isSettled"
from sale, known`;

/** Whether the switch has cut over since the business date of a sale. */
export async function findIsSettled(
  client: Pick<pg.ClientBase, 'query'>,
  { acquirerId, id }: Transaction,
): Promise<boolean> {
  const values = [acquirerId, id];
  const { rows } = await client.query<{ isSettled: boolean }>({ name: 'is-settled', text: IS_SETTLED, values });
  return rows[0]?.isSettled ?? false;
}

/**
 * Refunds and voids are rare, and each has its own commit. A phone may acknowledge every tap, so acknowledgements are
 * grouped.
 */
export class PostgresRefundStore implements RefundStore {
  readonly #database: Database;
  readonly #jobs: JobsInCommit;
  readonly #acknowledgements: GroupCommit<PhoneResponseRecord, boolean>;

  constructor(database: Database, jobs: JobsInCommit) {
    this.#database = database;
    this.#jobs = jobs;
    this.#acknowledgements = new GroupCommit<PhoneResponseRecord, boolean>(database, {
      keyOf: ({ id }) => id,
      write: (client, records, seal) => commitAcknowledgements(client, records, jobs, seal),
    });
  }

  reserve(refund: NewAttempt): Promise<ReserveOutcome> {
    return commitRefund(this.#database, refund, this.#jobs);
  }

  isSettled(sale: Transaction): Promise<boolean> {
    return mapConnectionLoss(findIsSettled(this.#database, sale));
  }

  findObstacle(sale: Transaction): Promise<ReturnObstacle | undefined> {
    return mapConnectionLoss(findObstacle(this.#database, sale));
  }

  startVoid(wanted: NewVoid): Promise<boolean> {
    return startVoid(this.#database, wanted, this.#jobs);
  }

  findVoid(sale: Transaction): Promise<Transaction | undefined> {
    return mapConnectionLoss(findVoid(this.#database, sale));
  }

  acknowledge(record: PhoneResponseRecord): Promise<boolean> {
    return this.#acknowledgements.submit(record);
  }

  /** Resolves when all submitted writes are committed. */
  close(): Promise<void> {
    return this.#acknowledgements.idle();
  }
}
