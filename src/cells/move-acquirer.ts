import { setTimeout as sleep } from 'node:timers/promises';
import { CellError } from './cell-error.ts';
import type { CellSession } from './cell-session.ts';
import { checkMove } from './check-move.ts';
import { countUnfinished, giveUp, hasArrived, takeOver } from './hand-over.ts';
import {
  asOnlyMover,
  excludeWrites,
  haveLinesClosed,
  isSignedOn,
  noteStep,
  type Ownership,
  readOwnership,
  writeOwnership,
} from './ownership.ts';
import { copyState, isIntact, type Replication, startReplication, stopReplication } from './replication.ts';
import { clearRows } from './tenant-tables.ts';
import { installFence, removeFence } from './write-fence.ts';

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
const MOST_HOLDS = 40;
/** Replication that needs longer after the last write has a fault that an operator must remove. */
const ARRIVE_WITHIN_MS = 60_000;
/** A switch that cannot be reached from the target must not keep its acquirer without a cell. */
const SIGN_ON_WITHIN_MS = 5_000;

/** After each step; the order is the order of a move. */
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

/** Limits of a move, shorter in tests. */
export interface MoveTimes {
  readonly betweenHoldsMs?: number;
  readonly mostHolds?: number;
  readonly knownAfterMs?: number;
}

/**
 * Moves an acquirer to another cell. The state is in the databases (`acquirer_cells`), so a move that was interrupted at
 * any step continues when it is called again.
 *
 * 1. Rows are copied while the source serves the acquirer.
 * 2. The source holds it: its database refuses new work, and work in progress ends. The hold has an end in the
 *    database, so a command that dies leaves no acquirer without service.
 * 3. The processes of the source close their connections to its switches.
 * 4. The source gives it up, in one commit that no write of the source can follow. Until here the move can be undone.
 * 5. The target takes it over when this commit has arrived, and connects to its switches.
 * 6. The proxy sends its requests to the target.
 *
 * @throws CellError CANNOT_MOVE, NOT_DRAINED, MOVE_STUCK
 */
export async function moveAcquirer(options: MoveOptions, times: MoveTimes = {}): Promise<void> {
  await asOnlyMover(options, () => new Move(options, times).run());
}

class Move {
  readonly #options: MoveOptions;
  readonly #times: Required<MoveTimes>;
  #generation = 0;

  constructor(options: MoveOptions, times: MoveTimes) {
    this.#options = options;
    this.#times = { betweenHoldsMs: BETWEEN_HOLDS_MS, mostHolds: MOST_HOLDS, knownAfterMs: KNOWN_AFTER_MS, ...times };
  }

