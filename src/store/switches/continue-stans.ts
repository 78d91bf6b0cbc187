import type { Database } from '../postgres/open-database.ts';
import { type Change, inAdminCommit, recordChange } from '../settings/admin-commit.ts';
import { scopeText } from './stan-blocks.ts';
import { STANS } from './stans.ts';

/** More lines than a person reads. */
const MOST_LISTED = 1_000;

/** The numbers of a scope. */
export interface StanScopeState {
  /** The TID, or what else counts its own messages; null for an acquirer whose switch counts all messages together. */
  readonly of: string | null;
  /** The number that is assigned next, `000123`. */
  readonly next: string;
  /** How many are left of the business date; 0 also if the scope is held. */
  readonly left: number;
  readonly businessDate: string;
}

/** Scopes of an acquirer by name. A terminal has one from its first message on, so the list has a limit. */
export async function listStans(database: Pick<Database, 'query'>, acquirerId: number): Promise<StanScopeState[]> {
  const { rows } = await database.query<StanScopeState>(
    `select nullif(substring(scope from position(' ' in scope || ' ') + 1), '') as of,
       lpad((next_value % ${STANS} + 1)::text, 6, '0') as next, greatest(${STANS} - (next_value - day_first), 0)::integer as left,
       to_char(business_date, 'YYYY-MM-DD') as "businessDate"
     from stan_blocks where scope = $1 or starts_with(scope, $1 || ' ') order by scope limit ${MOST_LISTED}`,
    [String(acquirerId)],
  );
  return rows;
}

/** Whose numbers continue after which one. */
export interface ContinuedStans extends Change {
  /** Null for the messages of an acquirer whose switch counts them together. */
  readonly tid: string | null;
  /** 1 to 999,999: the last one that the switch has received, as the operator has learned from the switch. */
  readonly last: number;
}

/**
 * Continues the numbers of a scope that is held because its database may lack reservations (database-epoch.ts). A running
 * gateway stays above the numbers that it has had itself.
 *
 * @returns how many numbers are left of the business date; undefined if the scope has no counter
 * @throws NotFound for an unknown acquirer
 */
export function continueStans(
  database: Database,
  { tid, last, ...change }: ContinuedStans,
): Promise<number | undefined> {
  const scope = { acquirerId: change.acquirerId, tid };
  return inAdminCommit(database, change.acquirerId, async (client) => {
    // A number is the remainder of the counter, plus one: so the counter after it has the remainder `last`.
    const { rows } = await client.query<{ before: string; left: number }>(
      `update stan_blocks b
       set next_value = b.day_first + mod(mod($2::bigint - b.day_first, ${STANS}) + ${STANS}, ${STANS}),
         business_date = least(b.business_date, (clock_timestamp() at time zone 'UTC')::date)
       from (select next_value from stan_blocks where scope = $1 for update) as former
       where b.scope = $1
       returning former.next_value::text as before, (${STANS} - (b.next_value - b.day_first))::integer as left`,
      [scopeText(scope), last],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    await recordChange(client, change, {
      action: 'change',
      ...(tid === null ? { kind: 'acquirer', id: change.acquirerId } : { kind: 'terminal', id: tid }),
      before: { usedStans: Number(row.before) },
      after: { lastStan: last, stansLeft: row.left },
    });
    return row.left;
  });
}
