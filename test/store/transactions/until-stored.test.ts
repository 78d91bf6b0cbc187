import { expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/basics/errors.ts';
import { untilStored } from '../../../src/store/transactions/transaction-store.ts';

/** A write that fails that many times with the error, and then succeeds. */
function failing(times: number, error: Error) {
  const written = { tries: 0 };
  const write = async () => {
    if (++written.tries <= times) throw error;
    return 'stored';
  };
  return { written, write };
}

test('the result of a switch is written again until the database stores it', async () => {
  const { written, write } = failing(3, new StoreUnavailable(true));
  expect(await untilStored(write, { againMs: 1 })).toBe('stored');
  expect(written.tries).toBe(4);
});

test('it is given up if the database remains unavailable', async () => {
  const { write } = failing(Number.POSITIVE_INFINITY, new StoreUnavailable(false));
  await expect(untilStored(write, { forMs: 20, againMs: 1 })).rejects.toThrow('STORE_UNAVAILABLE');
});

test('a write that the database refuses is not repeated', async () => {
  const { written, write } = failing(1, new Error('a bug'));
  await expect(untilStored(write, { againMs: 1 })).rejects.toThrow('a bug');
  expect(written.tries).toBe(1);
});
