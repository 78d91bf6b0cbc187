import type pg from 'pg';
import { RequestRejected } from '../../errors.ts';
import { ConcurrencyLimit } from '../../limits/concurrency-limit.ts';
import { OPEN_REVERSAL_STATES } from '../../transactions/model/transaction.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';
import { mapConnectionLoss } from '../postgres/while-up.ts';

/** What a person may know of a transaction. Of a card there is only its hashes: whoever typed a PAN typed it for those. */
export type Wanted =
  | { readonly by: 'id' | 'reference' | 'rrn' | 'stan' | 'maskedPan'; readonly value: string }
  | { readonly by: 'panHash'; readonly value: readonly string[] }
  // Whatever is uncertain at a switch, since when ever.
  | { readonly by: 'owed' | 'review' };

/** One line of what was found. */
export interface FoundTransaction {
  readonly acquirerId: number;
  readonly id: string;
  readonly merchantId: string;
  readonly merchantReference: string;
  readonly status: number;
  readonly disposition: number | null;
  readonly type: number;
  readonly amountMinor: number | null;
  readonly currency: string | null;
  readonly scheme: string | null;
  readonly maskedPan: string | null;
  readonly responseCode: string | null;
  readonly needsReview: boolean;
  readonly createdAt: Date;
}

/** A screen of them; whoever sees so many knows more to search by. */
export const MOST_FOUND = 50;
/** Nobody waits longer, and taps need the database. */
const WITHIN_MS = 5_000;

const CONDITIONS: Readonly<Record<Wanted['by'], string>> = {
  id: 'id = $2::uuid',
  reference:
    'merchant_reference = $2 and merchant_id = any(array(select id from merchants where acquirer_id = any($1)))',
  rrn: 'rrn = $2 and created_at > $3',
  stan: 'stan = $2 and created_at > $3',
  maskedPan: 'masked_pan = $2 and created_at > $3',
  panHash: 'pan_hash = any($2) and created_at > $3',
  // Partial indexes hold these.
  owed: `reversal_state in (${OPEN_REVERSAL_STATES.join()})`,
  review: 'needs_review',
};

/** Taps have no index by these: they are looked for among those of the time that is asked about. */
const BY_TIME: ReadonlySet<Wanted['by']> = new Set(['rrn', 'stan', 'maskedPan', 'panHash'] as const);

/** Of the database's clients, that taps need. Each is gone for `WITHIN_MS` at most. */
const AT_ONCE = 2;
/** More people than an installation has at its consoles; most searches take milliseconds. */
const WAITING = 32;

/**
 * @param acquirerId whose; undefined for all
 * @throws RequestRejected (SEARCH_TOO_SLOW), Overloaded when too many wait
 */
export type SearchTransactions = (
  acquirerId: number | undefined,
  wanted: Wanted,
  since: Date,
) => Promise<FoundTransaction[]>;

/** Makes what finds transactions for people at consoles, newest first, at most `MOST_FOUND`. */
export function createTransactionSearch(database: Database): SearchTransactions {
  const line = new ConcurrencyLimit({ atOnce: AT_ONCE, waitMost: WAITING });
  return (acquirerId, wanted, since) => line.run(() => searchTransactions(database, acquirerId, wanted, since));
}

async function searchTransactions(
  database: Database,
  acquirerId: number | undefined,
  wanted: Wanted,
  since: Date,
): Promise<FoundTransaction[]> {
  const { by } = wanted;
  const text = `
    select acquirer_id as "acquirerId", id, merchant_id as "merchantId", merchant_reference as "merchantReference", status, disposition, type,
      amount_minor as "amountMinor", currency, scheme, masked_pan as "maskedPan", response_code as "responseCode",
      needs_review as "needsReview", created_at as "createdAt"
    from transactions where acquirer_id = any($1) and ${CONDITIONS[by]} order by created_at desc limit ${MOST_FOUND}`;
  return mapConnectionLoss(
    inTransaction(database, async (client) => {
      const acquirers = await acquirersInSight(client, acquirerId);
      await client.query(`set local statement_timeout = ${WITHIN_MS}`);
      const values = [acquirers, ...('value' in wanted ? [wanted.value] : []), ...(BY_TIME.has(by) ? [since] : [])];
      const { rows } = await client.query<FoundTransaction>(text, values);
      return rows;
    }).catch((error) => {
      throw tooLong(error) ?? error;
    }),
  );
}

async function acquirersInSight(client: pg.ClientBase, acquirerId: number | undefined): Promise<number[]> {
  if (acquirerId !== undefined) return [acquirerId];
  const { rows } = await client.query<{ id: number }>('select id from acquirers');
  return rows.map(({ id }) => id);
}

/** SQLSTATE 57014, query_canceled. */
function tooLong({ cause }: Error): RequestRejected | undefined {
  if ((cause as { code?: unknown } | undefined)?.code !== '57014') return undefined;
  return new RequestRejected('SEARCH_TOO_SLOW');
}
