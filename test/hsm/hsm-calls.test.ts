import { expect, test } from 'vitest';
import { CryptoError, HsmUnavailable } from '../../src/basics/errors.ts';
import { HsmCalls } from '../../src/switching/hsm/hsm-calls.ts';

function callsOf(purpose: ConstructorParameters<typeof HsmCalls>[0]['purpose'], limitMs: number) {
  const lines: object[] = [];
  const log = { warn: (fields: object) => void lines.push(fields) };
  const clock = { monotonicMs: () => 0 };
  return { lines, calls: new HsmCalls({ owner: { acquirerId: 1, processorId: 2 }, purpose, clock, log, limitMs }) };
}

test('a call that the HSM does not finish in time fails by name, and the next one is made', async () => {
  const { lines, calls } = callsOf('PIN', 20);
  const { promise, reject } = Promise.withResolvers<string>();
  await expect(calls.run(() => promise)).rejects.toThrow(HsmUnavailable);
  expect(lines).toEqual([{ acquirerId: 1, processorId: 2, purpose: 'PIN', code: 'TIMEOUT', suppressed: 0 }]);
  reject(new Error('too late to matter'));
  expect(await calls.run(async () => 'next')).toBe('next');
  expect(calls.failed).toBe(1);
});

test.each([
  ['PIN', 256],
  ['MAC', 4_096],
] as const)('more %s calls at once than %i are refused without the HSM, until others have ended', async (purpose, most) => {
  const { lines, calls } = callsOf(purpose, 60_000);
  const held: PromiseWithResolvers<number>[] = [];
  const hold = () => {
    held.push(Promise.withResolvers());
    return held.at(-1)!.promise;
  };
  const first = Array.from({ length: most }, () => calls.run(hold));
  await expect(calls.run(hold)).rejects.toThrow(HsmUnavailable);
  expect(lines).toMatchObject([{ purpose, code: 'BUSY' }]);
  expect(held).toHaveLength(most);
  for (const { resolve } of held) resolve(1);
  await Promise.all(first);
  expect(await calls.run(async () => 'again')).toBe('again');
});

test('calls of a module that never ends them are limited, until it ends some', async () => {
  const { lines, calls } = callsOf('PIN', 1);
  const held: PromiseWithResolvers<number>[] = [];
  const hold = () => {
    held.push(Promise.withResolvers());
    return held.at(-1)!.promise;
  };
  const most = 4 * 256;
  while (held.length < most) await Promise.allSettled(Array.from({ length: 256 }, () => calls.run(hold)));
  await expect(calls.run(hold)).rejects.toThrow(HsmUnavailable);
  expect(held).toHaveLength(most);
  expect(lines.length).toBeGreaterThan(0);
  held[0]!.resolve(1);
  await expect.poll(() => calls.run(async () => 'again').catch(() => 'busy')).toBe('again');
});

test('a module that is unavailable or lacks the key is logged and counted, and the refusal passes unchanged', async () => {
  const { lines, calls } = callsOf('MAC', 60_000);
  const failWith = (error: Error) =>
    calls.run(
      async () => {
        throw error;
      },
      { keyId: 'acquirer/1/mac' },
    );
  await expect(failWith(new HsmUnavailable())).rejects.toThrow(HsmUnavailable);
  expect(lines).toMatchObject([{ code: 'UNAVAILABLE' }]);
  await expect(failWith(new CryptoError('KEY_UNKNOWN'))).rejects.toThrow('KEY_UNKNOWN');
  expect(calls.failed).toBe(2);
  await expect(failWith(new CryptoError('PIN_BLOCK'))).rejects.toThrow('PIN_BLOCK');
  expect(calls.failed).toBe(2); // the fault of one PIN, not of the key
});

/** Calls that never end, and those that the HSM received. */
function holdCalls() {
  const held: PromiseWithResolvers<string>[] = [];
  const hold = () => {
    held.push(Promise.withResolvers());
    return held.at(-1)!.promise;
  };
  return { held, hold };
}

test('calls that acquirers share: one whose calls do not end is refused at half of them, and delays no other', async () => {
  const { lines, calls } = callsOf('card data', 60_000);
  const { held, hold } = holdCalls();
  const first = Array.from({ length: 512 }, () => calls.run(hold, { acquirerId: 1 }));
  await expect(calls.run(hold, { acquirerId: 1 })).rejects.toThrow(HsmUnavailable);
  expect(lines).toMatchObject([{ acquirerId: 1, purpose: 'card data', code: 'BUSY' }]);
  expect(held).toHaveLength(512);
  const second = Array.from({ length: 256 }, () => calls.run(hold, { acquirerId: 2 }));
  await expect(calls.run(hold, { acquirerId: 2 })).rejects.toThrow(HsmUnavailable);
  expect(await calls.run(async () => 'third', { acquirerId: 3 })).toBe('third');
  for (const { resolve } of held) resolve('late');
  await Promise.all([...first, ...second]);
  expect(await calls.run(async () => 'again', { acquirerId: 1 })).toBe('again');
});

test('calls that were given up and do not end are limited for each acquirer, too', async () => {
  const { calls } = callsOf('card data', 1);
  const { held, hold } = holdCalls();
  const most = (4 * 1_024) / 2;
  while (held.length < most)
    await Promise.allSettled(Array.from({ length: 256 }, () => calls.run(hold, { acquirerId: 1 })));
  await expect(calls.run(hold, { acquirerId: 1 })).rejects.toThrow(HsmUnavailable);
  expect(held).toHaveLength(most);
  expect(await calls.run(async () => 'other', { acquirerId: 2 })).toBe('other');
});
