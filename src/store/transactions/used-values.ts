import { hash } from 'node:crypto';
import type { Transaction } from '../../payments/model/transaction.ts';
import type { SingleUse } from '../../payments/ports/store-ports.ts';
import { ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import type { Database } from '../postgres/open-database.ts';

const COLUMNS = {
  usedIn: 'uuid',
  hash: 'uuid',
  usedBy: 'uuid',
  inAcquirer: 'integer',
  isOnlySought: 'boolean',
} as const satisfies ColumnList;

/** What has values that are accepted once in the installation. */
interface User {
  readonly transaction: Transaction;
  readonly uses?: readonly SingleUse[] | undefined;
}

export function hasUses({ uses }: Pick<User, 'uses'>): boolean {
  return uses !== undefined && uses.length > 0;
}

/**
 * The part of a commit that accepts the single-use values of its transactions, all of them or none. A value that a copy
 * brings again belongs to the first one: across merchants, acquirers and processes, and within one batch.
 *
 * Two batches take the values in one order, before any reference, so they cannot wait for each other. Of copies in one
 * batch, the lowest id comes first for each value. Otherwise two copies could take a part each, and both would be refused.
 */
export class UsedValues {
  /**
   * Queries, each with its name. `foreign_uses` has the ids (`usedIn`) of the transactions whose values another one has;
   * they must not be written.
   */
  readonly queries: string;
  readonly #batch: ColumnBatch<typeof COLUMNS>;

  /** @param after the number of parameters of the statement before those of `values` */
  constructor(after: number) {
    this.#batch = new ColumnBatch(COLUMNS, after);
    // The look-up by key is a subquery, because a join could become a scan. A value that was committed after the start of
    // the statement is not visible to it: then the insert does nothing, and the value counts as used by another attempt.
    this.queries = `
uses as (${this.#batch.rows}),
found_uses as materialized (select uses.*, (select v.used_by from used_values v where v.hash = uses.hash) as holder from uses),
taken_uses as (
  insert into used_values (hash, used_by, acquirer_id)
  select f.hash, f."usedBy", f."inAcquirer" from found_uses f
  where f.holder is null and f."isOnlySought" is null
    and f."usedIn" not in (select g."usedIn" from found_uses g where g.holder <> g."usedBy")
  order by f.hash, f."usedIn"
  on conflict (hash) do nothing
  returning hash, used_by
),
foreign_uses as materialized (
  select f."usedIn" from found_uses f where f.holder <> f."usedBy"
  union all
  select f."usedIn" from found_uses f where f.holder is null and f."isOnlySought" is null
    and (f.hash, f."usedBy") not in (select t.hash, t.used_by from taken_uses t)
)`;
  }

  /** The parameters of the queries. */
  values(users: readonly User[]): (Buffer | null)[] {
    return this.#batch.values(
      users.flatMap(({ transaction, uses = [] }) => {
        const usedBy = uses.length === 0 ? '' : userOf(transaction);
        return uses.map((use) => ({
          usedIn: transaction.id,
          hash: uuidOf(use.hash),
          usedBy,
          inAcquirer: transaction.acquirerId,
          isOnlySought: use.isOnlySought ? true : null,
        }));
      }),
    );
  }
}

/**
 * Who uses a value: the reference of a merchant, because a tap that reached no switch may be submitted again under it.
 * An attempt with a requested PIN (4.5) is a user of its own: its PIN block must be of no earlier attempt.
 */
function userOf({ acquirerId, merchantId, merchantReference, attempt, pinFingerprint }: Transaction): string {
  const ofPin = pinFingerprint === null ? '' : attempt;
  return uuidOf(hash('sha256', JSON.stringify([acquirerId, merchantId, merchantReference, ofPin]), 'hex'));
}

/** The first 128 bits of a hash in the form of the shortest column type that has them. */
function uuidOf(hex: string): string {
  const digits = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)];
  return digits.join('-');
}

const ARE_USED = 'select from used_values where hash = any($1::uuid[]) and used_by <> $2 limit 1';

/** Whether any of the values belongs to another user than the attempt. */
export async function areUsed(database: Database, attempt: Transaction, uses: readonly SingleUse[]): Promise<boolean> {
  if (uses.length === 0) return false;
  const values = [uses.map((use) => uuidOf(use.hash)), userOf(attempt)];
  return (await database.query({ name: 'are-values-used', text: ARE_USED, values })).rowCount === 1;
}
