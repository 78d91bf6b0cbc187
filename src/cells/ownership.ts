import { LOCKS } from '../store/cells/lock-classes.ts';
import { CellError } from './cell-error.ts';
import type { CellSession } from './cell-session.ts';

export type OwnershipState = 'serving' | 'leaving' | 'held' | 'closing' | 'arriving' | 'gone';

/** What a cell knows about an acquirer that was moved at least once (migration 0037). */
export interface Ownership {
  readonly generation: number;
  readonly state: OwnershipState;
  readonly peer: string;
}

const READ = 'select generation, state, peer from acquirer_cells where acquirer_id = $1';

export async function readOwnership(session: CellSession, acquirerId: number): Promise<Ownership | undefined> {
  return (await session.query<Ownership>(READ, [acquirerId]))[0];
}

/** Whether the cell accepts writes for the acquirer, now or when its hold has ended. */
export function isServing(ownership: Ownership | undefined): boolean {
  return ownership === undefined || !['arriving', 'gone'].includes(ownership.state);
}

export async function writeOwnership(
  session: CellSession,
  acquirerId: number,
  { generation, state, peer }: Ownership,
  heldMs?: number,
): Promise<void> {
  const text = `insert into acquirer_cells (acquirer_id, generation, state, peer, held_until)
    values ($1, $2, $3, $4, clock_timestamp() + $5 * interval '1 ms')
    on conflict (acquirer_id) do update set generation = excluded.generation, state = excluded.state,
      peer = excluded.peer, held_until = excluded.held_until, changed_at = clock_timestamp()`;
  await session.query(text, [acquirerId, generation, state, peer, heldMs ?? null]);
}

/** Adds a step to the journal of the move. */
export async function noteStep(
  session: CellSession,
  acquirerId: number,
  generation: number,
  step: string,
  detail = '',
): Promise<void> {
  const text = 'insert into cell_moves (acquirer_id, generation, step, detail) values ($1, $2, $3, $4)';
  await session.query(text, [acquirerId, generation, step, detail]);
}

/** Waits for every commit that writes rows of the acquirer, and keeps further ones waiting until the transaction ends. */
export async function excludeWrites(session: CellSession, acquirerId: number): Promise<void> {
  await session.query('select pg_advisory_xact_lock($1, $2)', [LOCKS.writes, acquirerId]);
}

/**
 * Keeps other commands from moving the acquirer out of the source. The lock ends with the session of a command that is
 * killed.
 *
 * @throws CellError CANNOT_MOVE if another command moves it
 */
export async function asOnlyMover(
  { source, acquirerId }: { readonly source: CellSession; readonly acquirerId: number },
  act: () => Promise<void>,
): Promise<void> {
  const [lock] = await source.query<{ ok: boolean }>('select pg_try_advisory_lock($1, $2) as ok', [
    LOCKS.move,
    acquirerId,
  ]);
  if (!lock!.ok) throw new CellError('CANNOT_MOVE', `Another command moves acquirer ${acquirerId}.`);
  try {
    await act();
  } finally {
    await source.query('select pg_advisory_unlock($1, $2)', [LOCKS.move, acquirerId]).catch(() => {}); // ends with the session
  }
}

/** Whether no process of the cell has a connection to a switch of the acquirer. The lock lasts until the transaction ends. */
export async function haveLinesClosed(session: CellSession, acquirerId: number): Promise<boolean> {
  const text = 'select pg_try_advisory_xact_lock($1, $2) as ok';
  return (await session.query<{ ok: boolean }>(text, [LOCKS.lines, acquirerId]))[0]!.ok;
}

/** Whether any process of the cell is signed on to a switch of the acquirer. */
export async function isSignedOn(session: CellSession, acquirerId: number): Promise<boolean> {
  const text = `select from pg_locks where locktype = 'advisory' and granted and classid = $1 and objid = $2 and objsubid = 2
    and database = (select oid from pg_database where datname = current_database())`;
  return (await session.query(text, [LOCKS.signedOn, acquirerId])).length > 0;
}
