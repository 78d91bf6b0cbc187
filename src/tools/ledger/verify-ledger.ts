import type { Processor } from '../../kits/processor-kit/processor.ts';
import { Disposition } from '../../payments/model/disposition.ts';
import { OPEN_REVERSAL_STATES } from '../../payments/model/transaction.ts';
import { type Database, inLongSession } from '../../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../../store/postgres/session-limits.ts';
import { type Books, type Finding, type LedgerLine, leaveToOthers, matchedEntries, openBooks } from './books.ts';
import { checkAmounts, checkMoney, checkRefunds } from './money-checks.ts';
import { checkBySql, checkEvents, checkJobs, checkReviews, checkStans, IS_RESOLVED } from './stored-checks.ts';
import { checkTrails } from './trail-check.ts';

/** The last outcome of a transaction that a client received. */
interface ClientResponse {
  readonly id: string;
  readonly outcome: string;
}

const BATCH_RESPONSES = 5_000;

const TOLD = 'client_responses a left join transactions t on t.id = a.id';
/** A void was requested, or a reversal is in progress, or the transaction needs or needed review. */
const HAS_CHANGED = `(t.void_state is not null or t.needs_review
  or t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) or ${IS_RESOLVED})`;

/** Call this before opening the books, which are read-only afterwards. */
async function keepResponses(books: Pick<Books, 'client'>, responses: AsyncIterable<ClientResponse>): Promise<void> {
  const { client } = books;
  await client.query('create temp table client_responses (id uuid, outcome text)');
  let batch: ClientResponse[] = [];
  const insert = async () => {
    const columns = [batch.map(({ id }) => id), batch.map(({ outcome }) => outcome)];
    await client.query('insert into client_responses select * from unnest($1::uuid[], $2::text[])', columns);
    batch = [];
  };
  for await (const { id, outcome } of responses) if (batch.push({ id, outcome }) === BATCH_RESPONSES) await insert();
  await insert();
}

/** C: the outcome that a client received is the recorded one. */
function checkClients(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'C',
    description: 'the outcome that a client received is recorded, was voided, or is or was in review',
    lookedAt: 'select count(*) from client_responses',
    inReview: `select count(*) from ${TOLD} where a.outcome = 'Approved' and t.disposition <> ${Disposition.Approved} and t.needs_review`,
    violations: `
      select a.id::text, concat('a client received ', a.outcome, ', but the transaction does not exist') as what
      from ${TOLD} where t.id is null
      union all
      select a.id::text, concat('a client received Approved, but the disposition is ', t.disposition) from ${TOLD}
      where a.outcome = 'Approved' and t.disposition is distinct from ${Disposition.Approved} and t.id is not null
        and not ${HAS_CHANGED}
      union all
      select a.id::text, concat('a client received ', a.outcome, ', but the transaction is Approved') from ${TOLD}
      where a.outcome <> 'Approved' and t.disposition = ${Disposition.Approved}
        and not ${IS_RESOLVED}`,
  });
}

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
  /** Most violations of a check that are named; default: as many as a person reads. */
  readonly maxNamed?: number | undefined;
  /** The outcomes that clients received; without them check C is skipped. */
  readonly responses?: AsyncIterable<ClientResponse> | undefined;
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
  maxNamed,
  responses,
}: BooksToVerify): Promise<Finding[]> {
  // Its temporary tables end with the session.
  return inLongSession(database, SESSION_LIMITS.ledger, async (client) => {
    if (responses) await keepResponses({ client }, responses);
    const books = await openBooks(client, ledger, since ?? null, maxNamed);
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
      ...(responses ? [await checkClients(books)] : []),
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
