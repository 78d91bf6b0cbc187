import { NoConfiguration, Overloaded, PinUnusable, TapRefused } from '../../basics/errors.ts';
import type { Transaction, TransactionKey } from '../model/transaction.ts';
import type { OpenedTap } from '../ports/switch-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';
import type { Outcomes } from '../reversals/outcomes.ts';
import type { Attempts } from './attempts.ts';
import { type Again, delegateTo, lookElsewhere, reachedElsewhere } from './delegate.ts';
import type { Draft } from './draft.ts';
import { readTap } from './read-tap.ts';
import type { Routes } from './routes.ts';
import type { Submissions } from './submissions.ts';

/** Opens what an `api` process sealed; undefined if no key of this worker fits. */
export type OpenHandover = (
  key: TransactionKey & { readonly attempt: number },
  sealed: Uint8Array,
) => OpenedTap | undefined;

/**
 * The tap was sealed for other workers, for example because it was accepted before this one started. Another worker
 * can take it after this time.
 */
const LEAVE_TO_OTHERS = { againAfterSeconds: 0.25 };

/** The work on transactions that an `api` process has accepted. */
export class Handovers {
  readonly #deps: TransactionDependencies;
  readonly #attempts: Attempts;
  readonly #outcomes: Outcomes;
  readonly #submissions: Submissions;
  readonly #routes: Routes;

  constructor(
    deps: TransactionDependencies,
    routes: Routes,
    attempts: Attempts,
    outcomes: Outcomes,
    submissions: Submissions,
  ) {
    this.#deps = deps;
    this.#attempts = attempts;
    this.#outcomes = outcomes;
    this.#submissions = submissions;
    this.#routes = routes;
  }

  /**
   * The worker's part of a tap that an `api` process accepted: choose a route, submit, authorize.
   *
   * @returns `done` once the transaction has an outcome from any process, or when to try again
   */
  async submit(open: OpenHandover, asked: TransactionKey & { readonly attempt: number }): Promise<'done' | Again> {
    const transaction = await this.#outcomes.findUnsubmitted(asked);
    if (!transaction) return 'done';
    const waiting = await this.#deps.store.findHandover(asked);
    const opened = waiting && open(asked, waiting.handover);
    if (waiting && !opened && waiting.secondsLeft > this.#deps.longestDeadlineSeconds(asked.acquirerId))
      return LEAVE_TO_OTHERS;
    if (opened) return this.#submitOpened(transaction, opened, waiting.secondsLeft);
    await this.#outcomes.giveUp(transaction);
    return 'done';
  }

  async #submitOpened(transaction: Transaction, opened: OpenedTap, secondsLeft: number): Promise<'done' | Again> {
    const { acquirerId } = transaction;
    const merchant = this.#deps.directory.merchant(acquirerId, transaction.merchantId);
    if (!merchant || this.#deps.path.kind !== 'direct') return this.#outcomes.giveUp(transaction);
    const draft: Draft = { merchant, transaction };
    const tap = readTap(opened);
    const candidates = { acquirerId, processorIds: () => this.#routes.processorsFor(draft, tap) };
    const mayLeave = secondsLeft > this.#deps.longestDeadlineSeconds(acquirerId);
    const elsewhere = mayLeave ? reachedElsewhere(this.#deps.path, candidates) : undefined;
    if (elsewhere !== undefined) return delegateTo(acquirerId, elsewhere);
    const ready = await this.#routes.take(this.#deps.path.switches, draft, tap).catch(unlessOverloaded);
    if (ready instanceof PinUnusable) return this.#outcomes.decide(transaction, this.#attempts.pinUnusable());
    if (ready === undefined && mayLeave) {
      const found = await lookElsewhere(this.#deps.path, candidates);
      if (found !== undefined) return delegateTo(acquirerId, found);
    }
    if (!ready || ready instanceof NoConfiguration || ready instanceof TapRefused)
      return this.#outcomes.giveUp(transaction);
    if (secondsLeft < (ready.submission.deadlineSeconds ?? 0)) {
      ready.withdraw(true);
      return this.#outcomes.giveUp(transaction);
    }
    const submitted = await this.#submissions.submit(transaction, ready);
    if (!submitted && (await this.#deps.store.areUsed(transaction, ready.uses ?? [])))
      return this.#outcomes.decide(transaction, this.#attempts.pinUnusable());
    if (submitted) await this.#submissions.authorize(submitted, ready);
    return 'done';
  }
}

/** The tap is stored, so it is too late to refuse it. A full switch is treated like an unavailable one. */
export function unlessOverloaded(error: unknown): undefined {
  if (!(error instanceof Overloaded)) throw error;
}
