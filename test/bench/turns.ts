/**
 * Turns of a benchmark that another process compares with that of another checkout (compare.ts). Without such a
 * process, every turn begins at once.
 */
import { once } from 'node:events';
import type { TapCost } from './tap-cost.ts';

/** The figures of one round of `e2e`. */
export interface RoundFigures {
  readonly tapsPerSecond: number;
  readonly echoPerSecond: number;
  readonly atFullLoad: TapCost;
  readonly atHalfLoad: TapCost;
  /** At half load. */
  readonly latenciesMs: { readonly p50: number; readonly p99: number };
}

/** Asks for a turn, and resolves when it begins. */
export async function takeTurn(): Promise<void> {
  if (!process.send) return;
  const begun = once(process, 'message');
  process.send({ kind: 'ready' });
  await begun;
}

/** @param round absent after a warm-up */
export function endTurn(round?: RoundFigures): void {
  process.send?.({ kind: 'ended', round });
}
