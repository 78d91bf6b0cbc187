import type { Processor } from '../../kits/processor-kit/processor.ts';
import { type Database, inLongSession } from '../../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../../store/postgres/session-limits.ts';
import { leaveToOthers, matchedEntries, openBooks } from './books.ts';
import { type ClientAnswer, checkClients, keepAnswers } from './client-check.ts';
import { checkEvents } from './event-check.ts';
import type { Finding } from './finding.ts';
import { checkJobs } from './job-check.ts';
import type { LedgerLine } from './ledger-lines.ts';
import { checkAmounts, checkMoney, checkRefunds } from './money-checks.ts';
import { checkReviews } from './review-check.ts';
import { checkStans } from './stan-check.ts';
import { checkTrails } from './trail-check.ts';

export interface BooksToVerify {
  readonly database: Database;
  /** The approvals of the switches, in any order. */
  readonly ledger: AsyncIterable<LedgerLine> | Iterable<LedgerLine>;
  /** Entries of the ledger that other cells know, with their position (`entriesOfCell`). */
  readonly ofOtherCells?: readonly number[] | undefined;
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
export async function verifyLedger({
  database,
  ledger,
  ofOtherCells,
  types,
  since,
  answers,
}: BooksToVerify): Promise<Finding[]> {
  // Its temporary tables end with the session.
  return inLongSession(database, SESSION_LIMITS.ledger, async (client) => {
    if (answers) await keepAnswers({ client }, answers);
    const books = await openBooks(client, ledger, since ?? null);
    const both = ofOtherCells ? await leaveToOthers(books, ofOtherCells) : 0;
    return [
      ...(ofOtherCells ? [ofOneCell(ofOtherCells.length, both)] : []),
      ...(await checkMoney(books)),
      await checkStans(books, types),
      await checkTrails(books),
      await checkEvents(books),
      await checkAmounts(books),
      await checkRefunds(books),
      await checkJobs(books),
      await checkReviews(books),
      ...(answers ? [await checkClients(books)] : []),
    ];
  });
}

/** The entries of the ledger that one cell knows, with their position: input for the checks of the other cells. */
export async function entriesOfCell({ database, ledger, since }: Pick<BooksToVerify, 'database' | 'ledger' | 'since'>) {
  return inLongSession(database, SESSION_LIMITS.ledger, async (client) =>
    matchedEntries(await openBooks(client, ledger, since ?? null)),
  );
}

/** Of several cells, only one has the transaction of an approval. */
function ofOneCell(lookedAt: number, violationCount: number): Finding {
  const violations = violationCount > 0 ? [{ id: 'cells', what: `${violationCount} approvals are in two cells` }] : [];
  const description = 'an approval of a switch is in the books of one cell';
  return { check: 'K', description, lookedAt, open: 0, inReview: 0, misstated: 0, violationCount, violations };
}
