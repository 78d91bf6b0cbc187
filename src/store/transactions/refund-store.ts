import type { Transaction } from '../../payments/model/transaction.ts';
import type { NewVoid, RefundStore, ReturnObstacle } from '../../payments/ports/refund-ports.ts';
import type { NewAttempt, PhoneResponseRecord } from '../../payments/ports/store-ports.ts';
import { GroupCommit } from '../postgres/group-commit.ts';
import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';
import { commitAcknowledgements } from './commit-phone-responses.ts';
import { commitRefund, type ReserveOutcome } from './commit-refunds.ts';
import { findIsSettled, findObstacle, findVoid, startVoid } from './commit-voids.ts';
import type { JobsInCommit } from './jobs-in-commit.ts';

/**
 * Refunds and voids are rare, and each has its own commit. A phone may acknowledge every tap, so acknowledgements are
 * grouped.
 */
export class PostgresRefundStore implements RefundStore {
  readonly #database: Database;
  readonly #jobs: JobsInCommit;
  readonly #acknowledgements: GroupCommit<PhoneResponseRecord, boolean>;

  constructor(database: Database, jobs: JobsInCommit) {
    this.#database = database;
    this.#jobs = jobs;
    this.#acknowledgements = new GroupCommit<PhoneResponseRecord, boolean>(database, {
      keyOf: ({ id }) => id,
      write: (client, records, seal) => commitAcknowledgements(client, records, jobs, seal),
    });
  }

  reserve(refund: NewAttempt): Promise<ReserveOutcome> {
    return commitRefund(this.#database, refund, this.#jobs);
  }

  isSettled(sale: Transaction, timeZone: string): Promise<boolean> {
    return mapConnectionLoss(findIsSettled(this.#database, sale, timeZone));
  }

  findObstacle(sale: Transaction): Promise<ReturnObstacle | undefined> {
    return mapConnectionLoss(findObstacle(this.#database, sale));
  }

  startVoid(wanted: NewVoid): Promise<boolean> {
    return startVoid(this.#database, wanted, this.#jobs);
  }

  findVoid(sale: Transaction): Promise<Transaction | undefined> {
    return mapConnectionLoss(findVoid(this.#database, sale));
  }

  acknowledge(record: PhoneResponseRecord): Promise<boolean> {
    return this.#acknowledgements.submit(record);
  }

  /** Resolves when all submitted writes are committed. */
  close(): Promise<void> {
    return this.#acknowledgements.idle();
  }
}
