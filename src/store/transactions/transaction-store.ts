import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { StoreUnavailable } from '../../basics/errors.ts';
import type { AuditEntry } from '../../payments/model/decision.ts';
import type { ShownTransaction, Transaction, TransactionKey } from '../../payments/model/transaction.ts';
import type {
  GuardedDecision,
  LateRecord,
  LateRecordOutcome,
  NewAttempt,
  NewSubmission,
  OriginalFacts,
  PhoneResponseRecord,
  PinAttempt,
  PinExpiry,
  RequestKey,
  ResponseIdentity,
  ReversalKey,
  ReversalStep,
  SingleUse,
  StoredTransaction,
  Tenant,
  TransactionFilter,
  TransactionReader,
  TransactionStore,
} from '../../payments/ports/store-ports.ts';
import { GroupCommit, type Seal } from '../postgres/group-commit.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { commitDecisions, commitSubmissions } from './commit-decisions.ts';
import { commitResponses } from './commit-phone-responses.ts';
import { commitPinAttempts, commitPinExpiries } from './commit-pin-attempts.ts';
import { commitReversals } from './commit-reversals.ts';
import { type InsertOutcome, insertTaps, retryTaps } from './commit-taps.ts';
import { findOriginalFacts, findRequests } from './find-requests.ts';
import { findByReference, findEvents, findHandover, findOwned, findTransaction } from './find-transactions.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';
import { commitLateResponses, findApproved, findRequestsOfResponses, findReversals } from './late-responses.ts';
import { createTransactionList, type ListTransactions } from './list-transactions.ts';
import { areUsed } from './used-values.ts';

/**
 * Numbers of new rows of this process after which the table may have changed its size so much that plans must be made
 * again. After the last, autovacuum has analyzed the table.
 */
const MILESTONES = [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];

/**
 * Has Postgres analyze a table as it grows. Batches run by plans that are made once for each connection
 * (open-database.ts). For a table with a page or two, the scan of any index looks as cheap as a search by key, and such
 * a plan remains until the next ANALYZE, which autovacuum begins up to a minute later. A table that was analyzed while
 * it was empty has the same plans. ANALYZE makes all connections plan again.
 */
export class FirstStatistics {
  readonly #database: Database;
  readonly #table: string;
  #inserted = 0;
  #reached = 0;
  #running: Promise<unknown> = Promise.resolve();

  /** @param table with rows that batches search by key */
  constructor(database: Database, table: 'transactions' | 'reversal_attempts' | 'superseded_attempts') {
    this.#database = database;
    this.#table = table;
  }

  /** Counts one new row. */
  count(): void {
    this.#inserted++;
    const milestone = MILESTONES[this.#reached];
    if (milestone === undefined || this.#inserted < milestone) return;
    this.#reached++;
    // Without it, batches are slow until autovacuum does the same.
    this.#running = this.#running.then(() => this.#analyze(milestone)).catch(() => {});
  }

  async #analyze(milestone: number): Promise<void> {
    const { rows } = await this.#database.query<{ isKnown: boolean }>(
      `select coalesce(sum(c.reltuples), 0) >= $1 as "isKnown" from pg_class c
       where c.oid in (select relid from pg_partition_tree($2::regclass) where isleaf)`,
      [milestone, this.#table],
    );
    if (!rows[0]!.isKnown) await this.#database.query(`analyze ${this.#table}`);
  }

  /** Resolves when no analysis is running. */
  async close(): Promise<void> {
    await this.#running;
  }
}

/**
 * Longer than a database takes to restart or to be replaced, and shorter than the claim of any job that waits here.
 */
const FOR_MS = 30_000;
const AGAIN_MS = 1_000;

/**
 * Writes the content of a switch response, and retries while the database is unavailable. The switch does not repeat
 * it before the next attempt, which may be due an hour later. The write is guarded: if it was stored although the
 * connection failed, a repeat changes nothing.
 *
 * @throws StoreUnavailable if the database remains unavailable
 */
export async function untilStored<T>(
  write: () => Promise<T>,
  { forMs = FOR_MS, againMs = AGAIN_MS }: { readonly forMs?: number; readonly againMs?: number } = {},
): Promise<T> {
  const giveUpAtMs = performance.now() + forMs;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() > giveUpAtMs) throw error;
    }
    await sleep(againMs);
  }
}

