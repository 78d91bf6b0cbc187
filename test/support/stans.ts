import type { TakenStan } from '../../src/payments/ports/switch-ports.ts';
import { type OnSkip, StanBlocks } from '../../src/store/switches/stan-blocks.ts';
import type { TestDatabase } from './test-database.ts';

export const DAY = '2026-03-02';
export const TERMINAL = { acquirerId: 1, tid: 'TW000001' as string | null };
export const ACQUIRER = { acquirerId: 2, tid: null };
/** The size of a reserved block. */
export const BLOCK = 100;
export const LAST_STAN = 999_999;

/** Simulates another process that reserves numbers. */
export function openProcess({ database }: TestDatabase, onSkip?: OnSkip): Promise<StanBlocks> {
  return StanBlocks.open(database, onSkip);
}

export async function take(
  blocks: StanBlocks,
  count: number,
  scope = TERMINAL,
  day = DAY,
): Promise<(string | undefined)[]> {
  const taken: (string | undefined)[] = [];
  while (taken.length < count) taken.push((await blocks.next(scope, day))?.stan);
  return taken;
}

/** A number that is not used again when it is returned. */
export const takenStan = (stan: string): TakenStan => ({
  stan,
  rrnAtMs: (sentAtMs) => sentAtMs,
  putBack: () => {},
});

export const stansFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => String(first + index).padStart(6, '0'));
