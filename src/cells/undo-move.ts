import { CellError } from './cell-error.ts';
import type { MoveOptions } from './move-acquirer.ts';
import { asOnlyMover, isServing, noteStep, readOwnership, writeOwnership } from './ownership.ts';
import { stopReplication } from './replication.ts';
import { clearRows } from './tenant-tables.ts';
import { removeFence } from './write-fence.ts';

type UndoneMove = Pick<MoveOptions, 'source' | 'target' | 'acquirerId'>;

/**
 * Ends a move before the source has given the acquirer up. The source serves it, and the target has no rows of it.
 *
 * @throws CellError CANNOT_MOVE after that, because the target may serve it
 */
export async function undoMove(move: UndoneMove): Promise<void> {
  await asOnlyMover(move, () => undo(move));
}

async function undo({ source, target, acquirerId }: UndoneMove): Promise<void> {
  const from = await readOwnership(source, acquirerId);
  const to = await readOwnership(target, acquirerId);
  if (!isServing(from)) {
    const what = `${source.cell.name} has given acquirer ${acquirerId} up. Run the move again to complete it.`;
    throw new CellError('CANNOT_MOVE', what);
  }
  if (to?.state !== 'arriving') throw new CellError('CANNOT_MOVE', `Acquirer ${acquirerId} is not being moved.`);
  const generation = to.generation;
  if (from) await writeOwnership(source, acquirerId, { ...from, state: 'serving' });
  await noteStep(source, acquirerId, generation, 'undone');
  await stopReplication({ source, target, acquirerId, generation });
  await removeFence(source, acquirerId);
  await clearRows(target, acquirerId);
  await writeOwnership(target, acquirerId, { ...to, state: 'gone' });
  await removeFence(target, acquirerId);
}
