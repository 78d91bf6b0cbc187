import { CellError } from './cell-error.ts';
import type { CellSession } from './cell-session.ts';
import { isServing, noteStep, readOwnership } from './ownership.ts';
import { clearRows } from './tenant-tables.ts';
import { removeFence } from './write-fence.ts';

/**
 * Removes the rows that a move has left in the former cell of an acquirer.
 *
 * @throws CellError CANNOT_MOVE unless the other cell serves the acquirer
 */
export async function forgetAcquirer(former: CellSession, current: CellSession, acquirerId: number): Promise<void> {
  const left = await readOwnership(former, acquirerId);
  const served = await readOwnership(current, acquirerId);
  const isServedThere = served !== undefined && isServing(served) && served.generation >= (left?.generation ?? 0);
  if (left?.state !== 'gone' || !isServedThere) {
    const what = `${former.cell.name} has not given acquirer ${acquirerId} up to ${current.cell.name}, so its rows stay.`;
    throw new CellError('CANNOT_MOVE', what);
  }
  await clearRows(former, acquirerId);
  await removeFence(former, acquirerId);
  await noteStep(former, acquirerId, left.generation, 'forgotten');
}
