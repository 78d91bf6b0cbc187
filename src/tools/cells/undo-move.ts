import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import { completeMove, type MoveOptions } from './finish-move.ts';
import { dropLaterJobs, hasArrived, takeOver } from './hand-over.ts';
import {
  asOnlyMover,
  changeOwnership,
  excludeWrites,
  isServing,
  notedDetail,
  noteStep,
  type Ownership,
  readOwnership,
} from './ownership.ts';
import { copyState, dropCopySlotsOf, endReplication } from './replication.ts';
import { clearRows, removeFence } from './tenant-tables.ts';

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

interface RecoverOptions extends Pick<MoveOptions, 'acquirerId' | 'flip' | 'onStep'> {
  readonly survivor: CellSession;
  /** The name of the cell whose database will never be used again. */
  readonly lost: string;
}

/**
 * Ends a move whose other database is lost permanently: afterwards the remaining cell serves the acquirer, and it can be
 * moved again. May be repeated.
 *
 * The remaining cell serves it only if it has everything that any cell has acknowledged:
 * - The target has taken over, or has the end mark of the source: nothing followed it.
 * - The source has not given it up, or the target cannot have taken over, because `arrived` was not noted in the source.
 *
 * @throws CellError CANNOT_MOVE if the lost cell may have acknowledged more
 */
export async function recoverAcquirer(options: RecoverOptions): Promise<void> {
  const { survivor, lost, acquirerId } = options;
  await asOnlyMover([survivor], acquirerId, async () => {
    const own = await readOwnership(survivor, acquirerId);
    if (!own || own.peer !== lost || own.state === 'serving') {
      const what = `No move of acquirer ${acquirerId} between ${survivor.cell.name} and ${lost} is unfinished.`;
      throw new CellError('CANNOT_MOVE', what);
    }
    if (own.state === 'arriving' || own.state === 'finishing') await recoverTarget(options, own);
    else await recoverSource(options, own);
  });
}

/** The source is lost. */
async function recoverTarget({ survivor, lost, acquirerId, flip, onStep }: RecoverOptions, own: Ownership) {
  const { generation, state } = own;
  if (state === 'arriving') {
    const { tables, copied } = await copyState({ target: survivor, acquirerId, generation });
    const isComplete = tables > 0 && tables === copied && (await hasArrived(survivor, acquirerId, generation));
    if (!isComplete) {
      const what = `${survivor.cell.name} does not have the last changes of acquirer ${acquirerId}. Restore the database of ${lost} from a standby or a backup, then run the move again or undo it.`;
      throw new CellError('CANNOT_MOVE', what);
    }
    await takeOver(survivor, acquirerId, 'arriving', { ...own, state: 'finishing' });
    await onStep?.('tookOver');
  }
  const move = { target: survivor, source: undefined, acquirerId, flip, onStep };
  await completeMove(move, { ...own, state: 'finishing' });
}

/**
 * Whether a cell that is `gone` is the source of the move and the other cell cannot have served the acquirer after it. The
 * target of a move that is being undone is `gone`, too, and may have the end mark: it has not noted that it gave the
 * acquirer up, and the source may have served it since.
 */
async function isAheadOfTarget(survivor: CellSession, acquirerId: number, generation: number): Promise<boolean> {
  const hasNoted = async (step: string) => (await notedDetail(survivor, acquirerId, generation, step)) !== undefined;
  if (!(await hasNoted('gaveUp')) || (await hasNoted('arrived'))) return false;
  return hasArrived(survivor, acquirerId, generation);
}

/** The target is lost. */
async function recoverSource({ survivor, lost, acquirerId, flip, onStep }: RecoverOptions, own: Ownership) {
  const { generation } = own;
  if (own.state === 'gone') {
    if (!(await isAheadOfTarget(survivor, acquirerId, generation))) {
      const what = `${lost} may have served acquirer ${acquirerId}, so ${survivor.cell.name} lacks what it has stored. Restore the database of ${lost} from a standby or a backup.`;
      throw new CellError('CANNOT_MOVE', what);
    }
    await takeOver(survivor, acquirerId, 'gone', { ...own, state: 'leaving' });
  }
  await endReplication([survivor], acquirerId);
  const lostCluster = await notedDetail(survivor, acquirerId, generation, 'copying');
  if (lostCluster !== undefined) await dropCopySlotsOf(survivor, lostCluster);
  await dropLaterJobs(survivor, acquirerId, { jobs: false });
  await removeFence(survivor, acquirerId);
  await flip();
  await onStep?.('flipped');
  await noteStep(survivor, acquirerId, generation, 'recovered', `${lost} is lost`);
  const expected = { generation, states: ['leaving', 'held', 'closing'] } as const;
  await changeOwnership(survivor, acquirerId, expected, { ...own, state: 'serving' });
}
