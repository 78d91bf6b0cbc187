import type { PostgresDirectory } from '../store/directory/directory.ts';
import {
  ANSWER_SLACK_SECONDS,
  LONGEST_DEADLINE_SECONDS,
  OUTCOME_GRACE_SECONDS,
} from '../transactions/model/time-limits.ts';
import type { ProcessorTypes } from '../transactions/settings/check-routing.ts';

interface WithDeadline {
  readonly profile?: { readonly deadlineMs?: number };
}

/**
 * The longest time that a tap can wait for a switch: the longest deadline of a processor, plus the time to decide
 * about a silent switch.
 */
export function longestSwitchWaitMs(types: ProcessorTypes, directory: Pick<PostgresDirectory, 'processors'>): number {
  const deadlines = directory.processors().map(({ type, config }) => {
    const own = (config as WithDeadline).profile?.deadlineMs;
    return own ?? types.get(type)?.profile.deadlineMs ?? 0;
  });
  const longestMs = Math.max(LONGEST_DEADLINE_SECONDS * 1_000, ...deadlines);
  return longestMs + (ANSWER_SLACK_SECONDS + OUTCOME_GRACE_SECONDS) * 1_000;
}
