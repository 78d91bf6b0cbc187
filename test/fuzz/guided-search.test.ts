import { expect, test } from 'vitest';
import { CompareTracer } from './compare-tracer.ts';
import { MAX_INPUT_BYTES } from './fuzz-target.ts';
import { type GuidedProgram, GuidedSearch } from './guided-search.ts';
import { mutate, seededRandom } from './mutate.ts';

/** A program with an edge for each matching leading character of a secret; the whole secret makes it fail. */
function locked(secret: string): GuidedProgram {
  const counters = [new Uint8Array(secret.length + 1)];
  const run = (input: Uint8Array) => {
    for (let position = 0; position < secret.length; position++) {
      counters[0]![position]!++;
      if (input[position] !== secret.charCodeAt(position)) return;
    }
    throw new Error('open');
  };
  return { run, counters, tokens: [] };
}

/** How many runs it takes to find the secret. */
function runsToOpen(program: GuidedProgram, atMost: number): number {
  const search = new GuidedSearch(program, 1);
  search.try(new Uint8Array());
  try {
    while (search.runs < atMost) search.try(search.next());
  } catch {
    return search.runs;
  }
  return Number.POSITIVE_INFINITY;
}

test('edges lead the search to what chance would not find', () => {
  expect(runsToOpen(locked('LOCKED'), 500_000)).toBeLessThan(500_000);
  const blind = { ...locked('LOCKED'), counters: [] };
  expect(runsToOpen(blind, 500_000)).toBe(Number.POSITIVE_INFINITY);
});

test('the same seed makes the same search', () => {
  expect(runsToOpen(locked('SEED'), 500_000)).toBe(runsToOpen(locked('SEED'), 500_000));
});

test('an edge taken with another magnitude of count is new, with the same it is not', () => {
  const counters = [new Uint8Array(1)];
  const search = new GuidedSearch({ run: (input) => counters[0]!.fill(input.length), counters, tokens: [] }, 1);
  const isNew = (bytes: number) => search.try(new Uint8Array(bytes));
  expect([isNew(0), isNew(1), isNew(1), isNew(2), isNew(3), isNew(4), isNew(7)]).toEqual([
    false,
    true,
    false,
    true,
    false,
    true,
    false,
  ]);
  expect([search.edges, search.corpus.length]).toEqual([1, 3]);
});

test('mutations stay within the size of an input, and work on empty ones', () => {
  const random = seededRandom(7);
  let input: Uint8Array = new Uint8Array();
  for (let round = 0; round < 5_000; round++) {
    input = mutate(input, { random, tokens: [Uint8Array.of(1, 2)], other: input, maxBytes: MAX_INPUT_BYTES });
    expect(input.length).toBeLessThanOrEqual(MAX_INPUT_BYTES);
  }
});

test('a traced comparison compares, and records what was missing', () => {
  const tracer = new CompareTracer();
  expect(tracer.traceNumberCmp(5, 0x9f26, '===')).toBe(false);
  expect(tracer.traceNumberCmp(5, 5, '>=')).toBe(true);
  expect(tracer.traceStrCmp('D', '=', '!==')).toBe(true);
  expect(tracer.traceAndReturn(1, 2)).toBe(2);
  expect(tracer.traceAndReturn(undefined, -1)).toBe(-1);
  expect(tracer.tokens.map((token) => Buffer.from(token).toString('hex'))).toEqual(['05', '9f26', '44', '3d', '02']);
});

test('the newest of many traced comparisons are kept', () => {
  const tracer = new CompareTracer();
  for (let value = 0; value < 1_000; value++) tracer.traceNumberCmp(value, value + 1, '<');
  expect(tracer.tokens).toHaveLength(64);
  expect(tracer.tokens.at(-1)).toEqual(Uint8Array.of(0x03, 0xe8));
});
