import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Command } from '../../../src/cli/commands.ts';
import { commands as processorCommands } from '../../../src/cli/processor/processor.ts';
import { route as routeCommands } from '../../../src/cli/tenants.ts';
import { saveAcquirer } from '../../../src/store/settings/tenants.ts';
import { postgresProcessorFaults } from '../../../src/store/switches/processor-reports.ts';
import { runnerOf } from '../../support/run-commands.ts';
import { runHere } from '../../support/run-here.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const processor = runnerOf(processorCommands);
const route = runnerOf(routeCommands);

let testDatabase: TestDatabase;
let folder: string;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await saveAcquirer(testDatabase.database, 1, 'Acquirer 1');
  folder = mkdtempSync(join(tmpdir(), 'tapwire-cli-'));
});
afterAll(async () => {
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

const COMMANDS: Readonly<Record<string, Command>> = { processor, route };

/** What the operator assigns to the acquirer: the switch of the examples, and its key. */
const GIVEN = { SWITCH_NETWORKS: '1=127.0.0.1:8583-8584', SWITCH_KEYS: '1=type-2-mac' };

const tapwire = (...[name = '', ...words]: string[]) =>
  runHere(COMMANDS[name]!, words, { DATABASE_URL: testDatabase.url, ...GIVEN });

const addProcessor = (type: string, given: object) =>
  tapwire('processor', 'add', '--acquirer', '1', '--type', type, '--config', file(given));

function file(content: object): string {
  const path = join(folder, `${randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

const config = (port: number) => ({ addresses: [{ host: 'switch.example', port }], acquirerId: '50001' });

describe('a processor and a route', () => {
  test('are added, listed, changed and removed from the command line, with admin events', async () => {
    const added = await addProcessor('type-1', config(9101));
    expect(added).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^1 +type-1 +\S+ +switch\.example:9101$/m),
    });
    expect(added.stdout).toContain('route add --acquirer 1 --processor 1');

    const routed = await tapwire(
      ...['route', 'add', '--acquirer', '1', '--processor', '1', '--priority', '5'],
      ...['--currency', 'ZAR', '--scheme', 'Mastercard'],
    );
    expect(routed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^1 +5 +1 +ZAR +Mastercard +any$/m) });
    expect((await tapwire('route', 'list', '--acquirer', '1')).stdout).toBe(routed.stdout);
    const shown = await tapwire('route', 'show', '--acquirer', '1', '1');
    expect(JSON.parse(shown.stdout)).toMatchObject({ id: 1, priority: 5, scheme: 'Mastercard', xTid: null });

    const changed = await tapwire(...['processor', 'change', '--acquirer', '1', '--config', file(config(9102)), '1']);
    expect(changed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('switch.example:9102') });
    await tapwire(...['processor', 'change', '--acquirer', '1', '--name', 'Main switch', '1']);
    const listed = await tapwire('processor', 'list', '--acquirer', '1', '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'Main switch', config: config(9102) }]);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: 1, type: 'type-1', config: config(9102) }]);

    const needed = await tapwire('processor', 'remove', '--acquirer', '1', '1');
    expect(needed).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Routes refer to the processor') });
    expect(await tapwire('route', 'remove', '--acquirer', '1', '1')).toMatchObject({ exitCode: 0 });
    await testDatabase.database.query(`update routes set removed_at = removed_at - interval '11 s'`);
    expect(await tapwire('processor', 'remove', '--acquirer', '1', '1')).toMatchObject({ exitCode: 0 });

    const { rows } = await testDatabase.database.query('select actor, action, kind from admin_events order by id');
    const actor = expect.stringMatching(/^cli \S+@\S+$/);
    expect(rows).toEqual([
      { actor, action: 'add', kind: 'processor' },
      { actor, action: 'add', kind: 'route' },
      { actor, action: 'change', kind: 'processor' },
      { actor, action: 'change', kind: 'processor' },
      { actor, action: 'remove', kind: 'route' },
      { actor, action: 'remove', kind: 'processor' },
    ]);
  });
});

describe('a fault is named, and exits with 1', () => {
  test.each([
    ['an acquirer that is not there', ['route', 'list', '--acquirer', '7'], 'acquirer does not exist'],
    ['no acquirer', ['route', 'list'], '--acquirer: is required'],
    ['a route that is not there', ['route', 'remove', '--acquirer', '1', '99'], 'no entry with this id'],
    [
      'a processor that is not there',
      ['route', 'add', '--acquirer', '1', '--processor', '99'],
      '--processor: no processor',
    ],
    [
      'a scheme that no card has',
      ['route', 'add', '--acquirer', '1', '--processor', '1', '--scheme', 'X'],
      '--scheme: must be one of',
    ],
    [
      'a file that is not there',
      ['processor', 'add', '--acquirer', '1', '--type', 'type-1', '--config', 'none.json'],
      'There is no such file',
    ],
    ['a type that is not there', ['processor', 'example', 'type-9'], 'expected one of type-1, type-2'],
  ])('%s', async (_what, words, reason) => {
    expect(await tapwire(...words)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(reason) });
  });

  test('a configuration that the type does not accept, setting by setting', async () => {
    const bad = { ...config(9101), iccForm: 'yaml', colour: 'red' };
    const { exitCode, stderr } = await addProcessor('type-1', bad);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('--config iccForm: ');
    expect(stderr).toContain('--config colour: unknown setting');
  });
});

test('a list shows which processors workers cannot open, and why', async () => {
  const added = await addProcessor('type-1', config(9109));
  const id = Number(/^(\d+) +type-1/m.exec(added.stdout)![1]);
  const reason = `processor ${id} of acquirer 1: tls.caFile ca.pem cannot be read (ENOENT)`;
  await postgresProcessorFaults(testDatabase.database).tell([{ acquirerId: 1, processorId: id, reason }]);
  expect((await tapwire('processor', 'list', '--acquirer', '1')).stderr).toContain(
    `a worker cannot open this processor: ${reason}`,
  );
  const listed = JSON.parse((await tapwire('processor', 'list', '--acquirer', '1', '--json')).stdout);
  expect(listed.find((each: { id: number }) => each.id === id)).toMatchObject({ fault: reason });
  await testDatabase.database.query(`update processor_faults set seen_at = now() - interval '1 minute'`);
  expect((await tapwire('processor', 'list', '--acquirer', '1')).stderr).toBe('');
});

test.each([
  ['/etc/passwd', 'a name below TLS_FILES_DIR'],
  ['../keys.json', 'must not leave TLS_FILES_DIR'],
])('a TLS file named %s is refused', async (caFile, reason) => {
  const added = await addProcessor('type-1', { ...config(9110), tls: { caFile } });
  expect(added).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(reason) });
});

test('a processor that reaches what is not its acquirer’s is refused, with each setting named', async () => {
  const addresses = [{ host: '127.0.0.1', port: 5432 }];
  const config = { addresses, acquirerId: '50001', pinKey: { keyId: 'acquirer/2/pin', format: 0 } };
  const { exitCode, stderr } = await addProcessor('type-1', config);
  expect(exitCode).toBe(1);
  expect(stderr).toContain('--config addresses.0.host: an address that the operator has not given');
  expect(stderr).toContain('--config pinKey.keyId: a key that is not of this acquirer');
  expect(stderr).toContain('SWITCH_NETWORKS: add 1=127.0.0.1:5432 in every process');
  // A key that names another acquirer cannot be granted.
  expect(stderr).not.toContain('SWITCH_KEYS: add');
});

test('the example of a type is a configuration to start from', async () => {
  const { stdout } = await tapwire('processor', 'example', 'type-2');
  expect(await addProcessor('type-2', JSON.parse(stdout))).toMatchObject({ exitCode: 0 });
});