/**
 * If more taps wait for their first commit, the next one is refused: this is a second or two of a saturated disk.
 * Later writes are never refused, because a refused outcome would cost a reversal.
 */
const MAX_WAITING_TAPS = 4_096;
/** Interval at which responses are recorded together: no request waits for them. */
const RESPONSES_EVERY_MS = 100;

/**
 * The ports of the transactions' use cases on Postgres. Every write is group-committed, each kind with its own
 * statement.
 */
export class PostgresTransactionStore implements TransactionStore, TransactionReader {
  readonly #database: Database;
  readonly #inserts: GroupCommit<NewAttempt, InsertOutcome>;
  readonly #retries: GroupCommit<NewAttempt, boolean>;
  readonly #pinAttempts: GroupCommit<PinAttempt, boolean>;
  readonly #pinExpiries: GroupCommit<PinExpiry, boolean>;
  readonly #submissions: GroupCommit<NewSubmission, boolean>;
  readonly #decisions: GroupCommit<GuardedDecision, boolean>;
  readonly #reversals: GroupCommit<ReversalStep, boolean>;
  readonly #lateResponses: GroupCommit<LateRecord, LateRecordOutcome>;
  readonly #responses: GroupCommit<PhoneResponseRecord, true>;
  readonly #list: ListTransactions;
  readonly #statistics: Readonly<Record<'transactions' | 'reversals' | 'superseded', FirstStatistics>>;

