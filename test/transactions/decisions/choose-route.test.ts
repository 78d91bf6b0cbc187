import { describe, expect, test } from 'vitest';
import type { RouteRecord } from '../../../src/payments/ports/directory-ports.ts';
import { chooseRoutes, type RouteQuestion } from '../../../src/payments/taps/routes.ts';

const QUESTION: RouteQuestion = { currency: 'ZAR', scheme: 'Visa', xTid: 'TERM0001' };

function route(id: number, changes: Partial<RouteRecord> = {}): RouteRecord {
  return { id, processorId: id, priority: 1, currency: null, scheme: null, xTid: null, isRemoved: false, ...changes };
}

function chosen(routes: readonly RouteRecord[], question = QUESTION): number[] {
  return chooseRoutes(routes, question).map(({ id }) => id);
}

describe('a route', () => {
  test('a route without conditions matches every tap', () => {
    expect(chosen([route(1)])).toEqual([1]);
    expect(chosen([route(1)], { ...QUESTION, scheme: null })).toEqual([1]);
  });

  test.each([
    ['currency', { currency: 'ZAR' }, { currency: 'EUR' }],
    ['scheme', { scheme: 'Visa' }, { scheme: 'Amex' }],
    ['terminal', { xTid: 'TERM0001' }, { xTid: 'TERM0002' }],
  ])('a route for a %s matches taps with it and no others', (_what, same, other) => {
    expect(chosen([route(1, same), route(2, other)])).toEqual([1]);
  });

  test('a route that was removed matches none', () => {
    expect(chosen([route(1, { isRemoved: true }), route(2)])).toEqual([2]);
  });

  test('must match in all of its conditions', () => {
    expect(chosen([route(1, { currency: 'ZAR', scheme: 'Amex' })])).toEqual([]);
  });
});

describe('among the routes that match', () => {
  test('the lowest priority is first, however general', () => {
    const specific = route(1, { priority: 2, xTid: 'TERM0001', scheme: 'Visa', currency: 'ZAR' });
    expect(chosen([specific, route(2, { priority: 1 })])).toEqual([2, 1]);
  });

  test('the more specific one is first within a priority: terminal, then scheme, then currency', () => {
    const routes = [
      route(1),
      route(2, { currency: 'ZAR' }),
      route(3, { scheme: 'Visa' }),
      route(4, { scheme: 'Visa', currency: 'ZAR' }),
      route(5, { xTid: 'TERM0001' }),
    ];
    expect(chosen(routes)).toEqual([5, 4, 3, 2, 1]);
  });

  test('equal ones keep their order, and the given list is not modified', () => {
    const routes = Object.freeze([route(3), route(1), route(2)]);
    expect(chosen(routes)).toEqual([3, 1, 2]);
  });
});
