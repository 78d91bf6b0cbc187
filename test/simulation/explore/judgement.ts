import type { Watcher } from './calm.ts';
import type { Execution } from './execution.ts';
import { type ExcuseSets, KnownStates } from './known-states.ts';
import { outcomeOf } from './outcome.ts';
import type { Policy } from './policies.ts';
import { faultsInTheEnd } from './replay.ts';
import { type NamedState, nameCalmState } from './state-text.ts';

export interface Verdict {
  readonly policy: Policy;
  readonly faults: readonly string[];
}

/** States from which the end is clean in a policy. */
type Clean = ReadonlyMap<Policy, KnownStates>;

/**
 * Judges how states end, in each policy of the switch. The way to the end is determined by the state and the policy,
 * and many ways meet: one that comes to a state from which the end was clean before is clean. One way counts for all
 * policies that do not differ on it.
 */
export class Judgement {
  readonly #clean: Clean;

  /** Every outcome that was seen. */
  readonly outcomes = new Set<string>();
  readonly #isReduced: boolean;

  /** @param isReduced false: every execution is followed to its end */
  constructor(policies: readonly Policy[], sets: ExcuseSets, isReduced: boolean) {
    this.#isReduced = isReduced;
    this.#clean = new Map(policies.map((policy) => [policy, new KnownStates(sets)]));
  }

  /** The first policy in which the end of an execution violates a rule. */
  async judge(execution: Execution): Promise<Verdict | undefined> {
    const isOrderly = this.#isReduced && execution.faults.length === 0;
    const state = nameCalmState(execution);
    for (const [policy, clean] of this.#clean) {
      if (isOrderly && clean.has(state)) continue;
      const way = new Way(policy, this.#clean, this.outcomes);
      const faults = await faultsInTheEnd(
        await execution.fork(),
        policy,
        this.#isReduced ? way : { ...NO_SHORT_WAY, rests: way.rests },
      );
      if (faults.length > 0) return { policy, faults };
      if (!this.#isReduced) continue;
      for (const each of way.policies) for (const passed of way.passed) this.#clean.get(each)?.add(passed);
    }
    return undefined;
  }
}

const NO_SHORT_WAY: Pick<Watcher, 'isClean' | 'differs'> = { isClean: () => false, differs: () => {} };

/** The way of one execution to its end. */
class Way implements Watcher {
  readonly passed: NamedState[] = [];
  /** Those that have not differed so far. */
  policies: readonly Policy[];
  readonly #policy: Policy;
  readonly #clean: Clean;

  readonly rests: Watcher['rests'];

  constructor(policy: Policy, clean: Clean, outcomes: Set<string>) {
    this.rests = (execution) => void outcomes.add(outcomeOf(execution));
    this.#policy = policy;
    this.#clean = clean;
    this.policies = [...clean.keys()];
  }

  isClean(execution: Execution): boolean {
    if (execution.faults.length > 0) return false;
    const state = nameCalmState(execution);
    const isClean = this.#clean.get(this.#policy)!.has(state);
    if (isClean) this.policies = this.policies.filter((policy) => this.#clean.get(policy)!.has(state));
    else this.passed.push(state);
    return isClean;
  }

  differs(isBooked: boolean): void {
    const isSame = (policy: Policy) => isBooked && policy !== 'silent' && this.#policy !== 'silent';
    this.policies = this.policies.filter((policy) => policy === this.#policy || isSame(policy));
  }
}
