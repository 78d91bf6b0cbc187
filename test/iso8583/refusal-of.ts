import { Iso8583Error } from '../../src/basics/errors.ts';

/** The error with which a codec refuses; the test fails if another error or none is thrown. */
export function refusalOf(act: () => unknown): Iso8583Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Iso8583Error) return error;
    throw error;
  }
  throw new Error('was not refused');
}
