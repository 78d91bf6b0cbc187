import { CellError } from './cell-error.ts';
import { takeOver } from './hand-over.ts';
import { dropLaterJobs } from './hand-over-jobs.ts';
import type { MoveOptions } from './move-options.ts';
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
