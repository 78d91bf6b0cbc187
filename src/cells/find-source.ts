import { CellError } from './cell-error.ts';
import type { CellSession } from './cell-session.ts';
import { isServing, readOwnership } from './ownership.ts';

/**
 * The cell from which a move to `target` starts or continues: the one that serves the acquirer, or that has given it up
 * to the target.
 *
 * @throws CellError CANNOT_MOVE if no cell has it
 */
export async function findSource(
  cells: readonly CellSession[],
  target: CellSession,
  acquirerId: number,
): Promise<CellSession> {
  const former: { readonly session: CellSession; readonly generation: number }[] = [];
  for (const session of cells) {
    if (session === target) continue;
    const ownership = await readOwnership(session, acquirerId);
    const isThere = (await session.query('select from acquirers where id = $1', [acquirerId])).length > 0;
    if (isThere && isServing(ownership)) return session;
    if (ownership?.state === 'gone' && ownership.peer === target.cell.name)
      former.push({ session, generation: ownership.generation });
  }
  // Several cells may have given it up to this one, at different times.
  const latest = former.sort((one, other) => other.generation - one.generation)[0];
  if (latest) return latest.session;
  throw new CellError('CANNOT_MOVE', `No other cell serves acquirer ${acquirerId}.`);
}
