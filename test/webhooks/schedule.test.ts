import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AttemptResult, nextStep as nextStepOf, parseRetryAfter } from '../../src/webhooks/schedule.ts';

/** Attempts of an event: the first one and nine repeats. */
const MAX_DELIVERIES = 10;

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');
const failed = { status: 500 };

/** After an attempt that was made when it was due. */
const nextStep = (delivery: number, result: AttemptResult, random: number) =>
  nextStepOf({ delivery, dueInSeconds: 0, earlyAttempts: 0 }, result, random);

describe('the schedule', () => {
  test('waits 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h after a failure, then gives up', () => {
    const waits: number[] = [];
    let delivery = 1;
    for (;;) {
      const step = nextStep(delivery, failed, 0);
      if (!step.next) {
        expect(step).toEqual({ state: 'failed', next: null, disablesEndpoint: false });
        break;
      }
      expect(step.state).toBe('pending');
      expect(step.next.delivery).toBe(delivery + 1);
      delivery = step.next.delivery;
      waits.push(step.next.afterSeconds);
    }
    expect(waits).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
    expect(delivery).toBe(MAX_DELIVERIES);
  });

  test('adds up to a fifth at random, and is never early', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: MAX_DELIVERIES - 1 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (delivery, random) => {
          const least = nextStep(delivery, failed, 0).next!;
          const { afterSeconds } = nextStep(delivery, failed, random).next!;
          return afterSeconds >= least.afterSeconds && afterSeconds <= least.afterSeconds * 1.2;
        },
      ),
    );
  });
});

describe('an attempt', () => {
  test.each([200, 201, 202, 204, 299])('an attempt with status %i is delivered', (status) => {
    expect(nextStep(1, { status }, 0)).toEqual({ state: 'delivered', next: null, disablesEndpoint: false });
    expect(nextStep(MAX_DELIVERIES, { status }, 0)).toEqual({
      state: 'delivered',
      next: null,
      disablesEndpoint: false,
    });
  });

  test.each([
    100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 408, 429, 500, 502, 503,
  ])('an attempt with status %i is retried: redirects are failures, too', (status) =>
    expect(nextStep(1, { status }, 0)).toMatchObject({ state: 'pending', next: { delivery: 2, afterSeconds: 5 } }));

  test('an attempt without a response is retried', () => {
    expect(nextStep(2, { error: 'TIMEOUT' }, 0)).toMatchObject({
      state: 'pending',
      next: { delivery: 3, afterSeconds: 300 },
    });
  });

  test('with response 410 Gone is the last one, at any position', () => {
    expect(nextStep(1, { status: 410 }, 0)).toEqual({ state: 'stopped', next: null, disablesEndpoint: true });
    expect(nextStep(MAX_DELIVERIES, { status: 410 }, 0)).toEqual({
      state: 'stopped',
      next: null,
      disablesEndpoint: true,
    });
  });
});

describe('an attempt that was brought forward', () => {
  const early = (earlyAttempts: number, result: AttemptResult, delivery = 4) =>
    nextStepOf({ delivery, dueInSeconds: 7_000, earlyAttempts }, result, 0.5);

  test('uses nothing of the schedule if it fails: the same delivery remains due at the same time', () => {
    expect(early(0, failed)).toMatchObject({ state: 'pending', next: { delivery: 4, afterSeconds: 7_000 } });
    expect(early(0, failed, MAX_DELIVERIES).next).toMatchObject({ delivery: MAX_DELIVERIES, afterSeconds: 7_000 });
  });

  test('may be followed by another after a minute, and each further one after four times as long, a day at most', () => {
    const steps = [0, 1, 2, 3, 10].map((earlyAttempts) => early(earlyAttempts, failed).next);
    expect(steps).toMatchObject([
      { notEarlyForSeconds: 60, earlyAttempts: 1 },
      { notEarlyForSeconds: 240, earlyAttempts: 2 },
      { notEarlyForSeconds: 960, earlyAttempts: 3 },
      { notEarlyForSeconds: 3_840, earlyAttempts: 4 },
      { notEarlyForSeconds: 86_400, earlyAttempts: 11 },
    ]);
  });

  test('is the last one if it is accepted, or the response is 410', () => {
    expect(early(0, { status: 204 })).toEqual({ state: 'delivered', next: null, disablesEndpoint: false });
    expect(early(0, { status: 410 })).toEqual({ state: 'stopped', next: null, disablesEndpoint: true });
  });

  test('honours Retry-After', () => {
    const patience = { status: 429, retryAfterSeconds: 9_000 };
    expect(early(0, patience).next).toMatchObject({ afterSeconds: 9_000, notEarlyForSeconds: 9_000 });
    expect(nextStep(1, patience, 0).next).toMatchObject({
      afterSeconds: 9_000,
      notEarlyForSeconds: 9_000,
      earlyAttempts: 0,
    });
  });

  test('counts as one of the schedule if it was due before its end', () => {
    const step = nextStepOf({ delivery: 2, dueInSeconds: -1, earlyAttempts: 3 }, failed, 0);
    expect(step.next).toMatchObject({ delivery: 3, afterSeconds: 300, earlyAttempts: 0, notEarlyForSeconds: 0 });
  });
});

describe('Retry-After', () => {
  const again = (delivery: number, retryAfterSeconds: number) =>
    nextStep(delivery, { status: 503, retryAfterSeconds }, 0);

  test('makes the next attempt later', () => {
    expect(again(1, 120)).toMatchObject({ state: 'pending', next: { delivery: 2, afterSeconds: 120 } });
  });

  test('Retry-After never makes it earlier', () => {
    expect(again(2, 1).next).toMatchObject({ afterSeconds: 300 });
  });

  test('is observed for no more than a day', () => {
    expect(again(1, 999_999_999).next).toMatchObject({ afterSeconds: 86_400 });
  });

  test('does not extend the schedule', () => {
    expect(again(MAX_DELIVERIES, 60)).toEqual({ state: 'failed', next: null, disablesEndpoint: false });
  });

  test.each([
    ['0', 0],
    ['120', 120],
    ['Sun, 01 Mar 2026 12:01:30 GMT', 90],
    ['Sun, 01 Mar 2026 11:00:00 GMT', undefined],
    ['Sunday, 01-Mar-26 12:01:30 GMT', undefined],
    ['Xxx, 99 Xxx 2026 99:99:99 GMT', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['', undefined],
    ['9'.repeat(400), undefined],
    [undefined, undefined],
  ])('%s is read as %s', (value, seconds) => expect(parseRetryAfter(value, NOW_MS)).toBe(seconds));
});
