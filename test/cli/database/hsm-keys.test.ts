import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type2 from '../../../processors/type-2/index.ts';
import { commands } from '../../../src/cli/hsm/hsm.ts';
import { fromHex } from '../../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../../src/codecs/crypto/block-key.ts';
import { headerFor } from '../../../src/codecs/crypto/key-policy.ts';
import { kcv } from '../../../src/codecs/crypto/mac.ts';
import { wrapTr31 } from '../../../src/codecs/crypto/tr31.ts';
import { saveAcquirer } from '../../../src/store/settings/tenants.ts';
import { noteKeyUses } from '../../../src/store/switches/hsm-keys.ts';
import { KEY_USES, TestLmk } from '../../../src/tools/simulator/hsm/test-lmk.ts';
import { fileFor, Opened } from '../../hsm/support.ts';
import { runnerOf } from '../../support/run-commands.ts';
import { runHere } from '../../support/run-here.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const hex = (text: string) => new BlockKey('tdes', fromHex(text));
const TRANSPORT = 'C1D0F8FB4958670DBA40AB1F3752EF0D';
const FIRST = '0123456789ABCDEFFEDCBA9876543210';
const SECOND = '5DB50B454F8389ADCE573BE50861F2BF';
const TRANSPORT_ID = 'acquirer/1/kbpk';

const run = runnerOf(commands);
const opened = new Opened();
let testDatabase: TestDatabase;
let folder: string;
let keysFile: string;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await saveAcquirer(testDatabase.database, 1, 'Acquirer 1');
  folder = mkdtempSync(join(tmpdir(), 'tapwire-hsm-keys-'));
  keysFile = join(folder, 'keys.json');
  const transport = { keyId: TRANSPORT_ID, usage: 'keyBlockProtection', algorithm: 'tdes', key: TRANSPORT };
  writeFileSync(keysFile, JSON.stringify({ keys: [transport] }), { mode: 0o644 });
});
afterAll(async () => {
  await testDatabase.drop();
  await opened.closeAll();
  rmSync(folder, { recursive: true });
});

function hsm(words: string[], environment: NodeJS.ProcessEnv = { HSM_KEYS_FILE: keysFile }) {
  const shared = { DATABASE_URL: testDatabase.url, SWITCH_NETWORKS: '*=127.0.0.1', READER_PIN_KEY: 'readers' };
  return runHere(run, words, { ...shared, ...environment });
}

/** A file with a TR-31 key block of a MAC key under the transport key. */
function blockOf(clear: string): string {
  const transport = hex(TRANSPORT);
  const key = hex(clear);
  const path = join(folder, 'block.txt');
  writeFileSync(path, `${wrapTr31(key, headerFor('mac', key, transport), transport)}\n`);
  return path;
}

const importing = (keyId: string, clear: string, ...more: string[]) =>
  hsm(['import', '--key', keyId, '--usage', 'mac', '--under', TRANSPORT_ID, ...more, blockOf(clear)]);

async function listed(keyId: string) {
  const { stdout } = await hsm(['inventory', '--all', '--json']);
  return (JSON.parse(stdout) as { keyId: string }[]).find((key) => key.keyId === keyId);
}

const eventsOf = async (keyId: string) => {
  const text = `select acquirer_id as "acquirerId", action, before, after from admin_events
    where kind = 'hsm key' and subject_id = $1 order by id`;
  return (await testDatabase.database.query(text, [keyId])).rows;
};

const waitedSinceImport = () =>
  testDatabase.database.query(`update hsm_keys set created_at = now() - interval '1 minute'`);

const configOf = async (id: number) =>
  (await testDatabase.database.query('select config from processors where acquirer_id = 1 and id = $1', [id])).rows[0]
    .config;

