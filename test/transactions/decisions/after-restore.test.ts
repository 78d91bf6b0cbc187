import { describe, expect, test } from 'vitest';
import { HeldAfterRestore } from '../../../src/basics/errors.ts';
import {
  holdIfLost,
  mayBeLost,
  type PossiblyLost,
  READER_CLOCK_MS,
  wasUnderWay,
} from '../../../src/payments/decisions/after-restore.ts';
import type { LostWindow } from '../../../src/payments/ports/directory-ports.ts';
import type { HeldRequest } from '../../../src/payments/ports/store-ports.ts';

const FROM_MS = Date.parse('2026-11-20T10:00:00Z');
const UNTIL_MS = Date.parse('2026-11-20T11:00:00Z');
const NOW_MS = Date.parse('2026-11-20T12:00:00Z');
const WINDOW: LostWindow = { fromMs: FROM_MS, untilMs: UNTIL_MS, holdsAllTaps: false, released: new Set() };
const MERCHANT = { acquirerId: 1, merchantId: '1001' };

type Tap = Extract<PossiblyLost, { kind: 'tap' }>;

/** A tap whose reader shows this time of the day, by default that of now in Johannesburg (UTC+2). */
const tapAt = (time: string | undefined = '140000', changes: Partial<Tap> = {}): Tap => ({
  kind: 'tap',
  shown: { date: '261120', time },
  timeZone: 'Africa/Johannesburg',
  linkCreatedAtMs: undefined,
  firstAttemptAtMs: undefined,
  ...changes,
});
const isHeld = (request: PossiblyLost, window: LostWindow = WINDOW, nowMs = NOW_MS) =>
  mayBeLost(window, MERCHANT, request, nowMs);

describe('a tap', () => {
  test.each(['135701', '140000', '140259'])('that its reader shows to be of now (%s) is new', (time) => {
    expect(isHeld(tapAt(time))).toBe(false);
  });

  test.each([
    ['of the window', '123000'],
    ['of before the window', '113000'],
    ['of an hour that has not come, as a fast clock shows', '150000'],
    ['longer ago than a clock may be wrong', '135659'],
    ['in the zone of UTC instead of its merchant', '120000'],
    ['that is no time', '250000'],
    ['that is no digits', 'ABCDEF'],
  ])('whose reader shows a time %s may be lost', (_, time) => {
    expect(isHeld(tapAt(time))).toBe(true);
  });

  test('whose reader shows no time or no date may be lost', () => {
    expect(isHeld({ ...tapAt(), shown: { date: '261120', time: undefined } })).toBe(true);
    expect(isHeld({ ...tapAt(), shown: { date: undefined, time: '140000' } })).toBe(true);
    expect(isHeld({ ...tapAt(), shown: { date: '261119', time: '140000' } })).toBe(true);
  });

  test('may be lost until a wrong clock can no longer have shown a time of the window', () => {
    const [soon, later] = [UNTIL_MS + READER_CLOCK_MS - 1_000, UNTIL_MS + READER_CLOCK_MS];
    expect(isHeld(tapAt('130259'), WINDOW, soon)).toBe(true);
    expect(isHeld(tapAt('130300'), WINDOW, later)).toBe(false);
  });

  test('of the hour that summer time repeats may be lost, because its reader shows the same time twice', () => {
    const fromMs = Date.parse('2026-10-25T00:00:00Z'); // 02:00 of summer time in Berlin
    const untilMs = Date.parse('2026-10-25T00:50:00Z');
    const nowMs = Date.parse('2026-10-25T01:30:00Z'); // 02:30 for the second time
    const window = { ...WINDOW, fromMs, untilMs };
    const tap = tapAt(undefined, { shown: { date: '261025', time: '023000' }, timeZone: 'Europe/Berlin' });
    expect(isHeld(tap, window, nowMs)).toBe(true);
    expect(isHeld({ ...tap, timeZone: 'Africa/Algiers' }, window, nowMs)).toBe(false);
  });

  test('on a link of before may be lost, however new it is', () => {
    expect(isHeld(tapAt(undefined, { linkCreatedAtMs: FROM_MS - 1 }))).toBe(true);
    expect(isHeld(tapAt(undefined, { linkCreatedAtMs: UNTIL_MS }))).toBe(false);
  });

  test('under a reference of before may be lost, because another attempt may have been approved', () => {
    expect(isHeld(tapAt(undefined, { firstAttemptAtMs: FROM_MS - 1 }))).toBe(true);
    expect(isHeld(tapAt(undefined, { firstAttemptAtMs: UNTIL_MS }))).toBe(false);
  });

  test('may be lost in any case if the operator holds all taps', () => {
    expect(isHeld(tapAt(), { ...WINDOW, holdsAllTaps: true })).toBe(true);
  });
});

