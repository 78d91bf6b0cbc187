import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { postgresExchangedKeys } from '../../../src/store/switches/exchanged-keys.ts';
import type { ExchangedKey } from '../../../src/switching/switches/ports.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const OVERLAP = { overlapSeconds: 60, configured: ['first-pin'] };

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

let where = { acquirerId: 1, processorId: 0 };
beforeEach(() => {
  where = { ...where, processorId: where.processorId + 1 };
});

function keyOf(number: number, kcv = `${number}`.padStart(6, 'A')): ExchangedKey {
  const form = 'cryptogram' as const;
  return { keyId: `key-${number}`, use: 'pin', number, transportKeyId: 'zmk', form, wrapped: '00', kcv };
}

const kept = () => postgresExchangedKeys(testDatabase.database);
const keep = (key: ExchangedKey) => kept().keep(where, key, OVERLAP.overlapSeconds);
const acknowledge = (key: ExchangedKey) => kept().acknowledge(where, key, OVERLAP);
const ends = async () =>
  (await kept().read(where)).live.map(({ keyId, endsInMs }) => [keyId, endsInMs !== null] as const);

/** Everything that is stored happened this much earlier. */
async function letPass(seconds: number): Promise<void> {
  const by = `interval '${seconds} s'`;
  await testDatabase.database.query(`update exchanged_keys set announced_at = announced_at - ${by},
    acknowledged_at = acknowledged_at - ${by}, retires_at = retires_at - ${by}`);
}

test.each([
  ['in their order', [0, 1]],
  ['in the other order', [1, 0]],
])('two keys that are announced at one moment and acknowledged %s stay valid until the next one', async (_, order) => {
  const [one, other, next] = [keyOf(1), keyOf(2), keyOf(3)];
  await Promise.all([keep(one), keep(other)]);
  await Promise.all(order.map((at) => acknowledge([one, other][at]!)));
  expect(new Map(await ends())).toEqual(
    new Map([
      ['key-1', false],
      ['key-2', false],
    ]),
  );
  await letPass(6);
  await keep(next);
  await acknowledge(next);
  expect(await ends()).toEqual([['key-3', false], expect.arrayContaining([true]), expect.arrayContaining([true])]);
});

test('a key that was never acknowledged ends after the next announcement, and may still be acknowledged', async () => {
  const [one, other] = [keyOf(1), keyOf(2)];
  await keep(one);
  await keep(other);
  expect(new Map(await ends()).get('key-1')).toBe(true);
  await acknowledge(one);
  expect(new Map(await ends()).get('key-1')).toBe(false);
});

test('a key that the switch has announced before is refused after another has replaced it, also after a purge', async () => {
  const [one, other] = [keyOf(1), keyOf(2)];
  await keep(one);
  await acknowledge(one);
  expect(await keep({ ...one, keyId: 'repeated' })).toEqual({ keyId: 'key-1' });
  await letPass(6);
  await keep(other);
  await acknowledge(other);
  const again = { ...one, keyId: 'again', number: 9 };
  expect(await keep(again)).toBe('replayed');
  await testDatabase.database.query('delete from exchanged_keys where key_id = $1', ['key-1']);
  expect(await keep(again)).toBe('replayed');
  expect(await keep({ ...again, kcv: one.kcv.toLowerCase() })).toBe('replayed');
});

test('a withdrawn key is not used, and its announcement is not taken again', async () => {
  const key = keyOf(1);
  await keep(key);
  await kept().withdraw(where, key.keyId, 60);
  expect(await ends()).toEqual([['key-1', true]]);
  expect(await keep({ ...key, keyId: 'again' })).toBe('replayed');
});

test('the first acknowledged key sets the end of the configured one, and no later key moves it', async () => {
  await keep(keyOf(1));
  expect((await kept().read(where)).replaced).toEqual([]);
  await acknowledge(keyOf(1));
  const [first] = (await kept().read(where)).replaced;
  expect(first).toMatchObject({ use: 'pin', keyId: 'first-pin' });
  await testDatabase.database.query(`update replaced_keys set retires_at = retires_at - interval '1 hour'`);
  await keep(keyOf(2));
  await acknowledge(keyOf(2));
  expect((await kept().read(where)).replaced[0]!.endsInMs).toBeLessThan(0);
});
