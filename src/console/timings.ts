import type { Timings } from '../observe/figures.ts';

/** The difference of two readings; after a restart of the process, only the new values. */
export function between(before: Timings | undefined, now: Timings): Timings {
  const counts = now.counts.map((count, at) => {
    const known = before?.counts[at] ?? 0;
    return count >= known ? count - known : count;
  });
  return { bounds: now.bounds, counts };
}

/** The sum of all histograms. Those with other bounds, from a process of another release, are omitted. */
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
 * The percentile in milliseconds, interpolated linearly within its bucket; null without values. For a value beyond
 * the last bound, the last bound.
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
      const within = from + ((bound - from) * (wanted - below)) / count;
      return Math.min(within, bound) * 1_000; // the sum may be rounded up
    }
    below += count;
  }
  return bounds.at(-1)! * 1_000;
}
