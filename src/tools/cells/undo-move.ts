import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import type { MoveOptions } from './finish-move.ts';
import { takeOver } from './hand-over.ts';
import { dropLaterJobs } from './hand-over-jobs.ts';
import {
  asOnlyMover,
  changeOwnership,
  excludeWrites,
  isServing,
  noteStep,
  type Ownership,
  readOwnership,
} from './ownership.ts';
import { endReplication } from './replication.ts';
import { clearRows } from './tenant-tables.ts';
import { removeFence } from './write-fence.ts';

type UndoneMove = Pick<MoveOptions, 'source' | 'target' | 'acquirerId'>;

/**
 * Ends a move before the target has taken the acquirer over, also after the source has given it up: then the source
 * takes it back. The source serves it, and the target has no rows of it. An undo that was interrupted continues when it
 * is called again; a move starts again.
 *
 * @throws CellError CANNOT_MOVE after that, because the target serves it
 */
export async function undoMove(move: UndoneMove): Promise<void> {
  await asOnlyMover([move.source, move.target], move.acquirerId, () => undo(move));
}

async function undo({ source, target, acquirerId }: UndoneMove): Promise<void> {
  const from = await readOwnership(source, acquirerId);
  const to = await readOwnership(target, acquirerId);
  if (!to || !isUndoable({ source, target, acquirerId }, from, to)) {
    throw new CellError(
      'CANNOT_MOVE',
      `Acquirer ${acquirerId} is not being moved from ${source.cell.name} to ${target.cell.name}.`,
    );
  }
  const { generation } = to;
  // Before anything else: from now on the target cannot take over.
  await target.transaction(async () => {
    await excludeWrites(target, acquirerId);
    await changeOwnership(target, acquirerId, { generation, states: ['arriving', 'gone'] }, { ...to, state: 'gone' });
  });
  if (from?.state === 'gone') {
    await takeOver(source, acquirerId, 'gone', { ...from, state: 'leaving' });
  }
  await noteStep(source, acquirerId, generation, 'undone');
  await endReplication([source, target], acquirerId);
  await clearRows(target, acquirerId);
  await dropLaterJobs(source, acquirerId, { jobs: false });
  await removeFence(source, acquirerId);
  // Last, so that a call that is repeated finds what was interrupted.
  const last = await readOwnership(source, acquirerId);
  if (last)
    await changeOwnership(
      source,
      acquirerId,
      { generation: last.generation, states: [last.state] },
      { ...last, state: 'serving' },
    );
}

/** The target does not serve the acquirer, and both cells know of the same move, or only the target does yet. */
function isUndoable({ source, target }: UndoneMove, from: Ownership | undefined, to: Ownership): boolean {
  if (!['arriving', 'gone'].includes(to.state) || to.peer !== source.cell.name) return false;
  const isAnnounced = from !== undefined && from.generation === to.generation && from.peer === target.cell.name;
  if (isAnnounced) return from.state !== 'serving' && from.state !== 'finishing';
  return to.state === 'arriving' && isServing(from) && (from?.generation ?? 0) < to.generation;
}

/**
 * Removes the rows that a move has left in the former cell of an acquirer. The triggers remain as long as another cell
 * serves it: a process of the former cell that was frozen may still try to commit.
 *
 * @throws CellError CANNOT_MOVE unless the other cell serves the acquirer and no move of it is in progress
 */
export async function forgetAcquirer(former: CellSession, current: CellSession, acquirerId: number): Promise<void> {
  await asOnlyMover([former, current], acquirerId, async () => {
    const left = await readOwnership(former, acquirerId);
    const served = await readOwnership(current, acquirerId);
    if (left?.state !== 'gone' || served?.state !== 'serving' || served.generation < left.generation) {
      const what = `${former.cell.name} has not given acquirer ${acquirerId} up to ${current.cell.name}, or a move has not finished, so its rows stay. See tapwire cell status.`;
      throw new CellError('CANNOT_MOVE', what);
    }
    await endReplication([former, current], acquirerId);
    await dropLaterJobs(former, acquirerId, { jobs: true });
    await clearRows(former, acquirerId);
    await noteStep(former, acquirerId, left.generation, 'forgotten');
  });
}
