import { CellError } from './cell-error.ts';
import type { CellSession } from './cell-session.ts';
import { isServing, readOwnership } from './ownership.ts';

/**
 * The cell from which a move to `target` starts or continues: the one that serves the acquirer, or that has given it up
 * to the target.
 *
 * @throws CellError CANNOT_MOVE unless exactly one cell is possible
 */
export async function findSource(
  cells: readonly CellSession[],
  target: CellSession,
  acquirerId: number,
): Promise<CellSession> {
  const sources: CellSession[] = [];
  for (const session of cells) {
    if (session === target) continue;
    const ownership = await readOwnership(session, acquirerId);
    const isGivenUp = ownership?.state === 'gone' && ownership.peer === target.cell.name;
    const isThere = (await session.query('select from acquirers where id = $1', [acquirerId])).length > 0;
    if (isThere && isServing(ownership)) return session;
    if (isGivenUp) sources.push(session);
  }
  if (sources.length === 1) return sources[0]!;
  throw new CellError('CANNOT_MOVE', `No other cell serves acquirer ${acquirerId}.`);
}
