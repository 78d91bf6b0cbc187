import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import { HsmUnavailable, StoreUnavailable } from '../../src/basics/errors.ts';
import { testPurchase } from '../../src/kits/processor-kit/conformance/check.ts';
import { recordMacVerdict } from '../../src/kits/processor-kit/mac-layout.ts';
import type { Processor } from '../../src/kits/processor-kit/processor.ts';
import type { UnmatchedKind, UnmatchedResponse } from '../../src/payments/reversals/late-responses.ts';
import { UnmatchedIntake } from '../../src/switching/switches/received-messages.ts';
import { standardFieldReader } from '../../src/switching/switches/standard-fields.ts';
import { UnmatchedCounters, UnmatchedResponses } from '../../src/switching/switches/unmatched-responses.ts';

const DECIDED_AFTER_MS = 30_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function unmatched(stan = '000001', acquirerId = 1): UnmatchedResponse {
  const identity = { acquirerId, processorId: 1, stan, tid: 'TW000001', rrn: undefined };
  return { ...identity, transmissionDateTime: '0301102030', read: () => undefined };
}

/** Responses settled according to `kindOf`; records what was looked up in each statement. */
function open(kindOf: (stan: string) => UnmatchedKind = () => 'unknown') {
  const lookUps: string[][] = [];
  const errors: unknown[] = [];
  const unknown: UnmatchedResponse[] = [];
  const unmatchedResponses = new UnmatchedResponses(
    (error) => errors.push(error),
    (unmatched) => unknown.push(unmatched),
  );
  unmatchedResponses.open(async (batch) => {
    lookUps.push(batch.map(({ stan }) => stan));
    return batch.map(({ stan }) => kindOf(stan));
  });
  return { unmatchedResponses, lookUps, errors, unknown, counters: new UnmatchedCounters() };
}

describe('while the database is unavailable, an unmatched response', () => {
  function openUntilMs(availableAtMs: number, error: Error = new StoreUnavailable(true)) {
    const startedAtMs = Date.now();
    const opened = open();
    opened.unmatchedResponses.open(async (batch) => {
      opened.lookUps.push(batch.map(({ stan }) => stan));
      if (Date.now() - startedAtMs < availableAtMs) throw error;
      return batch.map(() => 'late');
    });
    return opened;
  }

  test('is looked up again until it is recorded, long after the last attempt for one that is not found', async () => {
    const { unmatchedResponses, counters } = openUntilMs(20 * 60_000);
    unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(22 * 60_000);
    expect(counters).toMatchObject({ late: 1, unknown: 0, dropped: 0 });
    expect(unmatchedResponses.waiting).toBe(0);
  });

  test('is looked up at most once a minute after a while, and finally dropped', async () => {
    const { unmatchedResponses, lookUps, errors, counters } = openUntilMs(Number.POSITIVE_INFINITY);
    unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(3 * 60 * 60_000);
    expect(lookUps.length).toBeGreaterThan(30);
    expect(lookUps.length).toBeLessThan(180);
    expect(errors).toHaveLength(lookUps.length);
    expect(counters).toMatchObject({ late: 0, unknown: 0, dropped: 1 });
    expect(unmatchedResponses.waiting).toBe(0);
  });

  test('is not looked up endlessly after another error', async () => {
    const { unmatchedResponses, lookUps, counters } = openUntilMs(Number.POSITIVE_INFINITY, new TypeError('a bug'));
    unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(60 * 60_000);
    expect(lookUps).toHaveLength(3);
    expect(counters.unknown).toBe(1);
  });
});

