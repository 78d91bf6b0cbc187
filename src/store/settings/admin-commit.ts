import type pg from 'pg';
import type { RecordedAction, RecordedKind } from '#schemas/admin-audit';
import { NotFound, RequestRejected } from '../../basics/errors.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';

/**
 * Whose settings a caller may reach: those of an acquirer, or only those of one of its integrators and that
 * integrator's merchants.
 */
export interface Reach {
  readonly acquirerId: number;
  readonly integratorId?: number | undefined;
}

/** A change and its author: the admin event contains `actor`, `key 0123…` or `cli user@host`. */
export interface Change extends Reach {
  readonly actor: string;
}

/** The acquirer id of the installation in admin events: keys of its operator belong to no acquirer. */
export const INSTALLATION = 0;

/** An admin event without its author and time. */
export interface AdminEvent {
  readonly action: RecordedAction;
  readonly kind: RecordedKind;
  readonly id: number | string;
  readonly before: object | null;
  readonly after: object | null;
}

/**
 * Runs `act` in a commit of its own. Changes of one acquirer run one after another.
 *
 * @throws NotFound for an unknown acquirer; RequestRejected (NAME_TAKEN, IN_USE) from the constraints of the database;
 *   StoreUnavailable
 */
export async function inAdminCommit<Result>(
  database: Database,
  acquirerId: number,
  act: (client: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  try {
    return await inTransaction(database, async (client) => {
      await lock(client, acquirerId);
      return act(client);
    });
  } catch (error) {
    throw refusalOf(error) ?? error;
  }
}

/** Records an admin event in the change's own commit. */
export async function recordChange(
  client: pg.ClientBase,
  { acquirerId, actor }: Change,
  { action, kind, id, before, after }: AdminEvent,
): Promise<void> {
  await client.query(
    `insert into admin_events (acquirer_id, actor, action, kind, subject_id, before, after)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [acquirerId, actor, action, kind, String(id), before, after],
  );
}

/** Not `for update`: rows that refer to the acquirer may be inserted meanwhile. */
async function lock(client: pg.ClientBase, acquirerId: number): Promise<void> {
  if (acquirerId === INSTALLATION) {
    await client.query('lock table acquirers in share row exclusive mode');
    return;
  }
  const { rowCount } = await client.query('select from acquirers where id = $1 for no key update', [acquirerId]);
  if (rowCount === 0) throw new NotFound();
}

/**
 * SQLSTATE 23503, foreign_key_violation, and 23505, unique_violation: the constraints define which rows need each
 * other.
 */
function refusalOf(error: unknown): RequestRejected | undefined {
  const { code } = error as { code?: unknown };
  if (code === '23503') return new RequestRejected('IN_USE');
  if (code === '23505') return new RequestRejected('NAME_TAKEN');
  return undefined;
}
