import { setTimeout as sleep } from 'node:timers/promises';
import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import { checkMove } from './check-move.ts';
import { finishMove, type MoveOptions, type MoveStep, until } from './finish-move.ts';
import { copyLaterJobs, countUnfinished, giveUp, hasArrived, hasMark, takeOver, writeMark } from './hand-over.ts';
import {
  asOnlyMover,
  changeOwnership,
  excludeWrites,
  haveLinesClosed,
  noteStep,
  type Ownership,
  type OwnershipState,
  readOwnership,
} from './ownership.ts';
import { clusterOf, copyState, endReplication, isIntact, type Replication, startReplication } from './replication.ts';
import { clearRows, installFence } from './tenant-tables.ts';

/** The longest time for which new taps are refused before the acquirer is given up. The database ends it even if this command dies. */
const HOLD_MS = 1_500;
/** What remains for the commit that gives the acquirer up. */
const LEAST_FOR_COMMIT_MS = 150;
/** Commits that began before the hold take milliseconds. */
const LOCK_TIMEOUT = '300ms';
const LOOK_EVERY_MS = 15;
/** Each process of the target knows copied settings (merchants, issuers, terminals) by then: the directory promises 5 s. */
const KNOWN_AFTER_MS = 5_000;
const COPY_LOOK_MS = 250;
/** Between two holds, so that a tap that is repeated after a 503 succeeds. */
const BETWEEN_HOLDS_MS = 3_000;
const MAX_HOLDS = 40;
/** Replication that needs longer after the last write has a fault that an operator must remove. */
const ARRIVE_WITHIN_MS = 60_000;
/**
 * A mark that the source writes is in the target after milliseconds. If it takes longer, the target would need at least
 * as long for the commit that gives the acquirer up, and meanwhile no cell serves it.
 */
const MARK_WITHIN_MS = 1_000;
/** The target may apply many changes before it follows closely: those of the initial copy, or of many jobs. */
const FOLLOW_WITHIN_MS = 60_000;
const INTACT_LOOK_MS = 1_000;
const UNDER_WAY: readonly OwnershipState[] = ['leaving', 'held', 'closing'];

/** Limits of a move, shorter in tests. */
export interface MoveTimes {
  readonly betweenHoldsMs?: number;
  readonly mostHolds?: number;
  readonly knownAfterMs?: number;
  readonly followWithinMs?: number;
}

/**
 * Moves an acquirer to another cell. The state is in the databases (`acquirer_cells`), so a move that was interrupted at
 * any step continues when it is called again.
 *
 * 1. Rows are copied while the source serves the acquirer, until the target applies changes within a second.
 * 2. The source holds it: its database refuses new work, and work in progress ends. The hold has an end in the
 *    database, so a command that dies leaves no acquirer without service.
 * 3. The processes of the source close their connections to its switches, and look up the late responses that they hold.
 * 4. The source gives it up, in one commit that no write of the source can follow.
 * 5. The target takes it over when this commit has arrived, and connects to its switches. The commit with which it does
 *    ends replication. Until here the move can be undone.
 * 6. The proxy sends its requests to the target.
 *
 * @throws CellError CANNOT_MOVE, NOT_DRAINED, MOVE_STUCK, CELL_UNREACHABLE
 */
export async function moveAcquirer(options: MoveOptions, times: MoveTimes = {}): Promise<void> {
  const { source, target, acquirerId } = options;
  await asOnlyMover([source, target], acquirerId, () => new Move(options, times).run());
}

class Move {
  readonly #options: MoveOptions;
  readonly #times: Required<MoveTimes>;
  #generation = 0;

