import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StartError } from '../../../src/basics/errors.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { openDatabase, urlWithoutSecrets } from '../../../src/store/postgres/open-database.ts';
import type { Cell } from '../../../src/tools/cells/cell-list.ts';
import { openCellSession } from '../../../src/tools/cells/cell-session.ts';
import { tapwireHere } from '../../support/run-here.ts';
import { createTestDatabase, urlOfMissingDatabase } from '../../support/test-database.ts';

/** No server listens on port 1, and a refusal is immediate. */
const NOWHERE = 'postgres://tapwire:hunter2@127.0.0.1:1/tapwire';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-open-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a database without a response', () => {
  test('is an error that names it without its password, and the reason', async () => {
    const error = await openDatabase(NOWHERE).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StartError);
    const { code, message } = error as StartError;
    expect(code).toBe('NO_DATABASE');
    expect(message).toMatch(
      /The database at postgres:\/\/tapwire:\*\*\*@127\.0\.0\.1:1\/tapwire does not respond: Nothing accepts connections there/,
    );
    expect(message).not.toContain('hunter2');
  });

  test.each(['start', 'migrate'])('ends `tapwire %s` with one clear line and exit code 1', async (command) => {
    const environment = { DATABASE_URL: NOWHERE, TAPWIRE_DATA: folder, PORT: '0' };
    const { exitCode, output } = await tapwireHere([command], environment);
    expect(exitCode).toBe(1);
    expect(output).toMatch(/^tapwire: The database at \S+ does not respond: .+\n$/);
    expect(output).not.toContain('hunter2');
  });

  test('is an error for an invalid URL, which is not repeated', async () => {
    const error = await openDatabase('not a URL with hunter2').catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'NO_DATABASE' });
    expect((error as StartError).message).not.toContain('hunter2');
  });
});

test.each([
  ['postgres://user:secret@host/name', 'postgres://user:***@host/name'],
  ['postgres://user@host/name', 'postgres://user@host/name'],
  ['postgresql://host/name?user=u&password=secret', 'postgresql://host/name?user=u&password=***'],
  [
    'postgres://u@host/name?sslpassword=secret&sslmode=disable',
    'postgres://u@host/name?sslpassword=***&sslmode=disable',
  ],
  ['postgres://%2Frun%2Fpostgresql/name', 'postgres://%2Frun%2Fpostgresql/name'],
  ['user:secret@host/name', '(not a URL)'],
  ['nonsense', '(not a URL)'],
])('%s is shown as %s', (url, shown) => {
  expect(urlWithoutSecrets(url)).toBe(shown);
});

test('a session compiles no statements, and has the formats that this process reads, with any settings of the database', async () => {
  const { url, database, drop } = await createTestDatabase();
  await database.query(`do $$ begin
    execute format('alter database %I set datestyle = ''German''', current_database());
    execute format('alter database %I set intervalstyle = ''sql_standard''', current_database());
    execute format('alter database %I set timezone = ''Pacific/Kiritimati''', current_database());
  end $$`);
  const other = await openDatabase(url, { maxConnections: 1 });
  const cell = await openCellSession({ name: 'one', databaseUrl: url } as Cell);
  try {
    const formats = [{ date: 'ISO, MDY', interval: 'postgres', zone: 'UTC' }];
    expect(await cell.query(FORMATS)).toEqual(formats);
    expect((await other.query(FORMATS)).rows).toEqual(formats);
    // The plans of batches look expensive, and are not.
    expect((await other.query('show jit')).rows).toEqual([{ jit: 'off' }]);
  } finally {
    await cell.close();
    await other.end();
    await drop();
  }
});

const FORMATS = `select current_setting('datestyle') as date, current_setting('intervalstyle') as interval, current_setting('timezone') as zone`;

test('a missing database is created, and migrated by any number of processes at once', async () => {
  const url = urlOfMissingDatabase();
  const databases = await Promise.all(Array.from({ length: 3 }, () => openDatabase(url, { maxConnections: 2 })));
  try {
    await Promise.all(databases.map((each) => migrate(each)));
    await Promise.all(databases.map((each) => migrate(each)));
    const { rows } = await databases[0]!.query('select name from migrations order by name');
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    expect((await databases[1]!.query('select from transactions')).rowCount).toBe(0);
  } finally {
    for (const database of databases) await database.end();
  }
});

test('the audit trail can be extended, and neither changed nor shortened', async () => {
  const database = await openDatabase(urlOfMissingDatabase(), { maxConnections: 2 });
  try {
    await migrate(database);
    const event = [1, '6f1c0a52-7f0e-4a57-9f57-0d9a2b1c8e11', 1, '[]'];
    await database.query(
      'insert into transaction_events (acquirer_id, transaction_id, attempt, moves) values ($1, $2, $3, $4)',
      event,
    );
    for (const change of ['update transaction_events set attempt = 2', 'delete from transaction_events']) {
      await expect(database.query(change)).rejects.toThrow('append-only');
    }
  } finally {
    await database.end();
  }
});
