import { afterAll, beforeAll, expect, test } from 'vitest';
import { FollowedRows } from '../../../src/store/postgres/followed-rows.ts';
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

test('rows are handed on once, and again whenever one has come, gone or changed, until that is done', async () => {
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
