import type { Database } from '../postgres/open-database.ts';
import { type Change, inAdminCommit, recordChange } from '../settings/admin-commit.ts';
import { STANS } from './business-dates.ts';
import { LEAST } from './database-epoch.ts';
import { scopeText } from './reserve-stans.ts';

/** More lines than a person reads. */
const MAX_LISTED = 1_000;

/** The numbers of a scope. */
export interface StanScopeState {
  /** The TID, or what else counts its own messages; null for an acquirer whose switch counts all messages together. */
  readonly of: string | null;
  /** The number that is assigned next, `000123`. */
  readonly next: string;
  /** How many are left of the business date. */
  readonly left: number;
  readonly businessDate: string;
  /** The last business date without numbers, if the scope is held (database-epoch.ts). */
  readonly heldUntil: string | null;
}

/** Scopes of an acquirer by name. A terminal has one from its first message on, so the list has a limit. */
export async function listStans(database: Pick<Database, 'query'>, acquirerId: number): Promise<StanScopeState[]> {
  const { rows } = await database.query<StanScopeState>(
    `select nullif(substring(scope from position(' ' in scope || ' ') + 1), '') as of,
       lpad((next_value % ${STANS} + 1)::text, 6, '0') as next, greatest(${STANS} - (next_value - day_first), 0)::integer as left,
       to_char(business_date, 'YYYY-MM-DD') as "businessDate", to_char(held_until, 'YYYY-MM-DD') as "heldUntil"
     from stan_blocks where scope = $1 or starts_with(scope, $1 || ' ') order by scope limit ${MAX_LISTED}`,
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

/** What `continueStans` has done; `not-held` if it has changed nothing. */
export type ContinuedScope = { readonly next: string; readonly left: number } | 'no-counter' | 'not-held';

/**
 * The counter of the last number that the switch has received is not before that of the database, which has lost the
 * numbers after its own. Only the end of the last blocks, which may be unused, is before it.
 */
const AHEAD = `mod(mod($2::bigint - next_value, ${STANS}) + ${STANS}, ${STANS})`;

const CONTINUE = `
with former as (
  select scope, next_value, held_until, (clock_timestamp() at time zone 'UTC')::date as today,
    case when ${AHEAD} < ${STANS - LEAST} then ${AHEAD} else 0 end + ${LEAST} as skip
  from stan_blocks where scope = $1 for update
),
continued as (
  update stan_blocks b
  set next_value = former.next_value + skip, held_until = null, business_date = greatest(b.business_date, today),
    day_first = case when b.business_date < today then former.next_value else b.day_first end
  from former where b.scope = former.scope and former.held_until is not null
  returning b.scope, b.next_value, b.day_first
)
select former.next_value::text as before, c.next_value is not null as "isHeld", lpad((c.next_value % ${STANS} + 1)::text, 6, '0') as next,
  greatest(${STANS} - (c.next_value - c.day_first), 0)::integer as left
from former left join continued c using (scope)`;

interface Continued {
  readonly before: string;
  readonly isHeld: boolean;
  readonly next: string;
  readonly left: number;
}

/**
 * Continues the numbers of a scope that is held because its database may lack reservations (database-epoch.ts). They
 * continue {@link LEAST} after the last one, because running gateways may still use numbers of blocks that they
 * reserved before.
 *
 * @throws NotFound for an unknown acquirer
 */
export function continueStans(database: Database, { tid, last, ...change }: ContinuedStans): Promise<ContinuedScope> {
  const scope = { acquirerId: change.acquirerId, tid };
  return inAdminCommit(database, change.acquirerId, async (client) => {
    const [row] = (await client.query<Continued>(CONTINUE, [scopeText(scope), last])).rows;
    if (row === undefined) return 'no-counter';
    const { before, isHeld, next, left } = row;
    if (!isHeld) return 'not-held';
    await recordChange(client, change, {
      action: 'change',
      ...(tid === null ? { kind: 'acquirer', id: change.acquirerId } : { kind: 'terminal', id: tid }),
      before: { usedStans: Number(before) },
      after: { lastStan: last, nextStan: next, stansLeft: left },
    });
    return { next, left };
  });
}
