import { setTimeout as sleep } from 'node:timers/promises';
import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import { dropLaterJobs, takeLaterJobs } from './hand-over.ts';
import { asOnlyMover, changeOwnership, isSignedOn, noteStep, type Ownership, readOwnership } from './ownership.ts';
import { dropPublished, endReplication } from './replication.ts';
import { removeFence } from './tenant-tables.ts';

const LOOK_EVERY_MS = 15;

/** @returns whether it became true in time */
export async function until(endsAtMs: number, isTrue: () => Promise<boolean>): Promise<boolean> {
  for (;;) {
    if (await isTrue()) return true;
    if (performance.now() >= endsAtMs) return false;
    await sleep(LOOK_EVERY_MS);
  }
}

/** A switch that cannot be reached from the target must not keep its acquirer without a cell. */
const SIGN_ON_WITHIN_MS = 5_000;

/** What the end of a move needs. The source is undefined if it cannot be reached. */
export interface FinishOptions extends Omit<MoveOptions, 'source'> {
  readonly source: CellSession | undefined;
}

/**
 * Ends a move whose target has taken the acquirer over: replication and its slot, the jobs that are due later, and the
 * proxy. May be repeated.
 *
 * @throws CellError CELL_UNREACHABLE after the proxy was changed, if the source has failed and must be cleaned up later
 */
export async function finishMove(options: FinishOptions, ownership: Ownership): Promise<void> {
  const { source, acquirerId } = options;
  // At once, because a slot keeps WAL until the disk is full, and without waiting for a source that has failed.
  const slotDropped =
    source && dropPublished(source, acquirerId).catch((cause: unknown) => unusable(options, ownership, cause));
  try {
    await serveFromTarget(options, ownership);
  } finally {
    await slotDropped;
  }
  const fault = await slotDropped;
  if (fault || !source) throw fault ?? unusable(options, ownership);
  await cleanUp(options, ownership);
}

/** Does what `finishMove` does, also if the source is lost permanently and nothing of it must be cleaned up. */
export async function completeMove(options: FinishOptions, ownership: Ownership): Promise<void> {
  await serveFromTarget(options, ownership);
  await cleanUp(options, ownership);
}

async function serveFromTarget({ target, acquirerId, flip, onStep }: FinishOptions, { generation }: Ownership) {
  const isReady = await isSignedOnInTime(target, acquirerId);
  await onStep?.('signedOn', isReady ? '' : 'no process of the target is signed on to a switch of the acquirer');
  await flip();
  await onStep?.('flipped');
  await takeLaterJobs(target, acquirerId, generation);
}

async function cleanUp({ source, target, acquirerId, onStep }: FinishOptions, ownership: Ownership) {
  const { generation } = ownership;
  await endReplication(source ? [source, target] : [target], acquirerId);
  if (source) await dropLaterJobs(source, acquirerId, { jobs: true });
  await removeFence(target, acquirerId);
  if (source) await noteStep(source, acquirerId, generation, 'finished');
  await noteStep(target, acquirerId, generation, 'finished');
  const expected = { generation, states: ['finishing', 'serving'] } as const;
  await changeOwnership(target, acquirerId, expected, { ...ownership, state: 'serving' });
  await onStep?.('finished');
}

/**
 * Ends a move as far as possible while its source cannot be reached.
 *
 * @throws CellError CELL_UNREACHABLE when the proxy was changed, CANNOT_MOVE if the target has not taken the acquirer over
 */
export async function finishWithoutSource(options: Omit<FinishOptions, 'source'>): Promise<void> {
  const { target, acquirerId } = options;
  await asOnlyMover([target], acquirerId, async () => {
    const to = await readOwnership(target, acquirerId);
    if (to?.state !== 'finishing') {
      throw new CellError('CANNOT_MOVE', `${target.cell.name} has not taken acquirer ${acquirerId} over.`);
    }
    await finishMove({ ...options, source: undefined }, to);
  });
}

function unusable({ target, acquirerId }: FinishOptions, { peer }: Ownership, cause?: unknown): CellError {
  const what = `${target.cell.name} serves acquirer ${acquirerId}, but ${peer} cannot be used, so the move has not finished. Run it again when ${peer} responds: until then its replication slot keeps WAL.`;
  return new CellError('CELL_UNREACHABLE', what, { cause });
}

async function isSignedOnInTime(target: CellSession, acquirerId: number): Promise<boolean> {
  const text = 'select from processors where acquirer_id = $1 and removed_at is null';
  if ((await target.query(text, [acquirerId])).length === 0) return true;
  return until(performance.now() + SIGN_ON_WITHIN_MS, () => isSignedOn(target, acquirerId));
}

/** The steps of a move, in their order; each is reported when it is done. */
export type MoveStep =
  | 'checked'
  | 'announced'
  | 'fenced'
  | 'replicating'
  | 'copied'
  | 'held'
  | 'drained'
  | 'closed'
  | 'gaveUp'
  | 'arrived'
  | 'tookOver'
  | 'signedOn'
  | 'flipped'
  | 'finished';

export interface MoveOptions {
  readonly source: CellSession;
  readonly target: CellSession;
  readonly acquirerId: number;
  /** Makes the proxy send requests of the acquirer to the target; may be repeated. */
  readonly flip: () => Promise<void>;
  /** Called after each step. */
  readonly onStep?: ((step: MoveStep, detail?: string) => void | Promise<void>) | undefined;
}
