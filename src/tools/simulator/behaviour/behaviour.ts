import { SimulatorError } from '../../../basics/errors.ts';

/**
 * The behaviour of a simulated switch. `correct`: it responds to each request once, correctly. `faulty`: requests and
 * responses are lost, late, duplicated and corrupted, but their content is correct. `arbitrary`: it also sends
 * arbitrary responses to any request, at any time.
 */
const BEHAVIOURS = ['correct', 'faulty', 'arbitrary'] as const;

export type Behaviour = (typeof BEHAVIOURS)[number];

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
 * With 200 taps per second for ten minutes, each kind of violation occurs some hundred times, a connection is lost
 * about every ten seconds, and most transactions still complete.
 */
export const RATES: Readonly<Record<Exclude<Behaviour, 'correct'>, Rates>> = {
  faulty: { authorizations: 0.04, reversals: 0.1, network: 0.005, unmatchedResponses: 0.005, lines: 0.000_1 },
  arbitrary: { authorizations: 0.2, reversals: 0.4, network: 0.02, unmatchedResponses: 0.02, lines: 0.000_5 },
};

/** @throws SimulatorError `BEHAVIOUR_UNKNOWN` */
export function parseBehaviour(text: string): Behaviour {
  const behaviour = BEHAVIOURS.find((known) => known === text);
  if (behaviour === undefined)
    throw new SimulatorError('BEHAVIOUR_UNKNOWN', `--behaviour ${text}: expected correct, faulty or arbitrary`);
  return behaviour;
}
