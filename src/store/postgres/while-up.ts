import { StoreUnavailable } from '../../errors.ts';

/**
 * What a read gives, as long as the database is there.
 *
 * @throws StoreUnavailable when it is not; what the database itself says against the read is thrown as it is
 */
export async function whileUp<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    // SQLSTATE class 57 ends connections (a shutdown, a crash), 53 refuses them; every other answer is a live server's.
    const { severity, code } = cause as { severity?: unknown; code?: unknown };
    const isAnswered = typeof severity === 'string' && typeof code === 'string' && !/^(57P|53)/.test(code);
    throw isAnswered ? cause : new StoreUnavailable(false, { cause });
  }
}
