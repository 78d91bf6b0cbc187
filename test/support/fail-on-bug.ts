import { isStoreCondition } from '../../src/basics/errors/system-error.ts';

/**
 * An `onError` for parts that continue after a fault. A database that is slow on a busy machine is not a bug. Any other
 * reported error becomes an unhandled rejection, which fails the run.
 */
export function failOnBug(error: unknown): void {
  if (!isStoreCondition(error)) throw error;
}
