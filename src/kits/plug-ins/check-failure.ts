/** The result of one check of a conformance suite. */
export interface ConformanceResult {
  readonly group: string;
  /** A sentence that states the behaviour. */
  readonly check: string;
  readonly passed: boolean;
  /** Why the check failed. Contains no card data. */
  readonly why?: string | undefined;
  /** Bytes and messages of the samples for their author, line by line; with the test cards of the samples. */
  readonly details?: readonly string[] | undefined;
}

/** Why a check failed, in words that contain no card data. */
export class CheckFailure extends Error {
  /** Bytes and messages of the samples for their author, line by line. They contain the card data of the samples. */
  readonly details: readonly string[];

  constructor(why: string, details: readonly string[] = []) {
    super(why);
    this.details = details;
  }
}

/** @throws CheckFailure */
export function expectThat(condition: boolean, why: string): asserts condition {
  if (!condition) throw new CheckFailure(why);
}

export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  expectThat(actual === expected, `${what}: ${String(actual)} instead of ${String(expected)}`);
}
