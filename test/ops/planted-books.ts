import { randomUUID } from 'node:crypto';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { AuditEntry } from '../../src/payments/model/decision.ts';
import { Disposition, type DispositionId } from '../../src/payments/model/disposition.ts';
import { moves, Status, type StatusId, statusName } from '../../src/payments/model/status.ts';
import type { Finding, LedgerLine } from '../../src/tools/ledger/books.ts';
import { verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import { saveTenants } from '../support/tenants.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

export interface Planted {
  readonly id: string;
  readonly stan: string;
  readonly rrn: string;
}

/** The properties of a planted transaction; default: an approved one of 10.00 ZAR. */
export interface Plant {
  readonly disposition?: DispositionId | null;
  readonly status?: StatusId;
  readonly reversalState?: number;
  readonly amountMinor?: number;
  readonly stan?: string;
  /** The audit trail; default: that of `disposition`. */
  readonly trail?: readonly AuditEntry[];
  readonly createdAt?: Date;
}

const SUBMITTED: StatusId[] = [1, 3, 4];
const AT = '2026-03-01T10:00:00.000Z';

/** A database and a ledger whose rows and entries a test writes itself, including those that must never occur. */
export class PlantedBooks {
  readonly ledger: LedgerLine[] = [];
  readonly #testDatabase: TestDatabase;
  #planted = 0;

  private constructor(testDatabase: TestDatabase) {
    this.#testDatabase = testDatabase;
  }

  static async open(): Promise<PlantedBooks> {
    const testDatabase = await createTestDatabase();
    const processor = (await loadProcessors()).get('type-1')!;
    await saveTenants(testDatabase.database, { type: 'type-1', config: processor.exampleConfig });
    return new PlantedBooks(testDatabase);
  }

  get database() {
    return this.#testDatabase.database;
  }

  get url(): string {
    return this.#testDatabase.url;
  }

  close(): Promise<void> {
    return this.#testDatabase.drop();
  }

  /** Empties both books. The audit trail forbids it unless its triggers are disabled. */
  async clear(): Promise<void> {
    this.ledger.length = 0;
    const tables = [
      ...['transactions', 'superseded_attempts', 'reversal_attempts', 'transaction_events', 'review_resolutions'],
      ...['webhook_attempts', 'webhook_events', 'webhook_endpoints'],
    ];
    await this.database.query(
      `set session_replication_role = replica; truncate ${tables.join()} cascade; reset session_replication_role`,
    );
  }

  async transaction(plant: Plant = {}): Promise<Planted> {
    const { disposition = Disposition.Approved, amountMinor = 1_000, createdAt = new Date() } = plant;
    const outcome = disposition === Disposition.Approved || disposition === Disposition.Declined ? 7 : 5;
    const path: StatusId[] = disposition === null ? SUBMITTED : [...SUBMITTED, outcome, Status.RespondedToPhone];
    const status = plant.status ?? path.at(-1)!;
    const id = randomUUID();
    const stan = plant.stan ?? String(++this.#planted).padStart(6, '0');
    const rrn = `606010${stan}`;
    await this.database.query(
      `insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, disposition, type,
         amount_minor, approved_minor, currency, device_installation_id, tid, route_id, stan, rrn, sent_at, respond_by, reversal_state,
         created_at, updated_at)
       values (1, $1, '1001', 10, $2, 1, $3, $4, 1, $5, $6, 'ZAR', 'device', 'TW000001', 100, $7, $8, $9, $9, $10, $9, $9)`,
      [
        id,
        randomUUID(),
        status,
        disposition,
        amountMinor,
        disposition === Disposition.Approved ? amountMinor : null,
        stan,
        rrn,
        createdAt,
        plant.reversalState ?? 0,
      ],
    );
    const trail = plant.trail ?? moves(null, path, Date.parse(AT));
    if (trail.length > 0) await this.tell(id, trail);
    return { id, stan, rrn };
  }

  /** Adds a row to an audit trail. */
  async tell(id: string, entries: readonly AuditEntry[], attempt = 1): Promise<void> {
    await this.database.query(
      'insert into transaction_events (acquirer_id, transaction_id, attempt, moves) values (1, $1, $2, $3)',
      [id, attempt, JSON.stringify(entries)],
    );
  }

  /** The switch's side of a transaction. */
  entry({ stan, rrn }: Pick<Planted, 'stan' | 'rrn'>, changes: Partial<LedgerLine> = {}): void {
    this.ledger.push({
      processor: 'type-1',
      key: `${stan}-${this.ledger.length}`,
      kind: 'sale',
      stan,
      rrn,
      tid: 'TW000001',
      currencyNumeric: '710',
      amountMinor: 1_000,
      approvedMinor: 1_000,
      approvedAtMs: Date.now(),
      state: 'approved',
      ...changes,
    });
  }

  /** Valid transactions: approved, declined, and voided. */
  async plantSoundOnes(): Promise<void> {
    this.entry(await this.transaction());
    await this.transaction({ disposition: Disposition.Declined });
    const voided = await this.transaction({ disposition: Disposition.Voided, reversalState: 3 });
    await this.tell(voided.id, [
      { reversal: 'sent', attempt: 1, at: AT },
      { reversal: 'acknowledged', attempt: 1, at: AT },
    ]);
    this.entry(voided, { state: 'reversed' });
  }

  async verify(since?: Date): Promise<Finding[]> {
    return verifyLedger({ database: this.database, ledger: this.ledger, types: await loadProcessors(), since });
  }

  /** The violations by check; checks without violations are left out. */
  async faults(since?: Date): Promise<Record<string, { id: string; what: string }[]>> {
    const findings = await this.verify(since);
    const wrong = findings.filter(({ violationCount }) => violationCount > 0);
    return Object.fromEntries(wrong.map(({ check, violations }) => [check, [...violations]]));
  }
}

export function move(from: StatusId | null, to: StatusId): AuditEntry {
  return { from: from === null ? null : statusName(from), to: statusName(to), at: AT };
}