  /**
   * @param onLostResponse called if the record of a response could not be written; a worker then finds the attempt
   *   overdue, and records `FailedToRespondToPhone`
   * @param lists database for lists, which take longer than anything else
   * @param commits database for the group commits
   */
  constructor(
    database: Database,
    jobs: JobsInCommit,
    onLostResponse: (error: unknown) => void,
    { lists = database, commits = database }: { readonly lists?: Database; readonly commits?: Database } = {},
  ) {
    this.#database = database;
    this.#list = createTransactionList(lists);
    this.#statistics = {
      transactions: new FirstStatistics(lists, 'transactions'),
      reversals: new FirstStatistics(lists, 'reversal_attempts'),
      superseded: new FirstStatistics(lists, 'superseded_attempts'),
    };
    const group = <Item, Outcome>(
      keyOf: (item: Item) => string,
      write: (client: pg.PoolClient, items: readonly Item[], jobs: JobsInCommit, seal: Seal) => Promise<Outcome[]>,
      pace: { readonly maxQueued?: number; readonly everyMs?: number } = {},
    ) =>
      new GroupCommit<Item, Outcome>(commits, {
        ...pace,
        keyOf,
        write: (client, items, seal) => write(client, items, jobs, seal),
      });
    const byId = ({ transaction }: { transaction: Transaction }) => transaction.id;
    this.#inserts = group(
      ({ transaction }) => `${transaction.merchantId} ${transaction.merchantReference}`,
      insertTaps,
      { maxQueued: MAX_WAITING_TAPS },
    );
    this.#retries = group(byId, retryTaps, { maxQueued: MAX_WAITING_TAPS });
    this.#pinAttempts = group(byId, commitPinAttempts);
    this.#pinExpiries = group(byId, commitPinExpiries);
    this.#submissions = group(byId, commitSubmissions);
    this.#decisions = group(byId, commitDecisions);
    this.#reversals = group(byId, commitReversals);
    this.#lateResponses = group(byId, commitLateResponses);
    this.#responses = group(({ id }) => id, commitResponses, { everyMs: RESPONSES_EVERY_MS });
    this.#onLostResponse = onLostResponse;
  }

  readonly #onLostResponse: (error: unknown) => void;

  insert(attempt: NewAttempt): Promise<InsertOutcome> {
    this.#statistics.transactions.count();
    return this.#inserts.submit(attempt);
  }

  retry(attempt: NewAttempt): Promise<boolean> {
    return this.#retries.submit(attempt);
  }

  async submitPin(attempt: PinAttempt): Promise<boolean> {
    const isSubmitted = await this.#pinAttempts.submit(attempt);
    if (isSubmitted) this.#statistics.superseded.count();
    return isSubmitted;
  }

  expirePin(expiry: PinExpiry): Promise<boolean> {
    return this.#pinExpiries.submit(expiry);
  }

  submit(submission: NewSubmission): Promise<boolean> {
    return this.#submissions.submit(submission);
  }

  recordDecision(decision: GuardedDecision): Promise<boolean> {
    return this.#decisions.submit(decision);
  }

  async stepReversal(step: ReversalStep): Promise<boolean> {
    const write = () => this.#reversals.submit(step);
    // The bytes wait for this write, on a slot that other requests need; if it fails, the job is repeated.
    const isSent = step.record?.kind === 'sent';
    const isStored = await (isSent ? write() : untilStored(write));
    if (isSent && isStored) this.#statistics.reversals.count();
    return isStored;
  }

  recordLate(record: LateRecord): Promise<LateRecordOutcome> {
    return this.#lateResponses.submit(record);
  }

  recordResponse(response: PhoneResponseRecord): void {
    this.recordOverdueResponse(response).catch(this.#onLostResponse);
  }

  async recordOverdueResponse(response: PhoneResponseRecord): Promise<void> {
    await this.#responses.submit(response);
  }

  areUsed(attempt: Transaction, uses: readonly SingleUse[]): Promise<boolean> {
    return mapConnectionLoss(areUsed(this.#database, attempt, uses));
  }

  find(key: TransactionKey): Promise<Transaction | undefined> {
    return mapConnectionLoss(findTransaction(this.#database, key));
  }

  findByReference(acquirerId: number, merchantId: string, merchantReference: string): Promise<Transaction | undefined> {
    return mapConnectionLoss(findByReference(this.#database, acquirerId, merchantId, merchantReference));
  }

  findHandover(key: TransactionKey): Promise<{ handover: Uint8Array; secondsLeft: number } | undefined> {
    return mapConnectionLoss(findHandover(this.#database, key));
  }

  async findRequest(key: RequestKey): Promise<Transaction | undefined> {
    return (await mapConnectionLoss(findRequests(this.#database, [key])))[0];
  }

  findOriginalFacts(request: Transaction): Promise<OriginalFacts> {
    return mapConnectionLoss(findOriginalFacts(this.#database, request));
  }

  findRequestsOfResponses(responses: readonly ResponseIdentity[]): Promise<(Transaction | undefined)[]> {
    return mapConnectionLoss(findRequestsOfResponses(this.#database, responses));
  }

  findApproved(responses: readonly ResponseIdentity[]): Promise<(Transaction | undefined)[]> {
    return mapConnectionLoss(findApproved(this.#database, responses));
  }

  findReversals(responses: readonly ResponseIdentity[]): Promise<(ReversalKey | undefined)[]> {
    return mapConnectionLoss(findReversals(this.#database, responses));
  }

  list(tenant: Tenant, filter: TransactionFilter): Promise<ShownTransaction[]> {
    return this.#list(tenant, filter);
  }

  findOwned(tenant: Tenant, id: string): Promise<Transaction | undefined> {
    return mapConnectionLoss(findOwned(this.#database, tenant, id));
  }

  events(transaction: StoredTransaction): Promise<{ attempt: number; auditEntries: AuditEntry[] }[]> {
    return mapConnectionLoss(findEvents(this.#database, transaction));
  }

  /** Resolves when all submitted writes are committed. */
  async close(): Promise<void> {
    const groups: readonly { idle(): Promise<void> }[] = [
      this.#inserts,
      this.#retries,
      this.#pinAttempts,
      this.#pinExpiries,
      this.#submissions,
      this.#decisions,
      this.#reversals,
      this.#lateResponses,
    ];
    await Promise.all(groups.map((group) => group.idle()));
    await this.#responses.idle();
    await Promise.all(Object.values(this.#statistics).map((each) => each.close()));
  }
}
