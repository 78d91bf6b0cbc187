import type pg from 'pg';
import type { AuditEntry } from '../../payments/model/decision.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import { ReversalState, type Transaction } from '../../payments/model/transaction.ts';
import type { CompletionStore } from '../../payments/ports/store-ports.ts';
import { ColumnBatch } from '../postgres/column-batch.ts';
import { GroupCommit } from '../postgres/group-commit.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { INSERT_ENTRIES } from './guarded-update.ts';

interface Beginning {
  readonly sale: Transaction;
  readonly seconds: number;
}

/** An approved sale without a reversal or void. */
const STANDS = `t.disposition = ${Disposition.Approved} and t.reversal_state = ${ReversalState.none} and t.void_state is null`;

const KEY = { acquirerId: 'integer', id: 'uuid', attempt: 'integer' } as const;
const beginnings = new ColumnBatch({ ...KEY, seconds: 'float8' });
const ends = new ColumnBatch(KEY);

const BEGIN = `
update transactions t set completing_until = clock_timestamp() + x.seconds * interval '1 s'
from (${beginnings.rows}) as x
where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt and ${STANDS}
  and coalesce(t.completing_until <= clock_timestamp(), true)
returning t.id`;

const END = `
update transactions t set completing_until = null
from (${ends.rows}) as x
where t.acquirer_id = x."acquirerId" and t.id = x.id and t.attempt = x.attempt`;

const GIVE_UP = `
with given_up as (
  update transactions t set needs_review = true, updated_at = clock_timestamp()
  where t.acquirer_id = $1 and t.id = $2 and t.attempt = $3 and ${STANDS}
  returning t.acquirer_id, t.id, t.attempt
)
${INSERT_ENTRIES}
select acquirer_id, id, attempt, $4::jsonb from given_up`;

/** Completions on Postgres. There is one for each approval, so its start and end are group-committed like taps. */
export class PostgresCompletions implements CompletionStore {
  readonly #database: Database;
  readonly #beginnings: GroupCommit<Beginning, boolean>;
  readonly #ends: GroupCommit<Transaction, true>;

  constructor(database: Database) {
    this.#database = database;
    this.#beginnings = new GroupCommit<Beginning, boolean>(database, { keyOf: ({ sale }) => sale.id, write: begin });
    this.#ends = new GroupCommit<Transaction, true>(database, { keyOf: ({ id }) => id, write: end });
  }

  begin(sale: Transaction, seconds: number): Promise<boolean> {
    return this.#beginnings.submit({ sale, seconds });
  }

  async end(sale: Transaction): Promise<void> {
    await this.#ends.submit(sale);
  }

  async giveUp({ acquirerId, id, attempt }: Transaction, nowMs: number): Promise<void> {
    const auditEntries: AuditEntry[] = [{ completion: 'givenUp', at: new Date(nowMs).toISOString() }];
    await mapConnectionLoss(this.#database.query(GIVE_UP, [acquirerId, id, attempt, JSON.stringify(auditEntries)]));
  }

  /** Resolves when all submitted writes are committed. */
  async close(): Promise<void> {
    await Promise.all([this.#beginnings.idle(), this.#ends.idle()]);
  }
}

async function begin(client: pg.PoolClient, wanted: readonly Beginning[]): Promise<boolean[]> {
  const records = wanted.map(({ sale: { acquirerId, id, attempt }, seconds }) => ({
    acquirerId,
    id,
    attempt,
    seconds,
  }));
  const values = beginnings.values(records);
  const { rows } = await client.query<{ id: string }>({ name: 'begin-completions', text: BEGIN, values });
  const begun = new Set(rows.map(({ id }) => id));
  return wanted.map(({ sale }) => begun.has(sale.id));
}

async function end(client: pg.PoolClient, sales: readonly Transaction[]): Promise<true[]> {
  // If a crash loses this commit, a void waits until the completion's time has passed.
  await client.query('set local synchronous_commit = off');
  await client.query({ name: 'end-completions', text: END, values: ends.values(sales) });
  return sales.map(() => true as const);
}
