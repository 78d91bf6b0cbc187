import type { Timings } from './figures.ts';

/** What came between two readings; a process that began anew has only what is new. */
export function between(before: Timings | undefined, now: Timings): Timings {
  const counts = now.counts.map((count, at) => {
    const known = before?.counts[at] ?? 0;
    return count >= known ? count - known : count;
  });
  return { bounds: now.bounds, counts };
}

/** All together. Histograms of other bounds, from a process of another release, are left out. */
export function sumOf(all: readonly Timings[]): Timings {
  const [first, ...others] = all;
  if (!first) return { bounds: [], counts: [] };
  const alike = others.filter(({ bounds }) => bounds.length === first.bounds.length);
  return {
    bounds: first.bounds,
    counts: first.counts.map((count, at) => alike.reduce((sum, { counts }) => sum + (counts[at] ?? 0), count)),
  };
}

export function countOf({ counts }: Timings): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Milliseconds that a share of them took at most, a straight line drawn within each bucket; null when there were none. What is
 * beyond the last bound is told as that.
 */
export function percentileMs(timings: Timings, share: number): number | null {
  const { bounds, counts } = timings;
  const wanted = countOf(timings) * share;
  if (wanted === 0) return null;
  let below = 0;
  for (const [at, bound] of bounds.entries()) {
    const count = counts[at] ?? 0;
    if (below + count >= wanted) {
      const from = at === 0 ? 0 : bounds[at - 1]!;
      return (from + ((bound - from) * (wanted - below)) / count) * 1_000;
    }
    below += count;
  }
  return bounds.at(-1)! * 1_000;
}
