/** Something that must not be: which transaction or entry, and what is wrong with it. */
export interface Violation {
  readonly id: string;
  readonly what: string;
}

/** What one check found. */
export interface Finding {
  /** The invariant (design: I1 to I8; J for the jobs that drive states on). */
  readonly check: string;
  readonly description: string;
  /** Rows, entries or trails that it looked at. */
  readonly lookedAt: number;
  /** Those of them that are not settled yet, and visibly so. */
  readonly open: number;
  /** Those of them that a person must settle, and that say so. */
  readonly inReview: number;
  /** Those that do not agree because a switch said what was not true: nobody but the switch can know. */
  readonly misstated: number;
  readonly violationCount: number;
  /** The first of them. */
  readonly violations: readonly Violation[];
}

/** So many are named; of a thousand more nobody reads the names. */
export const MAX_NAMED = 20;
