import { authorizationChecks } from './conformance/authorization-checks.ts';
import { type Check, CheckFailure } from './conformance/check.ts';
import { completionChecks } from './conformance/completion-checks.ts';
import { hostileChecks } from './conformance/hostile-checks.ts';
import { keyChangeChecks } from './conformance/key-change-checks.ts';
import { maskChecks } from './conformance/mask-checks.ts';
import { reversalChecks } from './conformance/reversal-checks.ts';
import { sampleChecks } from './conformance/sample-checks.ts';
import { sessionChecks } from './conformance/session-checks.ts';
import type { Processor, SwitchConfig } from './processor.ts';

const GROUPS: readonly (readonly [group: string, checks: readonly Check[]])[] = [
  ['samples', sampleChecks],
  ['authorization', authorizationChecks],
  ['reversal', reversalChecks],
  ['completion', completionChecks],
  ['session', sessionChecks],
  ['key change', keyChangeChecks],
  ['hostile', hostileChecks],
  ['masking', maskChecks],
];

export interface ConformanceResult {
  readonly group: string;
  /** A sentence about behaviour. */
  readonly check: string;
  readonly passed: boolean;
  /** Why it did not; never card data. */
  readonly why?: string | undefined;
}

/**
 * Proves a processor: its samples, every field, every answer, reversals, sessions and what strangers may send, all at
 * the level of messages and bytes, without a socket. The same suite for our types and for anybody's.
 *
 * @param config a dialect to prove; `exampleConfig` when absent
 */
export function processorConformance(
  processor: Processor,
  config: SwitchConfig = processor.exampleConfig,
): ConformanceResult[] {
  const subject = {
    processor,
    config,
    get codec() {
      return processor.codec(config); // within the check that asks, so that one which cannot be made fails it
    },
  };
  return GROUPS.flatMap(([group, checks]) =>
    checks.map((check) => {
      try {
        check.run(subject);
        return { group, check: check.name, passed: true };
      } catch (error) {
        return { group, check: check.name, passed: false, why: reasonOf(error) };
      }
    }),
  );
}

/** A failure of ours says why; anything else is named only, since its text may quote what it choked on. */
function reasonOf(error: unknown): string {
  if (error instanceof CheckFailure) return error.message;
  if (!(error instanceof Error)) return `threw what is no error: ${typeof error}`;
  const { name, stack = '' } = error;
  // The text stands in front of the frames, and may have lines of its own.
  return `${name} ${/^ +(at .*:\d+:\d+\)?)$/m.exec(stack)?.[1] ?? ''}`;
}
