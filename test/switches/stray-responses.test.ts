import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { testPurchase } from '../../src/processor-kit/conformance/test-tap.ts';
import { recordMacVerdict } from '../../src/processor-kit/mac-verdict.ts';
import type { Processor } from '../../src/processor-kit/processor.ts';
import { standardFieldReader } from '../../src/switches/standard-fields.ts';
import { StrayIntake } from '../../src/switches/stray-intake.ts';
import { StrayCounters, StrayResponses } from '../../src/switches/stray-responses.ts';
import type { StrayKind, StrayResponse } from '../../src/transactions/reversal/late-response.ts';

const DECIDED_AFTER_MS = 30_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function stray(stan = '000001'): StrayResponse {
  const identity = { acquirerId: 1, processorId: 1, stan, tid: 'TW000001', rrn: undefined };
  return { ...identity, transmissionDateTime: '0301102030', read: () => undefined };
}

/** Responses that are settled as `kindOf` says; what was looked up, statement by statement. */
function open(kindOf: (stan: string) => StrayKind = () => 'unknown') {
  const looks: string[][] = [];
  const errors: unknown[] = [];
  const unknown: StrayResponse[] = [];
  const strays = new StrayResponses(
    (error) => errors.push(error),
    (stray) => unknown.push(stray),
  );
  strays.open(async (batch) => {
    looks.push(batch.map(({ stan }) => stan));
    return batch.map(({ stan }) => kindOf(stan));
  });
  return { strays, looks, errors, unknown, counters: new StrayCounters() };
}

