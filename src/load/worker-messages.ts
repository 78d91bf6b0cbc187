/** What a load test and its worker processes tell each other. */
import type { LoadMix } from '#schemas/load-mix';
import type { ArrivalPlan } from './arrival-plan.ts';
import type { LoadProfile } from './load-profile.ts';
import type { Slice } from './slice.ts';

/** What one worker is to do of a test. */
export interface WorkerPlan {
  readonly url: string;
  readonly profile: Pick<LoadProfile, 'issuer' | 'merchants' | 'hastyTerminal' | 'apiKey'>;
  readonly arrivals: ArrivalPlan;
  readonly seconds: number;
  readonly mix: LoadMix;
  readonly seed: number;
  /** Its number among all workers, from 0: it takes every nth call of the test. */
  readonly worker: number;
  readonly workers: number;
  /** Of this worker. */
  readonly phones: number;
  readonly connections: { readonly kept: number; readonly most: number; readonly isNewEach: boolean };
  readonly answerWithinMs: number;
  /** The folder in which each worker writes a file of responses to clients; absent: none is written. */
  readonly answersFolder?: string | undefined;
}

export type ToWorker =
  | { readonly kind: 'prepare'; readonly plan: WorkerPlan }
  | { readonly kind: 'start'; readonly atMs: number }
  /** What is under way may end within so long. */
  | { readonly kind: 'stop'; readonly withinMs: number };

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'broken'; readonly reason: string }
  /** What it saw until the end of this second of the test. */
  | { readonly kind: 'slice'; readonly second: number; readonly slice: Slice }
  | { readonly kind: 'done' };
