import { type Cell, type CellEntry, CellError, withSecrets } from './cell-list.ts';
import { type CellSession, openCellSession } from './cell-session.ts';
import { isServing, type Ownership, readOwnership } from './ownership.ts';

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
export interface ReachableCells {
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