describe('other requests', () => {
  test('for a new link may be lost, because its reference is all that is known', () => {
    expect(isHeld({ kind: 'link' })).toBe(true);
  });

  test('to return money of a sale may be lost unless the sale is later than the window', () => {
    expect(isHeld({ kind: 'return', saleCreatedAtMs: FROM_MS - 30 * 86_400_000 })).toBe(true);
    expect(isHeld({ kind: 'return', saleCreatedAtMs: UNTIL_MS - 1 })).toBe(true);
    expect(isHeld({ kind: 'return', saleCreatedAtMs: UNTIL_MS })).toBe(false);
  });

  test.each(['pin', 'underWay'] as const)('of the kind %s may be lost if the row did not change since', (kind) => {
    expect(isHeld({ kind, updatedAtMs: UNTIL_MS - 1 })).toBe(true);
    expect(isHeld({ kind, updatedAtMs: UNTIL_MS })).toBe(false);
  });

  test.each([
    ['of the merchant', '1 1001', false],
    ['of the acquirer', '1', false],
    ['of another merchant', '1 1002', true],
    ['of the same merchant id of another acquirer', '2 1001', true],
    ['of another acquirer', '2', true],
  ])('are released with those %s', (_, released, isStillHeld) => {
    const window = { ...WINDOW, released: new Set([released]) };
    for (const request of [tapAt('123000'), { kind: 'link' }, { kind: 'return', saleCreatedAtMs: 0 }] as const)
      expect(isHeld(request, window)).toBe(isStillHeld);
  });
});

describe('a request that may be held', () => {
  const held: HeldRequest = { ...MERCHANT, reference: 'order', kind: 'tap', amountMinor: 1_000, currency: 'ZAR' };

  /** Whether the request is held, and the statements that this took. */
  async function ask(
    request: PossiblyLost,
    { window = WINDOW, known }: { window?: LostWindow | undefined; known?: 'held' | 'released' } = {},
  ) {
    const calls: string[] = [];
    const deps = {
      clock: { nowMs: () => NOW_MS },
      directory: { lostWindow: () => window } as never,
      restoreHolds: {
        find: async () => {
          calls.push('find');
          return known;
        },
        hold: async () => void calls.push('hold'),
      },
    };
    const error = await holdIfLost(deps, () => ({ held, request })).catch((reason) => reason);
    if (error !== undefined) expect(error).toBeInstanceOf(HeldAfterRestore);
    return { isHeld: error !== undefined, calls };
  }

  test('costs nothing while no restore is compared: it is not even described', async () => {
    const deps = { directory: { lostWindow: () => undefined } } as never;
    await holdIfLost(deps, () => {
      throw new Error('described');
    });
  });

  test('is recorded when it is held', async () => {
    expect(await ask(tapAt('123000'))).toEqual({ isHeld: true, calls: ['find', 'hold'] });
  });

  test('goes on if it is certainly new', async () => {
    expect(await ask(tapAt())).toEqual({ isHeld: false, calls: ['find'] });
  });

  test('stays held under a reference that was held, although its reader shows a new tap', async () => {
    expect(await ask(tapAt(), { known: 'held' })).toEqual({ isHeld: true, calls: ['find', 'hold'] });
  });

  test('goes on under a reference that the operator has released', async () => {
    expect((await ask(tapAt('123000'), { known: 'released' })).isHeld).toBe(false);
    expect((await ask({ kind: 'link' }, { known: 'released' })).isHeld).toBe(false);
  });

  test('goes on if its merchant is released, although its reference was held', async () => {
    const window = { ...WINDOW, released: new Set(['1 1001']) };
    expect(await ask(tapAt('123000'), { window, known: 'held' })).toEqual({ isHeld: false, calls: [] });
  });
});

test('a transaction was under way only while a lost window is open', () => {
  const transaction = { ...MERCHANT, updatedAtMs: FROM_MS };
  expect(wasUnderWay({ directory: { lostWindow: () => WINDOW } as never }, transaction, NOW_MS)).toBe(true);
  expect(wasUnderWay({ directory: { lostWindow: () => undefined } as never }, transaction, NOW_MS)).toBe(false);
});
