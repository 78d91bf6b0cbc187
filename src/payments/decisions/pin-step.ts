import {
  NO_PIN,
  PIN_STATE_MOVES,
  type PinEntry,
  PinState,
  type PinStateId,
  type PinStep,
  pinStateName,
} from '../model/pin.ts';

/** Number of wrong PINs after which no further PIN is accepted. Issuers allow the same number. */
export const MAX_PIN_TRIES = 3;

/** DE39, "allowable number of PIN tries exceeded", in the two codes that networks use for it. */
export const PIN_TRIES_EXCEEDED: readonly string[] = ['38', '75'];

/** How to await a PIN: the job that ends the wait, and the seconds that the phone has from the commit on. */
export interface PinWait {
  readonly job: string;
  readonly seconds: number;
}

/**
 * The PIN part of what the switch or the HSM decided about an attempt. `wanted`: the first or another PIN is
 * required.
 */
export type PinVerdict = 'wanted' | 'triesExceeded' | 'final';

/**
 * The step after a verdict on an attempt.
 *
 * @param wait null if no PIN can be taken: then the verdict is final
 */
export function judgePin(before: PinStep, verdict: PinVerdict, wait: PinWait | null): PinStep {
  if (before.pinState === PinState.none) {
    return verdict === 'wanted' && wait ? moved(before, PinState.awaiting, before.pinTries, wait) : NO_PIN;
  }
  if (verdict === 'final') return moved(before, PinState.done);
  if (verdict === 'triesExceeded') return moved(before, PinState.exhausted);
  const tries = before.pinTries + 1;
  if (tries < MAX_PIN_TRIES && wait) return moved(before, PinState.awaiting, tries, wait);
  return moved(before, PinState.exhausted, tries);
}

/** The step after a PIN was submitted. */
export function submitPinStep(before: PinStep): PinStep {
  return moved(before, PinState.submitted);
}

/** The step after the time for a PIN is over. */
export function expirePinStep(before: PinStep): PinStep {
  return moved(before, PinState.expired);
}

/** @throws Error for a transition that is not in the table, which is an error of the program and never of the input */
function moved(before: PinStep, to: PinStateId, tries: number = before.pinTries, wait?: PinWait): PinStep {
  if (!PIN_STATE_MOVES.get(before.pinState)?.includes(to))
    throw new Error(`No move of a PIN from ${pinStateName(before.pinState)} to ${pinStateName(to)}`);
  return { pinState: to, pinTries: tries, pinJob: wait?.job ?? null };
}

/** The audit entries of a step; empty if the step did not change. */
export function pinEntries(before: PinStep, after: PinStep, nowMs: number): PinEntry[] {
  if (before.pinState === after.pinState) return [];
  return [{ pin: pinStateName(after.pinState), at: new Date(nowMs).toISOString() }];
}