describe('an unmatched response', () => {
  test('an unmatched response that is found is looked up once and counted with its kind', async () => {
    const { unmatchedResponses, lookUps, counters } = open((stan) => (stan === '000001' ? 'late' : 'duplicate'));
    unmatchedResponses.take(unmatched('000001'), counters, DECIDED_AFTER_MS);
    unmatchedResponses.take(unmatched('000002'), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lookUps.flat()).toEqual(['000001', '000002']);
    expect(counters).toMatchObject({ late: 1, duplicates: 1, unknown: 0, dropped: 0 });
  });

  test('an unmatched response that is not found is looked up again in a second, and after everything in flight is decided; then it is reported', async () => {
    const { unmatchedResponses, lookUps, unknown, counters } = open();
    unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(0);
    expect(lookUps).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(lookUps).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(DECIDED_AFTER_MS - 1_000);
    expect(lookUps).toHaveLength(2);
    expect([counters.unknown, unknown]).toEqual([0, []]);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(lookUps).toHaveLength(3);
    expect(counters.unknown).toBe(1);
    expect(unknown).toHaveLength(1);
    expect(unmatchedResponses.waiting).toBe(0);
  });

  test('an unmatched response that arrives before lookups begin waits for them', async () => {
    const unmatchedResponses = new UnmatchedResponses(() => {});
    const counters = new UnmatchedCounters();
    unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(500);
    unmatchedResponses.open(async () => ['late']);
    await vi.advanceTimersByTimeAsync(100);
    expect(counters.late).toBe(1);
  });

  test('is not lost if the database is unavailable: it is looked up again', async () => {
    const errors: unknown[] = [];
    const unmatchedResponses = new UnmatchedResponses((error) => errors.push(error));
    const counters = new UnmatchedCounters();
    let isAway = true;
    unmatchedResponses.open(async (batch) => {
      if (isAway) throw new Error('away');
      return batch.map(() => 'late');
    });
    unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(500);
    isAway = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(errors).toHaveLength(1);
    expect(counters).toMatchObject({ late: 1, unknown: 0 });
  });
});

describe('a switch that sends them endlessly', () => {
  test('has at most 256 looked up at once and 5,120 a second, one statement after the other', async () => {
    const { unmatchedResponses, lookUps, counters } = open(() => 'late');
    for (let count = 0; count < 8_000; count++) unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(999);
    expect(lookUps.map((look) => look.length).every((length) => length <= 256)).toBe(true);
    expect(lookUps.flat().length).toBeLessThanOrEqual(5_120);
    expect(lookUps.flat().length).toBeGreaterThan(4_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(lookUps.flat()).toHaveLength(8_000);
  });

  test('a switch that sends them endlessly never has two statements at a time, however slow the database is', async () => {
    let running = 0;
    let most = 0;
    const unmatchedResponses = new UnmatchedResponses(() => {});
    const counters = new UnmatchedCounters();
    unmatchedResponses.open(async (batch) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 400));
      running--;
      return batch.map(() => 'late');
    });
    for (let count = 0; count < 1_000; count++) {
      unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
      await vi.advanceTimersByTimeAsync(2);
    }
    await vi.advanceTimersByTimeAsync(5_000);
    expect(counters.late).toBe(1_000);
    expect(most).toBe(1);
  });

  test('fills a queue of bounded length, and the rest is counted and dropped', async () => {
    const { unmatchedResponses, lookUps, counters } = open();
    for (let count = 0; count < 50_000; count++) unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(0);
    expect(unmatchedResponses.waiting).toBeLessThanOrEqual(8_192);
    expect(counters.dropped).toBeGreaterThanOrEqual(50_000 - 8_192 - 256);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(counters.unknown + counters.dropped).toBe(50_000);
    expect(lookUps.flat().length).toBeLessThanOrEqual(3 * 8_192);
    expect(unmatchedResponses.waiting).toBe(0);
  });
});

describe('a switch that makes up four hundred responses a second', () => {
  test.each([
    ['while the database responds', 0],
    ['while the database is unavailable for a minute', 60_000],
  ])('costs no late approval of another acquirer %s', async (_, unavailableMs) => {
    const startedAtMs = Date.now();
    const isFound = (stan: string) => stan.startsWith('9') && Date.now() - startedAtMs > 30_000;
    const unmatchedResponses = new UnmatchedResponses(() => {});
    unmatchedResponses.open(async (batch) => {
      if (Date.now() - startedAtMs < unavailableMs) throw new StoreUnavailable(false);
      return batch.map(({ stan, acquirerId }) => (acquirerId === 2 && isFound(stan) ? 'late' : 'unknown'));
    });
    const made = new UnmatchedCounters();
    const genuine = new UnmatchedCounters();
    for (let second = 0; second < 120; second++) {
      for (let n = 0; n < 400; n++) unmatchedResponses.take(unmatched(`${n}`), made, 120_000);
      if (second < 60) unmatchedResponses.take(unmatched(`9${second}`, 2), genuine, DECIDED_AFTER_MS);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(unmatchedResponses.waiting).toBeLessThanOrEqual(8_192);
    }
    await vi.advanceTimersByTimeAsync(300_000);
    expect(genuine).toMatchObject({ late: 60, unknown: 0, dropped: 0 });
    expect(made.dropped).toBeGreaterThan(10_000);
    expect(made.dropped + made.unknown).toBe(48_000);
    expect(unmatchedResponses.waiting).toBe(0);
  });
});

