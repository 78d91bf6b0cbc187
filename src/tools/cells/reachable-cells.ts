import type { Cell, CellEntry } from './cell-list.ts';
import { withSecrets } from './cell-list.ts';
import { type CellSession, openCellSession } from './cell-session.ts';

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
