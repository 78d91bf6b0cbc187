import { SimulatorError } from '../../errors.ts';

/**
 * How a simulated switch behaves. `good`: it answers each request once, truly. `poor`: requests and answers get lost, late,
 * doubled and spoilt, but what it says is true. `none`: besides, it says anything about anything, at any time.
 */
export const MANNERS = ['good', 'poor', 'none'] as const;

export type Manners = (typeof MANNERS)[number];

/** Shares of requests, 0 to 1. */
export interface Rates {
  /** Authorizations, refunds and completions that are dealt with in some other way than they should be. */
  readonly authorizations: number;
  readonly reversals: number;
  /** Sign-ons and echoes that get no answer. */
  readonly network: number;
  /** After how many requests an earlier one is answered once more. */
  readonly unmatchedResponses: number;
  /** After how many requests a line is closed, goes silent or is signed off. */
  readonly lines: number;
}

/**
 * Of 200 taps a second for ten minutes each kind of misdeed gets some hundred, a line is lost every ten seconds or so, and most
 * transactions still come to an end.
 */
export const RATES: Readonly<Record<Exclude<Manners, 'good'>, Rates>> = {
  poor: { authorizations: 0.04, reversals: 0.1, network: 0.005, unmatchedResponses: 0.005, lines: 0.000_1 },
  none: { authorizations: 0.2, reversals: 0.4, network: 0.02, unmatchedResponses: 0.02, lines: 0.000_5 },
};

/** @throws SimulatorError `MANNERS_UNKNOWN` */
export function parseManners(text: string): Manners {
  const manners = MANNERS.find((known) => known === text);
  if (manners === undefined) throw new SimulatorError('MANNERS_UNKNOWN', `${text}: expected ${MANNERS.join(', ')}`);
  return manners;
}
