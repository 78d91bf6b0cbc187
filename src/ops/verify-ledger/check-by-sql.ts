import type { Books } from './books.ts';
import { type Finding, MAX_NAMED, type Violation } from './finding.ts';

/** An invariant as three questions to the database, whose answers stay small whatever is in it. */
export interface SqlCheck {
  readonly check: string;
  readonly description: string;
  /** How many there are to look at: a query of one number. */
  readonly lookedAt: string;
  /** How many of them are visibly not settled yet. */
  readonly open?: string;
  /** How many of them a person must settle. */
  readonly inReview?: string;
  /** How many of them disagree by what a switch said, and are no violations. */
  readonly misstated?: string;
  /** Those that must not be: `id` and `what`. */
  readonly violations: string;
  readonly values?: readonly unknown[];
}

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
