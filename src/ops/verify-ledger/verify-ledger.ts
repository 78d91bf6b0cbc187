import type { Processor } from '../../processor-kit/processor.ts';
import { type Database, inLongSession } from '../../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../../store/postgres/session-limits.ts';
import { openBooks } from './books.ts';
import { type ClientAnswer, checkClients, keepAnswers } from './client-check.ts';
import { checkEvents } from './event-check.ts';
import type { Finding } from './finding.ts';
import { checkJobs } from './job-check.ts';
import type { LedgerLine } from './ledger-lines.ts';
import { checkAmounts, checkMoney } from './money-checks.ts';
import { checkReviews } from './review-check.ts';
import { checkStans } from './stan-check.ts';
import { checkTrails } from './trail-check.ts';

export interface BooksToVerify {
  readonly database: Database;
  /** The approvals of the switches, in any order. */
  readonly ledger: AsyncIterable<LedgerLine> | Iterable<LedgerLine>;
  /** Processor types, for the scopes of their STANs. */
  readonly types: ReadonlyMap<string, Processor>;
  /** Start of the ledger; earlier submissions are not expected in it. */
  readonly since?: Date | undefined;
  /** The outcomes that clients received; without them check C is skipped. */
  readonly answers?: AsyncIterable<ClientAnswer> | undefined;
}

/**
 * Compares the ledgers of the gateway and the switches: the invariants I1 to I8 as far as these two show them, and
 * that every open transaction has its job. I9 to I12 (card data, responses, tenants, sockets) appear in neither.
 *
 * The ledger is read first, then a snapshot of the database. Run this when no taps arrive: a tap approved between
 * the two would seem to be missing in the ledger.
 */
export async function verifyLedger({ database, ledger, types, since, answers }: BooksToVerify): Promise<Finding[]> {
  // Its temporary tables end with the session.
  return inLongSession(database, SESSION_LIMITS.ledger, async (client) => {
    if (answers) await keepAnswers({ client }, answers);
    const books = await openBooks(client, ledger, since ?? null);
    return [
      ...(await checkMoney(books)),
      await checkStans(books, types),
      await checkTrails(books),
      await checkEvents(books),
      await checkAmounts(books),
      await checkJobs(books),
      await checkReviews(books),
      ...(answers ? [await checkClients(books)] : []),
    ];
  });
}
