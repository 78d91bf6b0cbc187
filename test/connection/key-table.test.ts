import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KeyTable, RecentKeys } from '../../src/switching/connection/pending-requests.ts';

class Entry {
  nextInBucket: Entry | undefined = undefined;
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

describe('a key table', () => {
  test('contains what a Map would contain after the same changes', () => {
    const changes = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 40 })), { maxLength: 200 });
    fc.assert(
      fc.property(changes, (steps) => {
        const table = new KeyTable<Entry>();
        const oracle = new Map<string, Entry>();
        for (const [isAdded, number] of steps) {
          const key = `key ${number}`;
          const known = oracle.get(key);
          expect(table.get(key)).toBe(known);
          if (isAdded && !known) {
            const entry = new Entry(key);
            table.add(entry);
            oracle.set(key, entry);
          } else if (known) {
            expect(table.remove(known)).toBe(true);
            oracle.delete(key);
          }
          expect(table.size).toBe(oracle.size);
        }
        expect(new Set(table.entries())).toEqual(new Set(oracle.values()));
      }),
    );
  });

  test('grows past its first buckets and finds everything again', () => {
    const table = new KeyTable<Entry>();
    const entries = Array.from({ length: 5_000 }, (_, number) => new Entry(`${number}`));
    for (const entry of entries) table.add(entry);
    expect(entries.every((entry) => table.get(entry.key) === entry)).toBe(true);
    expect(table.entries()).toHaveLength(5_000);
    for (const entry of entries) table.remove(entry);
    expect(table.size).toBe(0);
    expect(table.entries()).toEqual([]);
  });

  test('keeps keys apart that share a bucket', () => {
    const table = new KeyTable<Entry>();
    const [first, second] = [new Entry('Aa'), new Entry('BB')];
    table.add(first);
    table.add(second);
    expect(table.get('Aa')).toBe(first);
    table.remove(first);
    expect(table.get('Aa')).toBeUndefined();
    expect(table.get('BB')).toBe(second);
  });

  test('does not remove another entry of the same key', () => {
    const table = new KeyTable<Entry>();
    const entry = new Entry('1');
    table.add(entry);
    expect(table.remove(new Entry('1'))).toBe(false);
    expect(table.get('1')).toBe(entry);
  });
});

describe('recent keys', () => {
  test('keep the time at which a key last ended', () => {
    const recent = new RecentKeys();
    recent.add('a', 1);
    expect(recent.get('a')).toBe(1);
    recent.add('a', 2);
    expect(recent.get('a')).toBe(2);
    expect(recent.get('b')).toBeUndefined();
  });

  test('drop the oldest, and keep at least 8,192', () => {
    const recent = new RecentKeys();
    for (let number = 0; number < 20_000; number++) recent.add(`${number}`, number);
    expect(recent.get('0')).toBeUndefined();
    for (let number = 20_000 - 8_192; number < 20_000; number++) expect(recent.get(`${number}`)).toBe(number);
  });
});
