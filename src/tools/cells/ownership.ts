import { LOCKS } from '../../store/cells/advisory-locks.ts';
import { type Cell, type CellEntry, CellError, withSecrets } from './cell-list.ts';
import { type CellSession, openCellSession } from './cell-session.ts';

export type OwnershipState = 'serving' | 'finishing' | 'leaving' | 'held' | 'closing' | 'arriving' | 'gone';

/** What a cell knows about an acquirer that was moved at least once (table acquirer_cells). */
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

/** What a command has read of a cell, and relies on when it changes it. */
interface ExpectedOwnership {
  readonly generation: number;
  readonly states: readonly OwnershipState[];
}

/**
 * @param expected undefined if there is no row yet
 * @throws CellError CANNOT_MOVE if the row has changed since this command read it
 */
export async function changeOwnership(
  session: CellSession,
  acquirerId: number,
  expected: ExpectedOwnership | undefined,
  { generation, state, peer }: Ownership,
  heldMs?: number,
): Promise<void> {
  const values = [acquirerId, generation, state, peer, heldMs ?? null];
  const held = `clock_timestamp() + $5 * interval '1 ms'`;
  const insert = `insert into acquirer_cells (acquirer_id, generation, state, peer, held_until)
    values ($1, $2, $3, $4, ${held}) on conflict do nothing returning acquirer_id`;
  const update = `update acquirer_cells set generation = $2, state = $3, peer = $4, held_until = ${held},
    changed_at = clock_timestamp() where acquirer_id = $1 and generation = $6 and state = any($7) returning acquirer_id`;
  const rows = expected
    ? await session.query(update, [...values, expected.generation, expected.states])
    : await session.query(insert, values);
  if (rows.length > 0) return;
  const what = `The state of acquirer ${acquirerId} in ${session.cell.name} has changed, so this command has ended. See tapwire cell status.`;
  throw new CellError('CANNOT_MOVE', what);
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

/** What was noted with a step of the move, undefined if this step was not reached. */
export async function notedDetail(
  session: CellSession,
  acquirerId: number,
  generation: number,
  step: string,
): Promise<string | undefined> {
  const text = `select detail from cell_moves where acquirer_id = $1 and generation = $2 and step = $3
    order by id desc limit 1`;
  return (await session.query<{ detail: string }>(text, [acquirerId, generation, step]))[0]?.detail;
}

/** Waits for every commit that writes rows of the acquirer, and keeps further ones waiting until the transaction ends. */
export async function excludeWrites(session: CellSession, acquirerId: number): Promise<void> {
  await session.query('select pg_advisory_xact_lock($1, $2)', [LOCKS.writes, acquirerId]);
}

/**
 * Keeps other commands from changing the acquirer in any of these cells. The session that changes a cell holds the lock
 * of this cell, so a command that has lost a session can no longer change this cell. The locks are taken in the order
 * of the names: of two commands, one succeeds.
 *
 * @throws CellError CANNOT_MOVE if another command changes the acquirer in one of the cells
 */
export async function asOnlyMover(
  cells: readonly CellSession[],
  acquirerId: number,
  act: () => Promise<void>,
): Promise<void> {
  const locked: CellSession[] = [];
  try {
    for (const session of cells.toSorted((one, other) => (one.cell.name < other.cell.name ? -1 : 1))) {
      const text = 'select pg_try_advisory_lock($1, $2) as ok';
      const [lock] = await session.query<{ ok: boolean }>(text, [LOCKS.move, acquirerId]);
      if (!lock!.ok)
        throw new CellError('CANNOT_MOVE', `Another command moves acquirer ${acquirerId} in ${session.cell.name}.`);
      locked.push(session);
    }
    await act();
  } finally {
    for (const session of locked)
      await session.query('select pg_advisory_unlock($1, $2)', [LOCKS.move, acquirerId]).catch(() => {}); // ends with the session
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

/**
 * The cell from which a move to `target` starts or continues: the one that serves the acquirer, or that has given it up
 * to the target. Undefined if the target has taken it over from a cell that cannot be reached now.
 *
 * @throws CellError CANNOT_MOVE if no cell has it, CELL_UNREACHABLE if one that cannot be reached may have it
 */
export async function findSource(
  { sessions, faults }: ReachableCells,
  target: CellSession,
  acquirerId: number,
): Promise<CellSession | undefined> {
  const to = await readOwnership(target, acquirerId);
  if (to?.state === 'finishing') return sessions.find(({ cell }) => cell.name === to.peer);
  const former: { readonly session: CellSession; readonly generation: number }[] = [];
  for (const session of sessions) {
    if (session === target) continue;
    const ownership = await readOwnership(session, acquirerId);
    const isThere = (await session.query('select from acquirers where id = $1', [acquirerId])).length > 0;
    if (isThere && isServing(ownership)) return session;
    if (isGivenUpTo(target, ownership)) former.push({ session, generation: ownership.generation });
  }
  // Several cells may have given it up to this one, at different times.
  const latest = former.sort((one, other) => other.generation - one.generation)[0];
  if (latest && (faults.length === 0 || latest.generation === to?.generation)) return latest.session;
  if (faults.length > 0) {
    const what = `No cell that can be reached serves acquirer ${acquirerId}. ${faults.join(' ')}`;
    throw new CellError('CELL_UNREACHABLE', what);
  }
  throw new CellError('CANNOT_MOVE', `No other cell serves acquirer ${acquirerId}.`);
}

function isGivenUpTo({ cell }: CellSession, ownership: Ownership | undefined): ownership is Ownership {
  return ownership?.state === 'gone' && ownership.peer === cell.name;
}

/** The cells of the list to which this command is connected. */
interface ReachableCells {
  readonly sessions: readonly CellSession[];
  /** Why each of the others cannot be used. */
  readonly faults: readonly string[];
}

/**
 * Connects to every cell of the list. A cell that cannot be reached does not keep the others from being used.
 *
 * @param needed the cell without which nothing can be done
 * @throws CellError CELL_UNREACHABLE, CELLS_INVALID if this one cannot be used
 */
export async function onReachableCells(
  cells: readonly CellEntry[],
  needed: Cell,
  act: (reachable: ReachableCells, needed: CellSession) => Promise<void>,
): Promise<void> {
  const opened = await Promise.allSettled(cells.map(async (cell) => openCellSession(await withSecrets(cell))));
  const sessions = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  try {
    const at = cells.findIndex(({ name }) => name === needed.name);
    const own = opened[at]!;
    if (own.status === 'rejected') throw own.reason;
    const faults = opened.flatMap((each) => (each.status === 'rejected' ? [(each.reason as Error).message] : []));
    await act({ sessions, faults }, own.value);
  } finally {
    for (const session of sessions) await session.close();
  }
}
