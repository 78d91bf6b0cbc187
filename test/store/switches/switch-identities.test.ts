import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresSwitchIdentities } from '../../../src/store/switches/processor-reports.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const READ = { host: 'first', port: 1 };
const CHANGED = { port: 2, host: 'second' };

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await testDatabase.database.query(`insert into acquirers (id, name) overriding system value values (1, 'A')`);
  await testDatabase.database.query(
    `insert into processors (acquirer_id, id, type, config) values (1, 1, 'type-1', $1)`,
    [CHANGED],
  );
});
afterAll(() => testDatabase.drop());

async function stored(): Promise<unknown> {
  const { rows } = await testDatabase.database.query('select switch_identity as identity from processors');
  return rows[0].identity;
}

test('the identity of a switch is stored for the configuration that it was read from, and once', async () => {
  const identities = postgresSwitchIdentities(testDatabase.database);
  const adopt = (config: object, name: string) => identities.adopt({ acquirerId: 1, id: 1, config }, { name } as never);
  await adopt(READ, 'of a configuration that was replaced meanwhile');
  expect(await stored()).toBeNull();
  await adopt({ host: 'second', port: 2 }, 'of the stored one');
  await adopt(CHANGED, 'a later one');
  expect(await stored()).toEqual({ name: 'of the stored one' });
});
