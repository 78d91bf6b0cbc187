import type { HistogramCounts } from './histogram.ts';

/** The figures of one scenario in a period. */
export interface ScenarioSlice {
  /** Responses by outcome. */
  outcomes: Record<string, number>;
  /** Responses that the scenario does not expect, errors included. */
  unexpected: number;
  errors: number;
  /** From the time at which a call was due to its response. */
  latencies: HistogramCounts;
}

/** What one worker, or all of them, recorded in a period. All requests of a call count as one call. */
export interface Slice {
  /** Calls that became due. */
  due: number;
  /** Calls that were sent. */
  sent: number;
  answered: number;
  /** Sent and never answered. */
  lost: number;
  /** Never sent: there was no connection. */
  unsent: number;
  /** In progress when the user stopped the test. */
  abandoned: number;
  /** HTTP requests: a tap with a PIN has two. */
  requests: number;
  scenarios: Record<string, ScenarioSlice>;
  /** Why calls were lost or not sent. */
  reasons: Record<string, number>;
  /**
   * How late the generator sent calls for which a connection was available: a delay of the generator, not of the
   * gateway.
   */
  lags: HistogramCounts;

  /** At the end of the period. */
  inFlight: number;
  /** Calls that wait for a connection. */
  waiting: number;
  connections: number;
  /** The share of the time in which the worker was busy; the largest of all workers. */
  busy: number;
}

export function emptySlice(): Slice {
  const counts = { due: 0, sent: 0, answered: 0, lost: 0, unsent: 0, abandoned: 0, requests: 0 };
  const levels = { inFlight: 0, waiting: 0, connections: 0, busy: 0 };
  return { ...counts, ...levels, scenarios: {}, reasons: {}, lags: { buckets: [], maxMs: 0 } };
}