describe('a key of a software HSM', () => {
  test('is imported into the file, registered and recorded, and appears nowhere in clear', async () => {
    const { exitCode, output } = await importing('acquirer/1/mac-1', FIRST, '--kcv', '08D7B4', '--due', '2099-01-01');
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining('check value 08D7B4') });
    expect(statSync(keysFile).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(keysFile, 'utf8')).keys.map(({ keyId }: { keyId: string }) => keyId)).toEqual([
      TRANSPORT_ID,
      'acquirer/1/mac-1',
    ]);
    await noteKeyUses(testDatabase.database, ['acquirer/1/mac-1', 'unknown']);
    const today = new Date().toISOString().substring(0, 10);
    expect(await listed('acquirer/1/mac-1')).toMatchObject({
      ...{ owner: 1, usage: 'mac', kcv: '08D7B4', state: 'active', dueOn: '2099-01-01', lastUsedOn: today, usedBy: [] },
    });
    const events = await eventsOf('acquirer/1/mac-1');
    const after = {
      usage: 'mac',
      kcv: '08D7B4',
      dueOn: '2099-01-01',
      origin: 'keyBlock',
      transportKeyId: TRANSPORT_ID,
    };
    expect(events).toEqual([{ acquirerId: 1, action: 'add', before: null, after }]);
    expect(output + JSON.stringify(events)).not.toContain(FIRST);
  });

  test.each([
    ['a wrong check value', 'acquirer/1/wrong', ['--kcv', '000000'], /check value differs/],
    ['an id that is registered', 'acquirer/1/mac-1', [], /is registered; choose another id/],
    ['an unknown acquirer', 'acquirer/9/mac-1', [], /This acquirer does not exist/],
    ['a day in the past', 'acquirer/1/past', ['--due', '2020-01-01'], /--due/],
    ['an id of exchanged keys', 'exchanged-1-1-mac-1', [], /reserved/],
  ])('is refused with %s', async (_what, keyId, more, message) => {
    const { exitCode, stderr } = await importing(keyId, FIRST, ...more);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(message) });
  });

  test('is replaced in every processor by one act, remains usable for the overlap, and is then retired', async () => {
    await importing('acquirer/1/mac-2', SECOND);
    const config = {
      ...type2.exampleConfig,
      addresses: [{ host: '127.0.0.1', port: 9_201 }],
      macKeys: [{ number: 1, keyId: 'acquirer/1/mac-1' }],
      pinKey: undefined,
    };
    await testDatabase.database.query(
      `insert into processors (acquirer_id, id, type, config) values (1, 1, 'type-2', $1), (1, 2, 'type-2', $1)`,
      [config],
    );
    const rotate = (...more: string[]) =>
      hsm(['rotate', '--successor', 'acquirer/1/mac-2', ...more, 'acquirer/1/mac-1']);
    expect((await rotate()).stderr).toContain('gateways may not know it yet');
    await waitedSinceImport();
    expect((await hsm(['retire', 'acquirer/1/mac-1'])).stderr).toContain(
      'is used by processor 1 of acquirer 1 (macKeys.0.keyId), processor 2 of acquirer 1 (macKeys.0.keyId)',
    );
    const rotated = await rotate('--number', '2', '--overlap', '24h');
    expect(rotated).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('processor 2 of acquirer 1') });
    const both = [
      { number: 2, keyId: 'acquirer/1/mac-2' },
      { number: 1, keyId: 'acquirer/1/mac-1' },
    ];
    expect((await configOf(1)).macKeys).toEqual(both);
    expect((await configOf(2)).macKeys).toEqual(both);
    expect(await listed('acquirer/1/mac-1')).toMatchObject({ state: 'replaced', successor: 'acquirer/1/mac-2' });
    expect((await rotate()).stderr).toContain('has replaced it');

    expect((await hsm(['retire', 'acquirer/1/mac-1'])).stderr).toContain('its overlap ends at');
    expect((await hsm(['retire', 'acquirer/1/mac-2'])).stderr).toContain('is used by');
    expect(await hsm(['retire', '--now', 'acquirer/1/mac-1'])).toMatchObject({ exitCode: 0 });
    expect((await configOf(1)).macKeys).toEqual(both.slice(0, 1));
    expect(readFileSync(keysFile, 'utf8')).not.toContain('mac-1');
    expect(await listed('acquirer/1/mac-1')).toMatchObject({ state: 'retired' });
    expect((await hsm(['inventory'])).stdout).not.toContain('mac-1');
    expect((await eventsOf('acquirer/1/mac-1')).map(({ action }) => action)).toEqual(['add', 'change', 'remove']);
    expect(await hsm(['retire', 'acquirer/1/mac-1'])).toMatchObject({ exitCode: 0 });
    expect((await importing('acquirer/1/mac-1', FIRST)).stderr).toContain('was retired; choose another id');
  });

  test('is not replaced by a key of another owner or use, or by one that the HSM has changed', async () => {
    expect((await hsm(['register', TRANSPORT_ID])).stdout).toContain(`check value ${kcv(hex(TRANSPORT))}`);
    await waitedSinceImport();
    const other = await hsm(['rotate', '--successor', TRANSPORT_ID, 'acquirer/1/mac-2']);
    expect(other.stderr).toContain('its owner and usage must be those of');
    await testDatabase.database.query(`update hsm_keys set kcv = '000000' where key_id = $1`, [TRANSPORT_ID]);
    expect((await hsm(['rotate', '--successor', TRANSPORT_ID, 'acquirer/1/mac-2'])).stderr).toContain('another key');
    expect(await listed(TRANSPORT_ID)).toMatchObject({ state: 'different' });
    expect(await hsm(['inventory'])).toMatchObject({ exitCode: 1 });
  });
});

