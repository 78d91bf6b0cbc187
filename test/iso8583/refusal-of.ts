import { Iso8583Error } from '../../src/errors.ts';

/** The error with which a codec refuses; anything else that is thrown, or nothing, fails the test. */
export function refusalOf(act: () => unknown): Iso8583Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Iso8583Error) return error;
    throw error;
  }
  throw new Error('was not refused');
}
