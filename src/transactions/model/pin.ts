import type { DispositionId } from './disposition.ts';

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

/** The step of one transaction. */
export interface PinStep {
  readonly pinState: PinStateId;
  /** PINs that were wrong so far. */
  readonly pinTries: number;
  /** The `expire-pin` job while a PIN is awaited. */
  readonly pinJob: string | null;
}

export const NO_PIN: PinStep = { pinState: PinState.none, pinTries: 0, pinJob: null };

/** One line of the audit trail. */
export interface PinEntry {
  readonly pin: PinStateName;
  readonly at: string;
}

export function isAwaitingPin({ pinState }: Pick<PinStep, 'pinState'>): boolean {
  return pinState === PinState.awaiting;
}

/** Whether there is something to tell the phone: an outcome, or that a PIN is wanted. */
export function hasAnswer(transaction: Pick<PinStep, 'pinState'> & { disposition: DispositionId | null }): boolean {
  return transaction.disposition !== null || isAwaitingPin(transaction);
}