test('closing looks up all for the last time, and accepts no more', async () => {
  const { unmatchedResponses, lookUps, counters } = open((stan) => (stan === '000001' ? 'unknown' : 'late'));
  unmatchedResponses.take(unmatched('000001'), counters, DECIDED_AFTER_MS);
  await vi.advanceTimersByTimeAsync(10);
  unmatchedResponses.take(unmatched('000002'), counters, DECIDED_AFTER_MS);
  await unmatchedResponses.close();
  expect(lookUps.flat().toSorted()).toEqual(['000001', '000001', '000002']);
  expect(counters.late).toBe(1);
  unmatchedResponses.take(unmatched('000003'), counters, DECIDED_AFTER_MS);
  expect(counters.dropped).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lookUps).toHaveLength(2);
});

describe('what is held of an acquirer that another cell may serve next', () => {
  test('is looked up at once as for the last time, and what is not found keeps its next look-ups', async () => {
    const { unmatchedResponses, lookUps, counters } = open();
    unmatchedResponses.open(async (batch, isLastLookUp) => {
      lookUps.push(batch.map(({ stan }) => `${stan} ${isLastLookUp ? 'last' : 'first'}`));
      return batch.map(({ stan }) => (stan === '000002' && isLastLookUp ? 'late' : 'unknown'));
    });
    for (const stan of ['000001', '000002']) unmatchedResponses.take(unmatched(stan), counters, DECIDED_AFTER_MS);
    unmatchedResponses.take(unmatched('000003', 2), counters, DECIDED_AFTER_MS);
    await vi.advanceTimersByTimeAsync(100);
    expect(lookUps.splice(0).flat()).toEqual(['000001 first', '000002 first', '000003 first']);
    expect(await unmatchedResponses.lookUpAll(1)).toBe(true);
    expect(lookUps.splice(0)).toEqual([['000001 last', '000002 last']]);
    expect(counters).toMatchObject({ late: 1, unknown: 0 });
    expect(unmatchedResponses.waiting).toBe(2);
    await vi.advanceTimersByTimeAsync(1_000 + DECIDED_AFTER_MS + 1_000);
    expect(lookUps.flat().filter((look) => look.startsWith('000001'))).toEqual(['000001 first', '000001 last']);
    expect(counters).toMatchObject({ late: 1, unknown: 2, dropped: 0 });
    expect(unmatchedResponses.waiting).toBe(0);
  });

  test('includes what is being looked up, and comes to an end if more than a batch is held', async () => {
    const unmatchedResponses = new UnmatchedResponses(() => {});
    const [first, counters] = [Promise.withResolvers<UnmatchedKind[]>(), new UnmatchedCounters()];
    const lasts: number[] = [];
    unmatchedResponses.open(async (batch, isLastLookUp) => {
      if (!isLastLookUp) return first.promise;
      lasts.push(batch.length);
      return batch.map(() => 'late');
    });
    for (let n = 0; n < 40; n++) unmatchedResponses.take(unmatched(`${n}`), counters, DECIDED_AFTER_MS);
    const looked = unmatchedResponses.lookUpAll(1);
    first.resolve([]);
    expect(await looked).toBe(true);
    expect(lasts.reduce((sum, each) => sum + each)).toBe(40);
    expect(counters).toMatchObject({ late: 40, dropped: 0 });
    expect(unmatchedResponses.waiting).toBe(0);
  });

  test('is kept while the database is unavailable', async () => {
    const { unmatchedResponses, counters } = open();
    let isAvailable = false;
    unmatchedResponses.open(async (batch) => {
      if (!isAvailable) throw new StoreUnavailable(false);
      return batch.map(() => 'late');
    });
    unmatchedResponses.take(unmatched(), counters, DECIDED_AFTER_MS);
    expect(await unmatchedResponses.lookUpAll(1)).toBe(false);
    expect(await unmatchedResponses.lookUpAll(2)).toBe(true);
    expect(unmatchedResponses.waiting).toBe(1);
    isAvailable = true;
    expect(await unmatchedResponses.lookUpAll(1)).toBe(true);
    expect(counters).toMatchObject({ late: 1, dropped: 0 });
  });
});

