/** Messages between a load test and its worker processes. */
import type { LoadMix } from '#schemas/load-mix';
import type { ArrivalPlan } from './arrival-plan.ts';
import type { LoadProfile } from './load-profile.ts';
import type { Slice } from './tally.ts';

/** The part of a test that one worker runs. */
export interface WorkerPlan {
  readonly url: string;
  readonly profile: Pick<LoadProfile, 'issuer' | 'merchants' | 'shortDeadlineTerminal' | 'apiKey'>;
  readonly arrivals: ArrivalPlan;
  readonly seconds: number;
  readonly mix: LoadMix;
  readonly seed: number;
  /** Its number among all workers, from 0: it takes every nth call of the test. */
  readonly worker: number;
  readonly workers: number;
  /** Number of phones of this worker. */
  readonly phones: number;
  readonly connections: { readonly kept: number; readonly most: number; readonly isNewEach: boolean };
  readonly responseWithinMs: number;
  /** The folder in which each worker writes a file of responses to clients; if absent, none is written. */
  readonly responsesFolder?: string | undefined;
}

export type ToWorker =
  | { readonly kind: 'prepare'; readonly plan: WorkerPlan }
  | { readonly kind: 'start'; readonly atMs: number }
  /** Calls in progress may end within this time. */
  | { readonly kind: 'stop'; readonly withinMs: number };

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'broken'; readonly reason: string }
  /** What the worker recorded until the end of this second of the test. */
  | { readonly kind: 'slice'; readonly second: number; readonly slice: Slice }
  | { readonly kind: 'done' };
