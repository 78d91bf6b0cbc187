import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faultsOf } from './migration-faults.ts';
import { ROOT } from './source-files.ts';

const FOLDER = join(ROOT, 'src/store/postgres/migrations');

describe('a migration makes no tap wait', () => {
  test.each(readdirSync(FOLDER))('%s', (name) => {
    expect(faultsOf(readFileSync(join(FOLDER, name), 'utf8'))).toEqual([]);
  });

  test.each([
    ['create index kept_by_key on kept (key);', 'kept: create the index concurrently'],
    ['create unique index if not exists kept_by_key on kept (key);', 'kept: create the index concurrently'],
    ['create index on only kept using brin (key);', 'kept: create the index concurrently'],
    ['drop index kept_by_key;', 'drop the index concurrently'],
    ['reindex table kept;', 'reindex concurrently'],
    ['alter table kept add check (key > 0);', 'kept: add the constraint not valid, then validate it'],
    [
      'alter table kept add column x integer,\n  add constraint c foreign key (x) references others;',
      'kept: add the constraint not valid, then validate it',
    ],
    ['alter table kept add primary key (key);', 'kept: add the key using an index'],
    ['alter table kept alter column key type bigint;', 'kept: a table must not be written again'],
    ['alter table kept alter key set not null;', 'kept: add a validated check before set not null'],
    [
      'alter table kept add column y integer generated always as (x + 1) stored;',
      'kept: a table must not be written again',
    ],
    [
      'alter table kept add column at timestamptz default clock_timestamp();',
      'kept: a table must not be written again',
    ],
    ['update kept set key = 1;', 'kept: change rows in batches, outside of migrations'],
    ['create index concurrently kept_by_key on kept (key);', 'write -- Statement by statement in the first line'],
  ])('%s is refused', (sql, fault) => {
    expect(faultsOf(`-- Why.\n${sql}\n`)).toEqual([fault]);
  });

  test.each([
    'create table made (key integer primary key);\ncreate index made_by_key on made (key);\nalter table made add check (key > 0);',
    'alter table kept add column x integer not null default 0;',
    'alter table kept add constraint c check (key > 0) not valid;',
    'alter table kept alter column at set default clock_timestamp();',
    '-- create index on kept (key);\nalter table kept set (fillfactor = 50);',
  ])('%s is accepted', (sql) => {
    expect(faultsOf(`${sql}\n`)).toEqual([]);
  });

  test('an index that is created concurrently is accepted', () => {
    const sql = 'create unique index concurrently if not exists kept_by_key on kept (key);';
    const text = `-- Statement by statement\n\n${sql}\n\nalter table kept add primary key using index kept_by_key;\n`;
    expect(faultsOf(text)).toEqual([]);
    expect(faultsOf(text.replace(' if not exists', ''))).toEqual([
      'write if not exists, because statements are repeated',
    ]);
  });
});
