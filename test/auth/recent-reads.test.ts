import { describe, expect, test } from 'vitest';
import { RecentReads } from '../../src/auth/api-key.ts';

describe('a recent read', () => {
  test('is trusted for less than the five seconds within which a revoked credential must stop working', async () => {
    let nowMs = 0;
    let stored = 'good';
    const reads = new RecentReads(
      async () => stored,
      () => nowMs,
    );
    expect(await reads.get('a')).toBe('good');
    stored = 'blocked';
    nowMs = 3_999;
    expect(await reads.get('a')).toBe('good');
    expect(await reads.get('b')).toBe('blocked');
    nowMs = 4_000;
    expect(await reads.get('a')).toBe('blocked');
  });

  test('serves many simultaneous requests, and is repeated if it failed', async () => {
    let count = 0;
    const reads = new RecentReads(
      async () => {
        if (++count === 1) throw new Error('away');
        return count;
      },
      () => 0,
    );
    const asked = await Promise.allSettled([reads.get('a'), reads.get('a')]);
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(count).toBe(1);
    expect(await Promise.all([reads.get('a'), reads.get('a')])).toEqual([2, 2]);
  });
});
