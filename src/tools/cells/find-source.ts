import { CellError } from './cell-error.ts';
import type { CellSession } from './cell-session.ts';
import { isServing, type Ownership, readOwnership } from './ownership.ts';
import type { ReachableCells } from './reachable-cells.ts';

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