test('a key that a terminal profile names is listed with it, and is not retired', async () => {
  const reader = {
    format: 'dukpt',
    settings: { keySets: [{ keySetId: 'FFFF987654', baseKeyId: 'acquirer/1/bdk', algorithm: 'tdes' }] },
  };
  await testDatabase.database.query(
    `insert into terminal_profiles (acquirer_id, name, overrides, reader) values (1, 'softpos', '[]', $1)`,
    [reader],
  );
  await testDatabase.database.query(
    `insert into hsm_keys (key_id, acquirer_id, usage, kcv, due_on) values ('acquirer/1/bdk', 1, 'dukptBase', '08D7B4', '2099-01-01')`,
  );
  const user = 'terminal profile softpos of acquirer 1';
  expect(await listed('acquirer/1/bdk')).toMatchObject({ usedBy: [{ usedBy: user }] });
  expect((await hsm(['retire', 'acquirer/1/bdk'])).stderr).toContain(`is used by ${user}`);
});

describe('a key of payShield devices', () => {
  const clear = hex(SECOND);

  async function environment(): Promise<{ HSM_MODULE: string }> {
    const { port } = await opened.simulator();
    const path = join(folder, 'payshield.json');
    writeFileSync(path, JSON.stringify(fileFor([port])));
    return { HSM_MODULE: path };
  }

  test('is imported with A6 from a key block, and the file keeps everything else', async () => {
    const devices = await environment();
    const before = JSON.parse(readFileSync(devices.HSM_MODULE, 'utf8'));
    const transport = hex(FIRST);
    const block = join(folder, 'pin.txt');
    writeFileSync(block, wrapTr31(clear, headerFor('pin', clear, transport), transport));
    const words = ['import', '--key', 'acquirer/1/pin-1', '--usage', 'pin', '--under', 'kbpk', block];
    expect(await hsm(words, devices)).toMatchObject({ exitCode: 0 });
    const { keys, ...rest } = JSON.parse(readFileSync(devices.HSM_MODULE, 'utf8'));
    const entry = { keyId: 'acquirer/1/pin-1', usage: 'pin', type: 'ZPK', kcv: kcv(clear) };
    expect({ ...rest, keys }).toMatchObject({ ...before, keys: [...before.keys, entry] });
    expect(keys.at(-1).key).toMatch(/^U[0-9A-F]{32}$/);
  });

  test('a key of payShield devices that was formed at the console is registered after a device has confirmed its check value', async () => {
    const devices = await environment();
    const path = join(folder, 'zmk.txt');
    const words = (value: string) => [
      'import',
      '--key',
      'acquirer/1/zmk',
      '--usage',
      'keyEncryption',
      '--under-lmk',
      '--kcv',
      value,
      path,
    ];
    writeFileSync(path, new TestLmk('variant').protect(clear, KEY_USES.ZMK));
    expect((await hsm(words('000000'), devices)).stderr).toContain('check value differs');
    expect(await hsm(words(kcv(clear)), devices)).toMatchObject({ exitCode: 0 });
    writeFileSync(path, SECOND);
    const notUnderLmk = await hsm([...words(kcv(clear)).with(2, 'acquirer/1/zmk-2')], devices);
    expect(notUnderLmk).toMatchObject({ exitCode: 1 });
    expect(notUnderLmk.output).not.toContain(SECOND);
  });
});
