import { describe, expect, test } from 'vitest';
import { LruMap } from '../../src/codecs/bytes/lru-map.ts';

describe('a map of the last used', () => {
  test('drops the entry that was unused the longest when it is full', () => {
    const map = new LruMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    map.get('a');
    map.set('c', 3);
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2]);
  });

  test('counts setting again as a use and not as another entry', () => {
    const map = new LruMap<string, number>(2);
    map.set('a', 1);
    map.set('b', 2);
    map.set('a', 10);
    map.set('c', 3);
    expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([10, undefined, 3, 2]);
  });

  test('removes what is deleted', () => {
    const map = new LruMap<string, number>(2);
    map.set('a', 1);
    expect([map.delete('a'), map.delete('a'), map.get('a'), map.size]).toEqual([true, false, undefined, 0]);
  });
});
