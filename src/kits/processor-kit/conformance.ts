import { Iso8583Error, TapwireError } from '../../basics/errors.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import { CheckFailure, type ConformanceResult } from '../plug-ins/check-failure.ts';
import { authorizationChecks, completionChecks } from './conformance/authorization-checks.ts';
import type { Check } from './conformance/check.ts';
import { framingChecks, hostileChecks } from './conformance/hostile-checks.ts';
import { identityChecks, maskChecks, ruleChecks } from './conformance/mask-checks.ts';
import { reversalChecks } from './conformance/reversal-checks.ts';
import { sampleChecks, textOfCodecError } from './conformance/sample-checks.ts';
import { keyChangeChecks, sessionChecks } from './conformance/session-checks.ts';
import type { Processor, SwitchConfig } from './processor.ts';

const GROUPS: readonly (readonly [group: string, checks: readonly Check[]])[] = [
  ['samples', sampleChecks],
  ['framing', framingChecks],
  ['authorization', authorizationChecks],
  ['identity', identityChecks],
  ['reversal', reversalChecks],
  ['completion', completionChecks],
  ['session', sessionChecks],
  ['key change', keyChangeChecks],
  ['rules', ruleChecks],
  ['hostile', hostileChecks],
  ['masking', maskChecks],
];

/** The folder of the gateway's own code, as it appears in stacks. */
const TAPWIRE_SOURCES = new URL('../../', import.meta.url).href;

/**
 * Proves a processor at the level of messages and bytes, without a socket: its samples, every field, every response
 * code, reversals, sessions and hostile input. Built-in and external processor types pass the same suite.
 *
 * @param config the dialect to prove; default `exampleConfig`
 * @param only the one group of checks to run; default all
 * @example
 * for (const { group, check, passed, why } of processorConformance(acme))
 *   test(`${group}: ${check}`, () => assert(passed, why));
 */
export function processorConformance(
  processor: Processor,
  config: SwitchConfig = processor.exampleConfig,
  only?: string,
): ConformanceResult[] {
  const subject = {
    processor,
    config,
    get codec() {
      return processor.codec(config); // within the check, so that a codec that cannot be compiled fails the check
    },
  };
  return GROUPS.filter(([group]) => only === undefined || group === only).flatMap(([group, checks]) =>
    checks.map((check) => {
      try {
        check.run(subject);
        return { group, check: check.name, passed: true };
      } catch (error) {
        const details = error instanceof CheckFailure && error.details.length > 0 ? error.details : undefined;
        return { group, check: check.name, passed: false, why: reasonOf(error, processor.spec), details };
      }
    }),
  );
}

/**
 * A `CheckFailure` gives its own reason, and an error of Tapwire has a message without values. Of any other error only name
 * and position are reported, because its message may quote card data. The position is in the plug-in if it appears there.
 */
function reasonOf(error: unknown, spec: Spec): string {
  if (error instanceof CheckFailure) return error.message;
  if (!(error instanceof Error)) return `threw a value that is not an error: ${typeof error}`;
  const { name, message, stack = '' } = error;
  // The message precedes the stack frames and may have several lines.
  const frames = Array.from(stack.matchAll(/^ +(at .*:\d+:\d+\)?)$/gm), ([, frame]) => frame!);
  const ofPlugIn = frames.find((each) => each.includes('file:') && !each.includes(TAPWIRE_SOURCES));
  if (!(error instanceof TapwireError)) return `${name} ${ofPlugIn ?? frames[0] ?? ''}`;
  const text = error instanceof Iso8583Error ? textOfCodecError(spec, error) : message;
  return ofPlugIn === undefined ? text : `${text} ${ofPlugIn}`;
}