describe('responses of a switch without a waiting request', () => {
  const request = type1.authorization(testPurchase(), type1.exampleConfig);
  const response = type1.simulate(request, { responseCode: '00' });

  /** An intake that verifies MACs as given; records what it has passed on. */
  function intake(judge: () => Promise<void> = async () => {}) {
    const taken: UnmatchedResponse[] = [];
    const faults: unknown[] = [];
    const unmatchedResponses = new UnmatchedIntake({
      acquirerId: 1,
      processorId: 1,
      processor: type1 as Processor,
      fieldsOf: standardFieldReader(type1),
      approvals: { find: () => undefined },
      unmatchedResponses: { take: (found) => void taken.push(found) },
      judge,
      decidedAfterMs: DECIDED_AFTER_MS,
      reportFault: (error) => void faults.push(error),
    });
    return { unmatchedResponses, taken, faults };
  }

  test('are looked up with the standard’s names after their MAC is verified', async () => {
    const { unmatchedResponses, taken } = intake();
    unmatchedResponses.take(response, 'line');
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
    ])('responses to reversals with %s are looked up as %s', async (code, response) => {
      const { unmatchedResponses, taken } = intake();
      unmatchedResponses.take(late(code), 'line');
      await vi.advanceTimersByTimeAsync(0);
      expect(taken).toMatchObject([{ stan: request.stan, tid: request.tid, response }]);
    });

    test.each([
      'bad',
      'unverifiable',
    ] as const)('responses to reversals with a MAC that is %s report nothing', async (verdict) => {
      const { unmatchedResponses, taken } = intake();
      const response = late('00');
      recordMacVerdict(response, verdict);
      unmatchedResponses.take(response, 'line');
      await vi.advanceTimersByTimeAsync(0);
      expect(taken).toEqual([]);
      expect(unmatchedResponses.counters.unknown).toBe(1);
    });
  });

  test.each([
    ['network management', { ...response, mti: '0810' }],
    ['a response without a STAN', { ...response, stan: undefined }],
  ])('are unknown if they name no financial request: %s', async (_, stranger) => {
    const { unmatchedResponses, taken } = intake();
    unmatchedResponses.take(stranger, 'line');
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toEqual([]);
    expect(unmatchedResponses.counters.unknown).toBe(1);
  });

  test('leave room in the HSM for taps, and are not accumulated: beyond a limit they are looked up without a check', async () => {
    const keys = Promise.withResolvers<void>();
    let checks = 0;
    const { unmatchedResponses, taken } = intake(() => {
      checks++;
      return keys.promise;
    });
    for (let n = 0; n < 10_000; n++) unmatchedResponses.take(response, 'line');
    expect(checks).toBeLessThanOrEqual(64);
    expect(taken.length).toBeGreaterThan(5_000);
    keys.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toHaveLength(10_000);
    expect(unmatchedResponses.counters.dropped).toBe(0);
  });

  test('do not wait behind an HSM that does not respond', async () => {
    const { promise, reject } = Promise.withResolvers<void>();
    const { unmatchedResponses, taken } = intake(() => promise);
    for (let n = 0; n < 1_000; n++) unmatchedResponses.take(response, 'line');
    expect(taken).toEqual([]);
    reject(new HsmUnavailable());
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toHaveLength(1_000);
  });

  test('are looked up before the switch is closed, each once, also if the HSM responds late or never', async () => {
    const first = Promise.withResolvers<void>();
    const never = new Promise<void>(() => {});
    let checks = 0;
    const { unmatchedResponses, taken } = intake(() => (checks++ === 0 ? first.promise : never));
    for (let n = 0; n < 100; n++) unmatchedResponses.take(response, 'line');
    const closed = unmatchedResponses.close();
    expect(taken).toHaveLength(36);
    first.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toHaveLength(37);
    await vi.advanceTimersByTimeAsync(10_000);
    await closed;
    expect(taken).toHaveLength(100);
    unmatchedResponses.take(response, 'line');
    expect(taken).toHaveLength(101);
  });

  test('responses without a waiting request that cannot be verified are reported, and take no room', async () => {
    const { unmatchedResponses, faults } = intake(() => Promise.reject(new TypeError('unexpected')));
    for (let n = 0; n < 10; n++) unmatchedResponses.take(response, 'line');
    await vi.advanceTimersByTimeAsync(0);
    expect(faults).toHaveLength(10);
  });
});
