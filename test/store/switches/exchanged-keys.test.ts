import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { postgresExchangedKeys } from '../../../src/store/switches/exchanged-keys.ts';
import type { ExchangedKey } from '../../../src/switching/switches/ports.ts';
import { eventually } from '../../support/eventually.ts';
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
const keep = (key: ExchangedKey) => kept().keep(where, key);
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

test('a key that was never acknowledged remains until a later one is, and is not announced again', async () => {
  const [one, other] = [keyOf(1), keyOf(2)];
  await keep(one);
  await letPass(3_600);
  await keep(other);
  expect(await ends()).toEqual([
    ['key-2', false],
    ['key-1', false],
  ]);
  expect(await keep({ ...one, keyId: 'again' })).toBe('replayed');
  await acknowledge(other);
  expect(await ends()).toEqual([
    ['key-2', false],
    ['key-1', true],
  ]);
});

test('a refused key is not taken later, and a key that another process has taken is not refused', async () => {
  const [one, other] = [keyOf(1), keyOf(2)];
  expect(await kept().refuse(where, one)).toBe(true);
  expect(await keep(one)).toBe('replayed');
  await keep(other);
  expect(await kept().refuse(where, other)).toBe(false);
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

test('a key whose process died before the commit of its record is taken when it is repeated, and refused once it has retired', async () => {
  const [first, lost, next] = [keyOf(1), keyOf(2), keyOf(3)];
  await keep(first);
  await acknowledge(first);
  const { database } = testDatabase;
  const lock = await database.connect();
  try {
    await lock.query('begin');
    await lock.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `exchanged keys ${where.acquirerId} ${where.processorId} pin`,
    ]);
    const keeping = keep(lost);
    const waiting = `select pid from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
    const pid = await eventually(async () => {
      const { rows } = await database.query<{ pid: number }>(waiting);
      expect(rows).toHaveLength(1);
      return rows[0]!.pid;
    });
    await Promise.all([expect(keeping).rejects.toThrow(), database.query('select pg_terminate_backend($1)', [pid])]);
    await lock.query('rollback');
  } finally {
    lock.release();
  }
  expect(await ends()).toEqual([['key-1', false]]);
  const repeated = { ...lost, keyId: 'repeated' };
  expect(await keep(repeated)).toEqual({ keyId: 'repeated' });
  await acknowledge(repeated);
  await letPass(6);
  await keep(next);
  await acknowledge(next);
  expect(await keep({ ...lost, keyId: 'replayed' })).toBe('replayed');
});