  constructor(options: MoveOptions, times: MoveTimes) {
    this.#options = options;
    this.#times = {
      ...{ betweenHoldsMs: BETWEEN_HOLDS_MS, mostHolds: MAX_HOLDS, knownAfterMs: KNOWN_AFTER_MS },
      ...{ followWithinMs: FOLLOW_WITHIN_MS, ...times },
    };
  }

  async run(): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    const from = await readOwnership(source, acquirerId);
    const to = await readOwnership(target, acquirerId);
    const isTaken = to?.state === 'serving' || to?.state === 'finishing';
    if (isTaken && from?.state === 'gone' && from.generation === to.generation) {
      return finishMove(this.#options, to); // only the end of an earlier call is missing, or nothing
    }
    if (from?.state === 'gone') this.#continue(from, to);
    else {
      await this.#prepare(from, to);
      await this.#cutOver();
    }
    await this.#arrive();
    await finishMove(this.#options, this.#ownership(source, 'finishing'));
  }

  /** @throws CellError CANNOT_MOVE unless the source has given the acquirer up in a move that the target awaits */
  #continue(from: Ownership, to: Ownership | undefined): void {
    this.#mustBeTo(from);
    const { source, target, acquirerId } = this.#options;
    if (to?.state !== 'arriving' || to.generation !== from.generation) {
      const what = `${source.cell.name} has given acquirer ${acquirerId} up, and ${target.cell.name} does not await it. If the move is being undone, run it again with --undo.`;
      throw new CellError('CANNOT_MOVE', what);
    }
    this.#generation = from.generation;
  }

  get #replication(): Replication {
    const { source, target, acquirerId } = this.#options;
    return { source, target, acquirerId, generation: this.#generation };
  }

  /** @throws CellError CANNOT_MOVE if the source has given the acquirer up to another cell */
  #mustBeTo({ peer }: Ownership): void {
    const { source, target, acquirerId } = this.#options;
    if (peer === target.cell.name) return;
    throw new CellError('CANNOT_MOVE', `${source.cell.name} has given acquirer ${acquirerId} up to ${peer}.`);
  }

  /** Copies the rows while the source serves the acquirer. */
  async #prepare(from: Ownership | undefined, to: Ownership | undefined): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    const isUnderWay = from !== undefined && UNDER_WAY.includes(from.state);
    if (isUnderWay) this.#mustBeTo(from);
    await checkMove(source, target, acquirerId);
    await this.#step('checked');
    const isAnnounced = isUnderWay && to?.state === 'arriving' && to.generation === from.generation;
    this.#generation = isAnnounced ? from.generation : Math.max(from?.generation ?? 0, to?.generation ?? 0) + 1;
    if (!isAnnounced) {
      // The target first: from the first row on, it must know that it does not serve the acquirer.
      await changeOwnership(target, acquirerId, asExpected(to), this.#ownership(source, 'arriving'));
      await changeOwnership(source, acquirerId, asExpected(from), this.#ownership(target, 'leaving'));
    }
    await this.#step('announced');
    await installFence(target, acquirerId);
    await installFence(source, acquirerId);
    await this.#step('fenced');
    await this.#copy();
    await this.#step('copied');
  }

  async #copy(): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    const replication = this.#replication;
    if (!(await isIntact(replication))) {
      await endReplication([source, target], acquirerId);
      await clearRows(target, acquirerId);
      // What the copy leaves in the source if the target is lost is found by the target's cluster.
      await noteStep(source, acquirerId, this.#generation, 'copying', await clusterOf(target));
      await startReplication(replication);
    }
    await this.#step('replicating');
    let lastDetail = '';
    for (;;) {
      const { tables, copied, errors } = await copyState(replication);
      if (tables > 0 && tables === copied) break;
      if (!(await isIntact(replication))) throw this.#stuck('The replication slot was lost. Run the move again.');
      const progress = `${copied} of ${tables} tables are copied`;
      const detail = errors > 0 ? `${progress}, ${errors} errors: see the log of the target's Postgres` : progress;
      if (detail !== lastDetail) await this.#step('replicating', detail);
      lastDetail = detail;
      await sleep(COPY_LOOK_MS);
    }
    await sleep(this.#times.knownAfterMs);
  }

  async #cutOver(): Promise<void> {
    for (let holds = 1; holds <= this.#times.mostHolds; holds++) {
      await this.#follow();
      if (await this.#hold()) return this.#step('gaveUp');
      await sleep(this.#times.betweenHoldsMs);
    }
    const { source, acquirerId } = this.#options;
    throw new CellError(
      'NOT_DRAINED',
      `Work of acquirer ${acquirerId} did not end within ${HOLD_MS} ms in any of ${this.#times.mostHolds} tries, so ${source.cell.name} still serves it. Run the move again later, or undo it.`,
    );
  }

  /**
   * Waits until the target applies changes within a second. After the source has given the acquirer up, it would have no
   * cell until the target does.
   */
  async #follow(): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    await copyLaterJobs(source, acquirerId, this.#generation);
    const endsAtMs = performance.now() + this.#times.followWithinMs;
    for (;;) {
      const mark = await writeMark(source, acquirerId, this.#generation);
      const markedAtMs = performance.now();
      const isThere = await until(endsAtMs, () => hasMark(target, acquirerId, this.#generation, mark));
      if (isThere && performance.now() - markedAtMs <= MARK_WITHIN_MS) return;
      if (isThere) continue;
      throw this.#stuck(
        `${target.cell.name} does not apply the changes of ${source.cell.name}, which still serves acquirer ${acquirerId}. See the log of the Postgres of ${target.cell.name}. Then run the move again, or undo it.`,
      );
    }
  }

  /** @returns false if work in progress did not end in time: the source serves the acquirer again */
  async #hold(): Promise<boolean> {
    const { source, target, acquirerId } = this.#options;
    const startedAtMs = performance.now();
    const endsAtMs = startedAtMs + HOLD_MS - LEAST_FOR_COMMIT_MS;
    try {
      await this.#change('held', HOLD_MS);
      await this.#step('held');
      // A commit that began before the hold may still add work: wait for it once.
      await source.transaction(async () => {
        await source.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
        await excludeWrites(source, acquirerId);
      });
      if (!(await until(endsAtMs, async () => (await countUnfinished(source, acquirerId)) === 0)))
        return await this.#lift('work in progress');
      const mark = await writeMark(source, acquirerId, this.#generation);
      await this.#step('drained');
      await this.#change('closing', startedAtMs + HOLD_MS - performance.now());
      if (!(await until(endsAtMs, () => haveLinesClosed(source, acquirerId))))
        return await this.#lift('open connections to switches or late responses');
      await this.#step('closed');
      if (!(await until(endsAtMs, () => hasMark(target, acquirerId, this.#generation, mark))))
        return await this.#lift('changes that the target has not applied');
      if (await giveUp(source, acquirerId, this.#ownership(target, 'closing'))) return true;
      return await this.#lift('new work');
    } catch (error) {
      const isTimeout = ['55P03', '57014'].includes((error as { code?: string }).code ?? '');
      if (isTimeout) return await this.#lift('a lock or statement timeout');
      throw error;
    }
  }

  async #lift(reason: string): Promise<false> {
    const { source, acquirerId } = this.#options;
    await this.#change('leaving');
    await noteStep(source, acquirerId, this.#generation, 'lifted', reason);
    await this.#options.onStep?.('copied', `hold lifted because of ${reason}, trying again`);
    return false;
  }

  async #arrive(): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    const giveUpAtMs = performance.now() + ARRIVE_WITHIN_MS;
    let lookAtMs = performance.now() + INTACT_LOOK_MS;
    while (!((await this.#isCopied()) && (await hasArrived(target, acquirerId, this.#generation)))) {
      const nowMs = performance.now();
      if (nowMs > lookAtMs) {
        // Nothing writes to the source, so everything can be copied once more.
        if (!(await isIntact(this.#replication))) await this.#copy();
        lookAtMs = performance.now() + INTACT_LOOK_MS;
      }
      if (nowMs > giveUpAtMs) {
        throw this.#stuck(
          'The last changes do not arrive at the target. See the log of its Postgres, then run the move again, or undo it.',
        );
      }
      await sleep(LOOK_EVERY_MS);
    }
    // Before the target can serve: without this entry, `tapwire cell recover` may return the acquirer to the source.
    await noteStep(source, acquirerId, this.#generation, 'arrived');
    await this.#step('arrived');
    await takeOver(target, acquirerId, 'arriving', this.#ownership(source, 'finishing'));
    await this.#step('tookOver');
  }

  /** During a second copy, the table with the end mark may be copied before others. */
  async #isCopied(): Promise<boolean> {
    const { tables, copied } = await copyState(this.#replication);
    return tables > 0 && tables === copied;
  }

  #ownership({ cell }: CellSession, state: Ownership['state']): Ownership {
    return { generation: this.#generation, state, peer: cell.name };
  }

  /** Changes the source, which serves the acquirer and is the source of this move. */
  #change(state: OwnershipState, heldMs?: number): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    const expected = { generation: this.#generation, states: UNDER_WAY };
    return changeOwnership(source, acquirerId, expected, this.#ownership(target, state), heldMs);
  }

  #stuck(reason: string): CellError {
    return new CellError('MOVE_STUCK', reason);
  }

  async #step(step: MoveStep, detail = ''): Promise<void> {
    await this.#options.onStep?.(step, detail);
  }
}

function asExpected(read: Ownership | undefined) {
  return read && { generation: read.generation, states: [read.state] };
}
