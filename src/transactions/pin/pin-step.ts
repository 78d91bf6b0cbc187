import type { DispositionId } from '../disposition.ts';

/**
 * The PIN that an issuer wants after a tap (interface 3.4, 4.5).
 *
 * Most transactions have **none**. When the switch's answer asks for a PIN and the terminal can take one, the PIN is
 * **awaiting**: the outcome stays open, the phone is told Declined with a pinToken, and an `expire-pin` job, committed
 * with that answer, will end the wait if nobody else does. A PIN that comes in time makes it **submitted**, as the next
 * attempt of the same transaction; so is a PIN that the reader took with the first tap. What the switch says of it makes
 * it **done** (any outcome), **awaiting** again (a wrong PIN with tries left) or **exhausted** (the third wrong one, or
 * the issuer takes no more: 38, 75). When no PIN comes the step is **expired**, and the issuer's decline stands.
 *
 * Submission and expiry are compare-and-sets of this state, on either side of `pin_expires_at` by the database's clock:
 * of two PINs at once one is taken, and a PIN and the expiry cannot both win. Whatever transaction awaits a PIN may rest
 * in no status without its `expire-pin` job, in 8 and 9 neither.
 */
export const PinState = { none: 0, awaiting: 1, submitted: 2, done: 3, exhausted: 4, expired: 5 } as const;

export type PinStateId = (typeof PinState)[keyof typeof PinState];
export type PinStateName = keyof typeof PinState;

const NAMES = Object.keys(PinState) as PinStateName[];

export function pinStateName(id: PinStateId): PinStateName {
  return NAMES[id]!;
}

/** Every allowed move. */
export const PIN_STATE_MOVES: ReadonlyMap<PinStateId, readonly PinStateId[]> = new Map<
  PinStateId,
  readonly PinStateId[]
>([
  [PinState.none, [PinState.awaiting, PinState.submitted]],
  [PinState.awaiting, [PinState.submitted, PinState.expired]],
  [PinState.submitted, [PinState.done, PinState.awaiting, PinState.exhausted]],
  [PinState.done, []],
  [PinState.exhausted, []],
  [PinState.expired, []],
]);

/** Wrong PINs after which no other is taken: what issuers allow, too. */
export const MOST_PIN_TRIES = 3;

/** DE39, "allowable number of PIN tries exceeded", in both numbers that networks have for it. */
export const PIN_TRIES_EXCEEDED: readonly string[] = ['38', '75'];

/** The step of one transaction. */
export interface PinStep {
  readonly pinState: PinStateId;
  /** PINs that were wrong so far. */
  readonly pinTries: number;
  /** The `expire-pin` job while a PIN is awaited. */
  readonly pinJob: string | null;
}

export const NO_PIN: PinStep = { pinState: PinState.none, pinTries: 0, pinJob: null };

/** How a PIN would be awaited: the job that ends the wait, and the seconds that the phone has from the commit on. */
export interface PinWait {
  readonly job: string;
  readonly seconds: number;
}

/** One line of the audit trail. */
export interface PinEntry {
  readonly pin: PinStateName;
  readonly at: string;
}

/** What the switch, or the HSM, made of an attempt, as far as the PIN goes. `wanted`: a PIN, or another one. */
export type PinVerdict = 'wanted' | 'triesExceeded' | 'final';

/**
 * The step after a verdict on an attempt.
 *
 * @param wait null where no PIN can be taken: the verdict is the last word then
 */
export function judgePin(before: PinStep, verdict: PinVerdict, wait: PinWait | null): PinStep {
  if (before.pinState === PinState.none) {
    return verdict === 'wanted' && wait ? moved(before, PinState.awaiting, before.pinTries, wait) : NO_PIN;
  }
  if (verdict === 'final') return moved(before, PinState.done);
  if (verdict === 'triesExceeded') return moved(before, PinState.exhausted);
  const tries = before.pinTries + 1;
  if (tries < MOST_PIN_TRIES && wait) return moved(before, PinState.awaiting, tries, wait);
  return moved(before, PinState.exhausted, tries);
}

/** The step once a PIN was submitted. */
export function submitPinStep(before: PinStep): PinStep {
  return moved(before, PinState.submitted);
}

/** The step when the time for a PIN is over. */
export function expirePinStep(before: PinStep): PinStep {
  return moved(before, PinState.expired);
}

/** @throws Error for a move that is not in the table: a programmer's error, never an input's */
function moved(before: PinStep, to: PinStateId, tries: number = before.pinTries, wait?: PinWait): PinStep {
  if (!PIN_STATE_MOVES.get(before.pinState)?.includes(to))
    throw new Error(`No move of a PIN from ${pinStateName(before.pinState)} to ${pinStateName(to)}`);
  return { pinState: to, pinTries: tries, pinJob: wait?.job ?? null };
}

/** What the audit trail tells of a step: nothing when it did not move. */
export function pinEntries(before: PinStep, after: PinStep, nowMs: number): PinEntry[] {
  if (before.pinState === after.pinState) return [];
  return [{ pin: pinStateName(after.pinState), at: new Date(nowMs).toISOString() }];
}

export function isAwaitingPin({ pinState }: Pick<PinStep, 'pinState'>): boolean {
  return pinState === PinState.awaiting;
}

/** Whether there is something to tell the phone: an outcome, or that a PIN is wanted. */
export function hasAnswer(transaction: Pick<PinStep, 'pinState'> & { disposition: DispositionId | null }): boolean {
  return transaction.disposition !== null || isAwaitingPin(transaction);
}
