import type { DispositionId } from './disposition.ts';

/**
 * The PIN step covers the PIN that an issuer requires after a tap (interface 3.4, 4.5).
 *
 * Most transactions have **none**. When the switch response asks for a PIN and the terminal can take one, the step
 * becomes **awaiting**. The outcome stays open, and the phone receives Declined with a pinToken. An `expire-pin` job,
 * committed with that response, ends the wait if nothing else does. A PIN that arrives in time makes the step
 * **submitted**, as the next attempt of the same transaction. A PIN that the reader took with the first tap also
 * makes it **submitted**. The switch response to the PIN makes the step **done** (any outcome), **awaiting** again
 * (a wrong PIN with tries left) or **exhausted**. It is exhausted after the third wrong PIN, or when the issuer accepts
 * no further one (codes 38, 75). If no PIN arrives, the step is **expired** and the issuer's decline is final.
 *
 * A submission changes the state only before `pin_expires_at` by the clock of the database, the expiry only after it,
 * and each only from the state awaiting. No PIN is accepted while an earlier attempt may have taken the amount, because the
 * switch approved it late. Of two simultaneous PINs one is accepted, and a PIN and the expiry cannot both
 * take effect. A transaction that awaits a PIN always has its `expire-pin` job, also in statuses 8 and 9, which may
 * otherwise rest.
 */
export const PinState = { none: 0, awaiting: 1, submitted: 2, done: 3, exhausted: 4, expired: 5 } as const;

export type PinStateId = (typeof PinState)[keyof typeof PinState];

export type PinStateName = keyof typeof PinState;

const NAMES = Object.keys(PinState) as PinStateName[];

export function pinStateName(id: PinStateId): PinStateName {
  return NAMES[id]!;
}

/** Every allowed transition. */
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

/** The PIN step of one transaction. */
export interface PinStep {
  readonly pinState: PinStateId;
  /** Number of wrong PINs so far. */
  readonly pinTries: number;
  /** The `expire-pin` job while the transaction awaits a PIN. */
  readonly pinJob: string | null;
}

export const NO_PIN: PinStep = { pinState: PinState.none, pinTries: 0, pinJob: null };

/** One entry of the audit trail. */
export interface PinEntry {
  readonly pin: PinStateName;
  readonly at: string;
}

export function isAwaitingPin({ pinState }: Pick<PinStep, 'pinState'>): boolean {
  return pinState === PinState.awaiting;
}

/** Whether there is a result for the phone: an outcome, or a request for a PIN. */
export function hasResponse(transaction: Pick<PinStep, 'pinState'> & { disposition: DispositionId | null }): boolean {
  return transaction.disposition !== null || isAwaitingPin(transaction);
}
