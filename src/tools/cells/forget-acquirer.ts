import { CellError } from './cell-error.ts';
import type { CellSession } from './cell-session.ts';
import { dropLaterJobs } from './hand-over-jobs.ts';
import { asOnlyMover, noteStep, readOwnership } from './ownership.ts';
import { endReplication } from './replication.ts';
import { clearRows } from './tenant-tables.ts';

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
