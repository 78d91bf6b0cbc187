import { afterAll, beforeAll, expect, test } from 'vitest';
import { FollowedRows, FollowedTable, type RowChanges } from '../../../src/store/postgres/followed-table.ts';
import type { Database } from '../../../src/store/postgres/open-database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  ({ database } = testDatabase);
  await database.query(
    `create table things (id integer primary key, label char(3), marks text[], detail jsonb, fee numeric, is_off boolean)`,
  );
});
afterAll(() => testDatabase.drop());

const THINGS = 'select id, label, marks, detail, fee::float8 as fee, is_off as "isOff" from things order by id desc';

test('rows are passed on once, and again after each insert, delete or update, until that succeeds', async () => {
  const taken: unknown[] = [];
  let isBusy = false;
  const things = new FollowedRows(database, THINGS, (rows) => {
    if (isBusy) throw new Error('busy');
    taken.push(rows);
  });
  const lookTwice = async () => {
    await things.look();
    await things.look();
    return taken.splice(0);
  };
  expect(await lookTwice()).toEqual([[]]);
  await database.query(
    `insert into things values (1, 'ZAR', '{a,"b,c"}', '{"host": [1, null]}', 1.5, true), (2, null, null, null, null, null)`,
  );
  const first = { id: 1, label: 'ZAR', marks: ['a', 'b,c'], detail: { host: [1, null] }, fee: 1.5, isOff: true };
  const second = { id: 2, label: null, marks: null, detail: null, fee: null, isOff: null };
  expect(await lookTwice()).toEqual([[second, first]]);
  await database.query(`update things set is_off = false where id = 1`);
  expect(await lookTwice()).toEqual([[second, { ...first, isOff: false }]]);
  await database.query('delete from things where id = 1');
  isBusy = true;
  await expect(things.look()).rejects.toThrow('busy');
  isBusy = false;
  expect(await lookTwice()).toEqual([[second]]);
});

interface Shelf {
  readonly id: number;
  readonly label: string;
}

test('only the parts of a large table are passed on in which a row was inserted, deleted or updated', async () => {
  await database.query('create table shelves (id integer primary key, label text)');
  await database.query(`insert into shelves select n, 'shelf ' || n from generate_series(1, 5000) n`);
  const taken: RowChanges<Shelf>[] = [];
  let isBusy = false;
  const shelves = new FollowedTable<Shelf>(database, 'select id, label from shelves', 'x.id::text', (changes) => {
    if (isBusy) throw new Error('busy');
    taken.push(changes);
  });
  const lookTwice = async () => {
    await shelves.look();
    await shelves.look();
    expect(taken.length).toBeLessThanOrEqual(1);
    return taken.splice(0)[0];
  };
  expect((await lookTwice())!.present).toHaveLength(5_000);
  expect(await lookTwice()).toBeUndefined();

  await database.query(`update shelves set label = 'moved' where id = 7`);
  const moved = (await lookTwice())!;
  expect(moved.gone).toContainEqual({ id: 7, label: 'shelf 7' });
  expect(moved.present).toContainEqual({ id: 7, label: 'moved' });
  expect(moved.gone).toHaveLength(moved.present.length);
  expect(moved.present.length).toBeLessThan(100);

  await database.query('delete from shelves where id = 7');
  isBusy = true;
  await expect(shelves.look()).rejects.toThrow('busy');
  isBusy = false;
  const removed = (await lookTwice())!;
  expect(removed.gone).toContainEqual({ id: 7, label: 'moved' });
  expect(removed.present.map(({ id }) => id)).not.toContain(7);

  await database.query('delete from shelves');
  const { gone, present } = (await lookTwice())!;
  expect({ gone: gone.length, present }).toEqual({ gone: 4_999, present: [] });
});
