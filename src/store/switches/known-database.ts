import type pg from 'pg';
import type { LostWindow } from '../../payments/ports/directory-ports.ts';
import { THIS_EPOCH } from './database-epoch.ts';

/**
 * No request takes this long from the decision that it is new to its commit: the HSM has 3 s, and a STAN needs a connection,
 * which is refused meanwhile.
 */
const REFUSED_MS = 10_000;

/** Null in a standby, which cannot commit. A server that was restarted may run on a snapshot of its disk. */
const IDENTITY = `select case when not pg_is_in_recovery() then
  (select concat_ws('/', epoch, extract(epoch from pg_postmaster_start_time())) from (${THIS_EPOCH}) this) end as identity`;

/**
 * Records on a new connection that this process uses its database now, and reads what the database may lack.
 *
 * @returns the lost window that is open; undefined if none is
 * @throws NotAdmitted if another process must record it first
 */
export type LearnDatabase = (client: pg.ClientBase) => Promise<LostWindow | undefined>;

/** Fails like a server that is starting. */
export class NotAdmitted extends Error {
  override readonly name = 'NotAdmitted';
  readonly severity = 'FATAL';
  /** operator_intervention: a condition of the server (system-error.ts). */
  readonly code = '57000';
}

/**
 * Whether connections lead to the database that this process knows. After a failover or a restore under running gateways,
 * a new connection may lead to a database that lacks commits. A repeated order that it lacks looks new, so no commit may
 * go there before the process knows the lost window (payments/decisions/after-restore.ts). Requests that were found new
 * before are refused: for {@link REFUSED_MS} no connection opens.
 *
 * It costs a query for each new connection, and nothing for each commit: a session stays in the database and the server in
 * which it began.
 */
export class KnownDatabase {
  readonly #monotonicMs: () => number;
  #known: string | undefined;
  #learn: LearnDatabase | undefined;
  /** The open lost window when the database was last learned. */
  #window: LostWindow | undefined;
  #learning: Promise<void> | undefined;
  #opensAtMs = Number.NEGATIVE_INFINITY;

  constructor(monotonicMs = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /**
   * From now on, another database is learned before it is used.
   *
   * @param window that is open now
   */
  follow(window: LostWindow | undefined, learn: LearnDatabase): void {
    this.#window = window;
    this.#learn = learn;
  }

  /** @throws NotAdmitted if this connection must not be used now */
  async admit(client: pg.ClientBase): Promise<void> {
    const identity = await readIdentity(client);
    if (identity === null) throw new NotAdmitted('The server is a standby.');
    this.#known ??= identity;
    if (identity !== this.#known) {
      this.#learning ??= this.#learnFrom(client, identity).finally(() => {
        this.#learning = undefined;
      });
      await this.#learning;
    }
    if (identity !== this.#known || this.#monotonicMs() < this.#opensAtMs)
      throw new NotAdmitted('The database was replaced, and what was under way is refused.');
  }

  async #learnFrom(client: pg.ClientBase, identity: string): Promise<void> {
    const before = this.#window;
    this.#window = await this.#learn?.(client);
    const isOther = this.#window?.fromMs !== before?.fromMs || this.#window?.untilMs !== before?.untilMs;
    if (this.#window && isOther) this.#opensAtMs = this.#monotonicMs() + REFUSED_MS;
    this.#known = identity;
  }
}

async function readIdentity(client: pg.ClientBase): Promise<string | null> {
  const { rows } = await client.query<{ identity: string | null }>(IDENTITY);
  return rows[0]!.identity;
}

const IS_NOTED = `select exists (
  select from database_epoch e, (${THIS_EPOCH}) this where e.epoch = this.epoch and e.server_started_at = pg_postmaster_start_time()
) as "isNoted"`;

/**
 * For a process that has no note of its own in the record of the database.
 *
 * @throws NotAdmitted until another process has noted the database since its server started
 */
export async function requireNote(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ isNoted: boolean }>(IS_NOTED);
  if (!rows[0]!.isNoted) throw new NotAdmitted('No worker has recorded yet that the database was replaced.');
}