describe('a stray response', () => {
  test('that is found is looked up once and counted for what it is', async () => {
    const { strays, looks, counters } = open((stan) => (stan === '000001' ? 'late' : 'duplicate'));
    strays.take(stray('000001'), counters, DECIDED_AFTER_MS);
    strays.take(stray('000002'), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looks.flat()).toEqual(['000001', '000002']);
    expect(counters).toMatchObject({ late: 1, duplicates: 1, unknown: 0, dropped: 0 });
  });

  test('that is not found is looked for again in a second, and when everything under way is decided; then it is told of', async () => {
    const { strays, looks, unknown, counters } = open();
    strays.take(stray(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(0);
    expect(looks).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(looks).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(DECIDED_AFTER_MS - 1_000);
    expect(looks).toHaveLength(2);
    expect([counters.unknown, unknown]).toEqual([0, []]);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(looks).toHaveLength(3);
    expect(counters.unknown).toBe(1);
    expect(unknown).toHaveLength(1);
    expect(strays.waiting).toBe(0);
  });

  test('that comes before anybody can look it up waits for it', async () => {
    const strays = new StrayResponses(() => {});
    const counters = new StrayCounters();
    strays.take(stray(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(500);
    strays.open(async () => ['late']);
    await vi.advanceTimersByTimeAsync(100);
    expect(counters.late).toBe(1);
  });

  test('is not lost when the database is away: it is looked for again', async () => {
    const errors: unknown[] = [];
    const strays = new StrayResponses((error) => errors.push(error));
    const counters = new StrayCounters();
    let isAway = true;
    strays.open(async (batch) => {
      if (isAway) throw new Error('away');
      return batch.map(() => 'late');
    });
    strays.take(stray(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(500);
    isAway = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(errors).toHaveLength(1);
    expect(counters).toMatchObject({ late: 1, unknown: 0 });
  });
});

describe('a switch that sends them without end', () => {
  test('has at most 256 looked up at once and 5,120 a second, one statement after the other', async () => {
    const { strays, looks, counters } = open(() => 'late');
    for (let count = 0; count < 8_000; count++) strays.take(stray(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(999);
    expect(looks.map((look) => look.length).every((length) => length <= 256)).toBe(true);
    expect(looks.flat().length).toBeLessThanOrEqual(5_120);
    expect(looks.flat().length).toBeGreaterThan(4_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(looks.flat()).toHaveLength(8_000);
  });

  test('is never answered by two statements at a time, however slow the database is', async () => {
    let running = 0;
    let most = 0;
    const strays = new StrayResponses(() => {});
    const counters = new StrayCounters();
    strays.open(async (batch) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 400));
      running--;
      return batch.map(() => 'late');
    });
    for (let count = 0; count < 1_000; count++) {
      strays.take(stray(), counters, DECIDED_AFTER_MS);
      await vi.advanceTimersByTimeAsync(2);
    }
    await vi.advanceTimersByTimeAsync(5_000);
    expect(counters.late).toBe(1_000);
    expect(most).toBe(1);
  });

  test('fills a queue of bounded length, and the rest is counted and dropped', async () => {
    const { strays, looks, counters } = open();
    for (let count = 0; count < 50_000; count++) strays.take(stray(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(0);
    expect(strays.waiting).toBeLessThanOrEqual(8_192);
    expect(counters.dropped).toBeGreaterThanOrEqual(50_000 - 8_192 - 256);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(counters.unknown + counters.dropped).toBe(50_000);
    expect(looks.flat().length).toBeLessThanOrEqual(3 * 8_192);
    expect(strays.waiting).toBe(0);
  });
});

test('closing looks up what is at hand, drops what was to be looked for again, and takes no more', async () => {
  const { strays, looks, counters } = open((stan) => (stan === '000001' ? 'unknown' : 'late'));
  strays.take(stray('000001'), counters, DECIDED_AFTER_MS);
  await vi.advanceTimersByTimeAsync(10);
  strays.take(stray('000002'), counters, DECIDED_AFTER_MS);
  await strays.close();
  expect(looks.flat()).toEqual(['000001', '000002']);
  expect(counters.late).toBe(1);
  strays.take(stray('000003'), counters, DECIDED_AFTER_MS);
  expect(counters.dropped).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(looks).toHaveLength(2);
});

describe('the responses of a switch that no request waits for', () => {
  const request = type1.authorization(testPurchase(), type1.exampleConfig);
  const response = type1.simulate(request, { responseCode: '00' });

  /** An intake whose MACs are judged as given; what it has handed on. */
  function intake(judge: () => Promise<void> = async () => {}) {
    const taken: StrayResponse[] = [];
    const faults: unknown[] = [];
    const strays = new StrayIntake({
      acquirerId: 1,
      processorId: 1,
      processor: type1 as Processor,
      fieldsOf: standardFieldReader(type1),
      strays: { take: (found) => void taken.push(found) },
      judge,
      decidedAfterMs: DECIDED_AFTER_MS,
      tellFault: (error) => void faults.push(error),
    });
    return { strays, taken, faults };
  }

  test('are looked up by the standard’s names once their MAC is judged', async () => {
    const { strays, taken } = intake();
    strays.take(response, 'line');
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toMatchObject([{ acquirerId: 1, processorId: 1, stan: request.stan, tid: request.tid }]);
    const [found] = taken;
    expect(found && 'read' in found && found.read(type1.originalData(request))).toMatchObject({ kind: 'approved' });
  });

  describe('to reversals', () => {
    const reversal = type1.reversal(
      {
        original: type1.originalData(request),
        reason: 'timeout',
        attempt: 1,
        stan: request.stan!,
        sentAtMs: 0,
        localDateTime: '20260301102030',
      },
      type1.exampleConfig,
    );
    const late = (responseCode: string) => type1.simulate(reversal, { responseCode });

    test.each([
      ['00', 'acknowledged'],
      ['57', 'refused'],
      ['25', 'unableToLocate'],
      ['96', 'undecided'],
    ])('with %s are looked up as %s', async (code, answer) => {
      const { strays, taken } = intake();
      strays.take(late(code), 'line');
      await vi.advanceTimersByTimeAsync(0);
      expect(taken).toMatchObject([{ stan: request.stan, tid: request.tid, answer }]);
    });

    test.each(['bad', 'unverifiable'] as const)('whose MAC is %s say nothing', async (verdict) => {
      const { strays, taken } = intake();
      const response = late('00');
      recordMacVerdict(response, verdict);
      strays.take(response, 'line');
      await vi.advanceTimersByTimeAsync(0);
      expect(taken).toEqual([]);
      expect(strays.counters.unknown).toBe(1);
    });
  });

  test.each([
    ['network management', { ...response, mti: '0810' }],
    ['a response without a STAN', { ...response, stan: undefined }],
  ])('are unknown when they name no request about money: %s', async (_, stranger) => {
    const { strays, taken } = intake();
    strays.take(stranger, 'line');
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toEqual([]);
    expect(strays.counters.unknown).toBe(1);
  });

  test('are dropped, not piled up, while the keys that judge them are not to be had', async () => {
    const keys = Promise.withResolvers<void>();
    const { strays, taken } = intake(() => keys.promise);
    for (let n = 0; n < 10_000; n++) strays.take(response, 'line');
    const { dropped } = strays.counters;
    expect(dropped).toBeGreaterThan(5_000);
    keys.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toHaveLength(10_000 - dropped);
    strays.take(response, 'line');
    expect(strays.counters.dropped).toBe(dropped);
  });

  test('that cannot be judged are told of, and take no room', async () => {
    const { strays, faults } = intake(() => Promise.reject(new TypeError('unexpected')));
    for (let n = 0; n < 10; n++) strays.take(response, 'line');
    await vi.advanceTimersByTimeAsync(0);
    expect(faults).toHaveLength(10);
  });
});
