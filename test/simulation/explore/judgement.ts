import type { Watcher } from './calm.ts';
import type { Execution } from './execution.ts';
import { type ExcuseSets, KnownStates } from './known-states.ts';
import type { Manner } from './manners.ts';
import { outcomeOf } from './outcome.ts';
import { faultsInTheEnd } from './replay.ts';
import { type NamedState, nameCalmState } from './state-text.ts';

export interface Verdict {
  readonly manner: Manner;
  readonly faults: readonly string[];
}

/** States from which the end is clean in a manner. */
type Clean = ReadonlyMap<Manner, KnownStates>;

/**
 * Judges how states end, in each manner of the switch. The way to the end is determined by the state and the manner, and many
 * ways meet: one that comes to a state from which the end was clean before is clean. One way counts for all manners that do
 * not differ on it.
 */
export class Judgement {
  readonly #clean: Clean;

  /** Every outcome that was seen. */
  readonly outcomes = new Set<string>();
  readonly #isReduced: boolean;

  /** @param isReduced false: every execution is followed to its end */
  constructor(manners: readonly Manner[], sets: ExcuseSets, isReduced: boolean) {
    this.#isReduced = isReduced;
    this.#clean = new Map(manners.map((manner) => [manner, new KnownStates(sets)]));
  }

  /** The first manner in which the end of an execution violates a rule. */
  async judge(execution: Execution): Promise<Verdict | undefined> {
    const isOrderly = this.#isReduced && execution.faults.length === 0;
    const state = nameCalmState(execution);
    for (const [manner, clean] of this.#clean) {
      if (isOrderly && clean.has(state)) continue;
      const way = new Way(manner, this.#clean, this.outcomes);
      const faults = await faultsInTheEnd(
        await execution.fork(),
        manner,
        this.#isReduced ? way : { ...NO_SHORT_WAY, rests: way.rests },
      );
      if (faults.length > 0) return { manner, faults };
      if (!this.#isReduced) continue;
      for (const each of way.manners) for (const passed of way.passed) this.#clean.get(each)?.add(passed);
    }
    return undefined;
  }
}

const NO_SHORT_WAY: Pick<Watcher, 'isClean' | 'differs'> = { isClean: () => false, differs: () => {} };

/** The way of one execution to its end. */
class Way implements Watcher {
  readonly passed: NamedState[] = [];
  /** Those that have not differed so far. */
  manners: readonly Manner[];
  readonly #manner: Manner;
  readonly #clean: Clean;

  readonly rests: Watcher['rests'];

  constructor(manner: Manner, clean: Clean, outcomes: Set<string>) {
    this.rests = (execution) => void outcomes.add(outcomeOf(execution));
    this.#manner = manner;
    this.#clean = clean;
    this.manners = [...clean.keys()];
  }

  isClean(execution: Execution): boolean {
    if (execution.faults.length > 0) return false;
    const state = nameCalmState(execution);
    const isClean = this.#clean.get(this.#manner)!.has(state);
    if (isClean) this.manners = this.manners.filter((manner) => this.#clean.get(manner)!.has(state));
    else this.passed.push(state);
    return isClean;
  }

  differs(isBooked: boolean): void {
    const isSame = (manner: Manner) => isBooked && manner !== 'silent' && this.#manner !== 'silent';
    this.manners = this.manners.filter((manner) => manner === this.#manner || isSame(manner));
  }
}
