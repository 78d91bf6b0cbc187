/** A violation of an invariant: the transaction or entry, and what is wrong. */
export interface Violation {
  readonly id: string;
  readonly what: string;
}

/** The result of one check. */
export interface Finding {
  /** The invariant (design: I1 to I8; J for the jobs that advance states). */
  readonly check: string;
  readonly description: string;
  /** Number of checked rows, entries or trails. */
  readonly lookedAt: number;
  /** Number of these that are visibly unresolved. */
  readonly open: number;
  /** Number of these that are flagged for a person to resolve. */
  readonly inReview: number;
  /** Number of these that differ because a switch reported something false, which only the switch can know. */
  readonly misstated: number;
  readonly violationCount: number;
  /** The first violations. */
  readonly violations: readonly Violation[];
}

/** Most violations that are named; a person would not read a longer list. */
export const MAX_NAMED = 20;
