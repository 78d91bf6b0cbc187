import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import { completeMove, type MoveOptions } from './finish-move.ts';
import { hasArrived, takeOver } from './hand-over.ts';
import { dropLaterJobs } from './hand-over-jobs.ts';
import { asOnlyMover, changeOwnership, notedDetail, noteStep, type Ownership, readOwnership } from './ownership.ts';
import { copyState, dropCopySlotsOf, endReplication } from './replication.ts';
import { removeFence } from './write-fence.ts';

export interface RecoverOptions extends Pick<MoveOptions, 'acquirerId' | 'flip' | 'onStep'> {
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
