import { isStoreCondition } from '../../src/errors/store-conditions.ts';

/**
 * An `onError` for parts that go on after a fault. A database that a busy machine makes wait is no bug; whatever else
 * is reported becomes an unhandled rejection, which fails the run.
 */
export function failOnBug(error: unknown): void {
  if (!isStoreCondition(error)) throw error;
}
