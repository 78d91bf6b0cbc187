import { SimulatorError } from '../../../basics/errors.ts';

/**
 * The behaviour of a simulated switch. `good`: it responds to each request once, correctly. `poor`: requests and
 * responses are lost, late, duplicated and corrupted, but their content is correct. `none`: it also sends arbitrary
 * responses to any request, at any time.
 */
const MANNERS = ['good', 'poor', 'none'] as const;

export type Manners = (typeof MANNERS)[number];

/** Shares of requests, 0 to 1. */
export interface Rates {
  /** Authorizations, refunds and completions that are handled incorrectly. */
  readonly authorizations: number;
  readonly reversals: number;
  /** Sign-ons and echoes without a response. */
  readonly network: number;
  /** Number of requests between two repeated responses to earlier requests. */
  readonly unmatchedResponses: number;
  /** Number of requests between two connections that are closed, go silent or are signed off. */
  readonly lines: number;
}

/**
 * With 200 taps per second for ten minutes, each kind of misdeed occurs some hundred times, a connection is lost
 * about every ten seconds, and most transactions still complete.
 */
export const RATES: Readonly<Record<Exclude<Manners, 'good'>, Rates>> = {
  poor: { authorizations: 0.04, reversals: 0.1, network: 0.005, unmatchedResponses: 0.005, lines: 0.000_1 },
  none: { authorizations: 0.2, reversals: 0.4, network: 0.02, unmatchedResponses: 0.02, lines: 0.000_5 },
};

/** @throws SimulatorError `MANNERS_UNKNOWN` */
export function parseManners(text: string): Manners {
  const manners = MANNERS.find((known) => known === text);
  if (manners === undefined)
    throw new SimulatorError('MANNERS_UNKNOWN', `--manners ${text}: expected good, poor or none`);
  return manners;
}
