import { expect, test, vi } from 'vitest';
import { TransactionType, type TransactionTypeId } from '../../../src/payments/model/transaction.ts';
import type { RouteRecord } from '../../../src/payments/ports/directory-ports.ts';
import type { Switch, Switches } from '../../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import type { Draft } from '../../../src/payments/taps/draft.ts';
import type { ReadTap } from '../../../src/payments/taps/read-tap.ts';
import { Routes } from '../../../src/payments/taps/routes.ts';

const route = (id: number): RouteRecord => ({
  id,
  processorId: id,
  priority: id,
  currency: null,
  scheme: null,
  xTid: null,
  isRemoved: false,
});

/** A processor that cannot be opened. */
const UNOPENED = 3;

/**
 * Two switches, the first of which takes no mandates. Neither has a slot, so processing ends with the request for one.
 */
function ask(type: TransactionTypeId, known: readonly RouteRecord[]) {
  const asked: number[] = [];
  const target = (id: number) =>
    ({
      takesMandates: id === 2,
      isSignedOn: true,
      isFull: false,
      takeSlot: vi.fn(async () => {
        asked.push(id);
        return undefined;
      }),
    }) as Partial<Switch> as Switch;
  const switches: Switches = { find: (_acquirerId, id) => (id === UNOPENED ? undefined : target(id)) };
  const directory = { terminal: () => ({ xTid: 'T' }), routes: () => known };
  const draft = { transaction: { acquirerId: 1, xTid: 'T', routeId: null, type } } as unknown as Draft;
  const tap = { currency: { code: 'ZAR' }, facts: { scheme: 'Visa' } } as unknown as ReadTap;
  return { asked, taken: new Routes({ directory } as unknown as TransactionDependencies).take(switches, draft, tap) };
}

test('a mandate is sent to switches that take mandates, and to no others', async () => {
  const { asked, taken } = ask(TransactionType.TT3, [route(1), route(2)]);
  expect(await taken).toBeUndefined();
  expect(asked).toEqual([2]);
});

test('a tap is sent to either', async () => {
  const { asked, taken } = ask(TransactionType.Tap, [route(1), route(2)]);
  await taken;
  expect(asked).toEqual([1, 2]);
});

test('a mandate that no switch takes is a missing configuration', async () => {
  const { asked, taken } = ask(TransactionType.TT3, [route(1)]);
  expect(await taken).toMatchObject({ code: 'NO_ROUTE' });
  expect(asked).toEqual([]);
});

test('a mandate whose switch cannot be opened now cannot go online', async () => {
  const { asked, taken } = ask(TransactionType.TT3, [route(1), route(UNOPENED)]);
  expect(await taken).toBeUndefined();
  expect(asked).toEqual([]);
});
