import type pg from 'pg';
import { RequestRejected } from '../../errors.ts';
import { ConcurrencyLimit } from '../../limits/concurrency-limit.ts';
import { OPEN_REVERSAL_STATES } from '../../transactions/model/transaction.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';

/** Search terms for a transaction. Of a card there are only hashes of the PAN that the person typed. */
export type Wanted =
  | { readonly by: 'id' | 'reference' | 'rrn' | 'stan' | 'maskedPan'; readonly value: string }
  | { readonly by: 'panHash'; readonly value: readonly string[] }
  // Everything that is uncertain at a switch, of any age.
  | { readonly by: 'owed' | 'review' };

/** One line of the result. */
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

/** One screen; with more results, the person should add a term. */
export const MOST_FOUND = 50;
/** People do not wait longer, and taps need the database. */
const WITHIN_MS = 5_000;

const CONDITIONS: Readonly<Record<Wanted['by'], string>> = {
  id: 'id = $2::uuid',
  reference:
    'merchant_reference = $2 and merchant_id = any(array(select id from merchants where acquirer_id = any($1)))',
  rrn: 'rrn = $2 and created_at > $3',
  stan: 'stan = $2 and created_at > $3',
  maskedPan: 'masked_pan = $2 and created_at > $3',
  panHash: 'pan_hash = any($2) and created_at > $3',
  // Partial indexes contain these.
  owed: `reversal_state in (${OPEN_REVERSAL_STATES.join()})`,
  review: 'needs_review',
};

/** Taps have no index for these terms, so the search reads the taps of the given period. */
const BY_TIME: ReadonlySet<Wanted['by']> = new Set(['rrn', 'stan', 'maskedPan', 'panHash'] as const);

/** Database clients that searches take from taps, each for at most `WITHIN_MS`. */
const AT_ONCE = 2;
/** More people than an installation has at its consoles; most searches take milliseconds. */
const WAITING = 32;

/**
 * @param acquirerId owner of the transactions; undefined for all
 * @throws RequestRejected (SEARCH_TOO_SLOW), Overloaded if too many wait
 */
export type SearchTransactions = (
  acquirerId: number | undefined,
  wanted: Wanted,
  since: Date,
) => Promise<FoundTransaction[]>;

/** Makes the function that finds transactions for people at consoles, newest first, at most `MOST_FOUND`. */
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
