import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { StartError } from '../../../src/errors.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { openDatabase, withoutPassword } from '../../../src/store/postgres/open-database.ts';
import { TapwireProcess } from '../../support/tapwire-process.ts';
import { urlOfMissingDatabase } from '../../support/test-database.ts';

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
      /The database at postgres:\/\/tapwire:\*\*\*@127\.0\.0\.1:1\/tapwire does not answer: Nothing accepts connections there/,
    );
    expect(message).not.toContain('hunter2');
  });

  test.each(['start', 'migrate'])('ends `tapwire %s` with one clear line and exit code 1', async (command) => {
    const environment = { DATABASE_URL: NOWHERE, TAPWIRE_DATA: folder, PORT: '0' };
    const { exitCode, output } = await TapwireProcess.run([command], { environment });
    expect(exitCode).toBe(1);
    expect(output).toMatch(/^tapwire: The database at \S+ does not answer: .+\n$/);
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
  ['nonsense', '(not a URL)'],
])('%s is shown as %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown);
});

test('no session compiles its statements: the plans of batches look expensive, and are not', async () => {
  const database = await openDatabase(inject('templateUrl').replace(/\/tapwire\?/, '/postgres?'), {
    maxConnections: 1,
  });
  try {
    const { rows } = await database.query('show jit');
    expect(rows).toEqual([{ jit: 'off' }]);
  } finally {
    await database.end();
  }
});

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
