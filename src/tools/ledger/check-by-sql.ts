import type { Books } from './books.ts';
import { type Finding, MAX_NAMED, type Violation } from './finding.ts';

/** An invariant as queries whose results are small for any number of rows. */
export interface SqlCheck {
  readonly check: string;
  readonly description: string;
  /** Query for the number of checked items. */
  readonly lookedAt: string;
  /** Query for the number of items that are visibly unresolved. */
  readonly open?: string;
  /** Query for the number of items that a person must resolve. */
  readonly inReview?: string;
  /** Query for the number of items that differ because a switch reported something false, and are not violations. */
  readonly misstated?: string;
  /** Query for the violations: `id` and `what`. */
  readonly violations: string;
  readonly values?: readonly unknown[];
}

/** Transactions that the check judges, if its first value is the start of the ledger. */
export const SINCE = `t.created_at >= coalesce($1::timestamptz, '-infinity')`;

/** A person compared the transaction `t`, or the sale of a void `t`, with the switch's books. */
export const IS_RESOLVED = `exists (select from review_resolutions r where r.acquirer_id = t.acquirer_id
  and r.transaction_id in (t.id, t.original_id) and r.state = 'done')`;

export async function checkBySql({ client }: Books, asked: SqlCheck): Promise<Finding> {
  const { check, description, values = [] } = asked;
  const count = async (query: string | undefined) => {
    if (query === undefined) return 0;
    const { rows } = await client.query<{ count: string }>(query, [...values]);
    return Number(rows[0]!.count);
  };
  const lookedAt = await count(asked.lookedAt);
  const open = await count(asked.open);
  const inReview = await count(asked.inReview);
  const misstated = await count(asked.misstated);
  const { rows } = await client.query<Violation & { total: string }>(
    `select id, what, count(*) over () as total from (${asked.violations}) as violations order by id, what limit ${MAX_NAMED}`,
    [...values],
  );
  const violations = rows.map(({ id, what }) => ({ id, what }));
  return {
    check,
    description,
    lookedAt,
    open,
    inReview,
    misstated,
    violationCount: Number(rows[0]?.total ?? 0),
    violations,
  };
}