  async run(): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    const from = await readOwnership(source, acquirerId);
    const to = await readOwnership(target, acquirerId);
    if (to?.state === 'serving' && from?.state === 'gone' && from.generation === to.generation) {
      this.#generation = to.generation; // only the end of an earlier call is missing, or nothing
      return this.#finish();
    }
    if (from?.state === 'gone') {
      this.#mustBeTo(from);
      this.#generation = from.generation;
    } else {
      await this.#prepare(from, to);
      await this.#cutOver();
    }
    await this.#arrive();
    await this.#finish();
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
    const isUnderWay = from !== undefined && ['leaving', 'held', 'closing'].includes(from.state);
    if (isUnderWay) this.#mustBeTo(from);
    await checkMove(source, target, acquirerId);
    await this.#step('checked');
    const isAnnounced = isUnderWay && to?.state === 'arriving' && to.generation === from.generation;
    this.#generation = isAnnounced ? from.generation : Math.max(from?.generation ?? 0, to?.generation ?? 0) + 1;
    if (!isAnnounced) {
      // The target first: from the first row on, it must know that it does not serve the acquirer.
      await this.#write(target, 'arriving');
      await this.#write(source, 'leaving');
    }
    await this.#step('announced');
    await installFence(target, acquirerId);
    await installFence(source, acquirerId);
    await this.#step('fenced');
    await this.#copy();
    await this.#step('copied');
  }

  async #copy(): Promise<void> {
    const { target, acquirerId } = this.#options;
    const replication = this.#replication;
    if (!(await isIntact(replication))) {
      await stopReplication(replication);
      await clearRows(target, acquirerId);
      await startReplication(replication);
    }
    await this.#step('replicating');
    let told = '';
    for (;;) {
      const { tables, copied, errors } = await copyState(replication);
      if (tables > 0 && tables === copied) break;
      if (!(await isIntact(replication))) throw this.#stuck('The replication slot was lost. Run the move again.');
      const progress = `${copied} of ${tables} tables are copied`;
      const detail = errors > 0 ? `${progress}, ${errors} errors: see the log of the target's Postgres` : progress;
      if (detail !== told) await this.#step('replicating', detail);
      told = detail;
      await sleep(COPY_LOOK_MS);
    }
    await sleep(this.#times.knownAfterMs);
  }

  async #cutOver(): Promise<void> {
    for (let holds = 1; holds <= this.#times.mostHolds; holds++) {
      if (await this.#hold()) return this.#step('gaveUp');
      await sleep(this.#times.betweenHoldsMs);
    }
    const { source, acquirerId } = this.#options;
    throw new CellError(
      'NOT_DRAINED',
      `Work of acquirer ${acquirerId} did not end within ${HOLD_MS} ms in any of ${this.#times.mostHolds} tries, so ${source.cell.name} still serves it. Run the move again later, or undo it.`,
    );
  }

  /** @returns false if work in progress did not end in time: the source serves the acquirer again */
  async #hold(): Promise<boolean> {
    const { source, target, acquirerId } = this.#options;
    await target.query('select 1'); // reachable, before anything is refused
    const startedAtMs = performance.now();
    const endsAtMs = startedAtMs + HOLD_MS - LEAST_FOR_COMMIT_MS;
    try {
      await this.#write(source, 'held', HOLD_MS);
      await this.#step('held');
      // A commit that began before the hold may still add work: wait for it once.
      await source.transaction(async () => {
        await source.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
        await excludeWrites(source, acquirerId);
      });
      if (!(await until(endsAtMs, async () => (await countUnfinished(source, acquirerId)) === 0)))
        return await this.#lift('work in progress');
      await this.#step('drained');
      await this.#write(source, 'closing', startedAtMs + HOLD_MS - performance.now());
      if (!(await until(endsAtMs, () => haveLinesClosed(source, acquirerId))))
        return await this.#lift('open connections to switches');
      await this.#step('closed');
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
    await this.#write(source, 'leaving');
    await noteStep(source, acquirerId, this.#generation, 'lifted', reason);
    await this.#options.onStep?.('copied', `hold lifted because of ${reason}, trying again`);
    return false;
  }

  /** From here on the move can only be completed. */
  async #arrive(): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    const to = await readOwnership(target, acquirerId);
    if (to?.state === 'serving' && to.generation === this.#generation) return;
    const giveUpAtMs = performance.now() + ARRIVE_WITHIN_MS;
    while (!((await this.#isCopied()) && (await hasArrived(target, acquirerId, this.#generation)))) {
      // Nothing writes to the source, so everything can be copied once more.
      if (!(await isIntact(this.#replication))) await this.#copy();
      else if (performance.now() > giveUpAtMs) {
        throw this.#stuck(
          'The last changes do not arrive at the target. See the log of its Postgres, then run the move again.',
        );
      }
      await sleep(LOOK_EVERY_MS);
    }
    await this.#step('arrived');
    await takeOver(target, acquirerId, this.#ownership(source, 'arriving'));
    await this.#step('tookOver');
  }

  /** During a second copy, the table with the end mark may be copied before others. */
  async #isCopied(): Promise<boolean> {
    const { tables, copied } = await copyState(this.#replication);
    return tables > 0 && tables === copied;
  }

  async #finish(): Promise<void> {
    const { source, target, acquirerId, flip } = this.#options;
    const text = 'select from processors where acquirer_id = $1 and removed_at is null';
    const hasSwitches = (await target.query(text, [acquirerId])).length > 0;
    const flipAtMs = performance.now() + SIGN_ON_WITHIN_MS;
    const isReady = !hasSwitches || (await until(flipAtMs, () => isSignedOn(target, acquirerId)));
    await this.#step('signedOn', isReady ? '' : 'no process of the target is signed on to a switch of the acquirer');
    await flip();
    await this.#step('flipped');
    await stopReplication(this.#replication);
    await removeFence(target, acquirerId);
    await noteStep(source, acquirerId, this.#generation, 'finished');
    await this.#step('finished');
  }

  #ownership({ cell }: CellSession, state: Ownership['state']): Ownership {
    return { generation: this.#generation, state, peer: cell.name };
  }

  #write(session: CellSession, state: Ownership['state'], heldMs?: number): Promise<void> {
    const { source, target, acquirerId } = this.#options;
    const peer = session === source ? target : source;
    return writeOwnership(session, acquirerId, this.#ownership(peer, state), heldMs);
  }

  #stuck(reason: string): CellError {
    return new CellError('MOVE_STUCK', reason);
  }

  async #step(step: MoveStep, detail = ''): Promise<void> {
    await this.#options.onStep?.(step, detail);
  }
}

/** @returns whether it became true in time */
async function until(endsAtMs: number, isTrue: () => Promise<boolean>): Promise<boolean> {
  for (;;) {
    if (await isTrue()) return true;
    if (performance.now() >= endsAtMs) return false;
    await sleep(LOOK_EVERY_MS);
  }
}
