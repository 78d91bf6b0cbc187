import type { HistogramCounts } from './histogram.ts';

/** What one scenario came to in a stretch of time. */
export interface ScenarioSlice {
  /** Answers by outcome. */
  outcomes: Record<string, number>;
  /** Answers that the scenario must not have got, errors included. */
  unexpected: number;
  errors: number;
  /** From the moment a call was due to its answer. */
  latencies: HistogramCounts;
}

/** What one worker, or all of them, saw in a stretch of time. Of a call, all of its requests count as one. */
export interface Slice {
  /** Calls whose time came. */
  due: number;
  /** Calls that left. */
  sent: number;
  answered: number;
  /** Sent and never answered. */
  lost: number;
  /** Never sent: there was no connection. */
  unsent: number;
  /** Under way when the test was stopped by hand. */
  abandoned: number;
  /** HTTP requests: a PIN is two. */
  requests: number;
  scenarios: Record<string, ScenarioSlice>;
  /** Why calls were lost or not sent. */
  reasons: Record<string, number>;
  /** How much later than due the generator came to send what had a connection: its own fault, not the gateway's. */
  lags: HistogramCounts;

  /** At the end of the stretch. */
  inFlight: number;
  /** Calls that wait for a connection. */
  waiting: number;
  connections: number;
  /** The share of the time in which the worker had something to do; the largest of all workers. */
  busy: number;
}

export function emptySlice(): Slice {
  const counts = { due: 0, sent: 0, answered: 0, lost: 0, unsent: 0, abandoned: 0, requests: 0 };
  const levels = { inFlight: 0, waiting: 0, connections: 0, busy: 0 };
  return { ...counts, ...levels, scenarios: {}, reasons: {}, lags: { buckets: [], maxMs: 0 } };
}
