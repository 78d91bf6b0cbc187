import type { MessageCodec, Processor, SwitchConfig } from '../processor.ts';

/** What a check works with: the processor, a valid configuration, and the codec of that dialect. */
export interface Subject {
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly codec: MessageCodec;
}

/** One statement about a processor; `run` throws if it does not hold. */
export interface Check {
  readonly name: string;
  run(subject: Subject): void;
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
