import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SCOPE_NAMES } from '../../../schemas/scopes.ts';
import { apiKey as apiKeyCommands } from '../../../src/cli/credentials.ts';
import { completeAnswers, faultOf, QUESTIONS } from '../../../src/cli/init/answers.ts';
import { run } from '../../../src/cli/init/init.ts';
import { commands as keyCommands } from '../../../src/cli/keys.ts';
import { demoKeysOf } from '../../../src/tools/simulator/demo-hsm.ts';
import { freshSoftToken, HAS_SOFT_TOKEN } from '../../hsm/pkcs11/soft-token.ts';
import { freePort } from '../../support/free-port.ts';
import { runnerOf } from '../../support/run-commands.ts';
import { runHere, tapwireHere } from '../../support/run-here.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
let folder: string;
let port: number;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tapwire-init-'));
  port = await freePort();
});
afterAll(async () => {
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

const out = () => join(folder, 'tapwire.env');
/** Everything that has no default value, and what keeps the test in its folder. The doctor accepts this cluster in qa only. */
const answers = (): Record<string, string> => ({
  ...{ url: 'https://pay.example.com', proxy: '127.0.0.1', database: testDatabase.url, data: join(folder, 'data') },
  ...{ acquirer: 'First Bank', switch: `simulated:${port}`, merchant: 'Corner Coffee', country: 'ZA', currency: 'ZAR' },
  ...{ mcc: '0742', 'time-zone': 'Africa/Johannesburg', tid: 'TW000001', mid: 'SHOP00000000001' },
  ...{ administrator: 'ops@bank.example', environment: 'qa' },
});
const flagsOf = (given: Record<string, string>) =>
  Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]);
const init = (...words: string[]) => runHere(run, ['--yes', '--out', out(), ...words], {});
const counts = async () => {
  const tables = ['acquirers', 'integrators', 'merchants', 'terminals', 'processors', 'routes', 'users', 'issuer_keys'];
  const counted = [...tables, 'admin_events', 'transactions'].map(
    (table) => `(select count(*)::integer from ${table}) as ${table}`,
  );
  return (await testDatabase.database.query(`select ${counted.join()}`)).rows[0];
};

describe('answers that cannot be used change nothing, and each is named with a value that would do', () => {
  const nothing = { acquirers: 0, users: 0, admin_events: 0 };

  test('every answer that is missing', async () => {
    const { exitCode, stderr } = await init();
    expect(exitCode).toBe(1);
    const named = [...stderr.matchAll(/^ {2}--(\S+): is required(?: unless \S.*)?, such as \S+/gm)].map(
      ([, name]) => name,
    );
    const needed = Object.keys(answers()).filter((name) => !['proxy', 'data', 'switch', 'environment'].includes(name));
    expect(named.sort()).toEqual([...needed, 'tls-cert', 'tls-key'].sort());
    expect(existsSync(out())).toBe(false);
  });

  test.each([
    [{ url: 'http://pay.example.com' }, '--url: (BASE_URL) must begin with https://'],
    [{ url: 'https://pay.example.com/?a=b' }, '--url: must not have a query'],
    [{ environment: 'production' }, '--environment: must be one of "dev", "qa", "prod"'],
    [{ proxy: '10.0.0.300' }, '--proxy: (TRUSTED_PROXIES)'],
    [{ proxy: '' }, '--tls-cert: is required unless --proxy'],
    [{ port: '99999' }, '--port: must be'],
    [{ database: 'postgres://a b/c' }, '--database: must not contain spaces'],
    [{ database: 'mysql://127.0.0.1/x' }, '--database: '],
    [{ database: 'postgres://127.0.0.1:1/x' }, '--database: The database at'],
    [{ database: 'file:/no/such/file' }, 'DATABASE_URL_FILE: cannot be read'],
    [{ keys: 'paper' }, '--keys: must be one of'],
    [{ keys: 'token' }, '--pkcs11-module: is required'],
    [{ processor: 'type-9' }, '--processor: must be one of'],
    [{ processor: 'type-2' }, '--processor: type-2 needs keys of an HSM'],
    [{ switch: '/no/such/switch.json' }, '--switch /no/such/switch.json: There is no such file.'],
    [{ networks: '10.0.0.1' }, '--networks: has no effect'],
    [{ mcc: '74' }, '--mcc: must be four digits, such as 5814'],
    [{ country: 'ZZ' }, '--country: must be a country'],
    [{ currency: 'zar' }, '--currency: must be three capital letters, such as ZAR'],
    [{ 'time-zone': 'Mars/Olympus' }, '--time-zone: must be a time zone'],
    [{ tid: 'TW0000001' }, '--tid: must have at most 8 characters'],
    [{ mid: '4111 1111 1111 1111' }, '--mid: must have at most 15 characters'],
    [{ 'takes-pin': 'maybe' }, '--takes-pin: must be yes or no'],
    [{ administrator: '' }, '--administrator: is required, such as ops@bank.example'],
    [{ merchant: 'a\nb' }, '--merchant: '],
    [{ data: 'a\nDATABASE_URL=x' }, '--data: must not contain spaces'],
  ])('%j', async (wrong, fault) => {
    const { exitCode, stderr } = await init(...flagsOf({ ...answers(), ...wrong }));
    expect(stderr).toContain(fault);
    expect(exitCode).toBe(1);
    expect(existsSync(out())).toBe(false);
    expect(await counts()).toMatchObject(nothing);
  });

  test.each([
    ['a file that does not exist', undefined, 'There is no such file.'],
    ['a list', '- url', 'must contain lines such as'],
    ['an unknown answer', 'urll: https://pay.example.com', 'urll: is not an answer'],
    ['an answer with parts', 'merchant: {name: x}', 'merchant: must be one value'],
    ['no YAML', 'url: [', '--answers'],
    ['a large file', `merchant: ${'x'.repeat(200_000)}`, 'is larger than'],
  ])('%s as the file of answers', async (_, content, fault) => {
    const file = join(folder, 'wrong.yaml');
    rmSync(file, { force: true });
    if (content !== undefined) writeFileSync(file, content);
    const { exitCode, stderr } = await init('--answers', file);
    expect(stderr).toContain(fault);
    expect(exitCode).toBe(1);
  });

  test('each question has an example that would do, and every example is accepted', () => {
    for (const question of QUESTIONS) expect(faultOf(question, question.example), question.name).toBeUndefined();
  });
});

describe('on a terminal', () => {
  test('what is not given is asked until it can be used, and an empty line takes the default value', async () => {
    const lines = ['', '', '', 'pay.example.com', 'https://pay.example.com', '10.0.0.5', 'postgres://db/tapwire'];
    const questions: string[] = [];
    const spy = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { environment: _environment, url: _url, proxy: _proxy, database: _database, ...given } = answers();
    const complete = await completeAnswers(given, { PORT: '9000' }, async (question) => {
      questions.push(question);
      return lines.shift() ?? '';
    });
    const refused = spy.mock.calls.flat();
    spy.mockRestore();
    expect(complete).toMatchObject({ ...given, environment: 'prod', url: 'https://pay.example.com', port: '9000' });
    expect(complete).toMatchObject({ proxy: '10.0.0.5', 'tls-cert': '', database: 'postgres://db/tapwire' });
    expect(questions[2]).toBe('Port to listen on [9000]: ');
    expect(questions.slice(3, 5).map((each) => each.split(' ')[0])).toEqual(['URL', 'URL']);
    expect(refused).toEqual([expect.stringContaining('--url: must be an http or https URL')]);
  });
});

test('an earlier answer is proposed again, without the password of a database', async () => {
  const former = { ...answers(), database: 'postgres://gateway:pass-word-1@db/tapwire' };
  const questions: string[] = [];
  const complete = await completeAnswers({}, {}, async (question) => String(questions.push(question)).slice(9), former);
  expect(complete).toMatchObject(former);
  expect(questions.join('\n')).toContain('[First Bank]');
  expect(questions.join('\n')).not.toContain('pass-word-1');
});

describe('a new installation', () => {
  test('has settings, keys, tenants and an approved tap, and the doctor finds no fault', async () => {
    const { mcc: _, ...flags } = answers();
    // JSON is YAML, and the code keeps its zero.
    writeFileSync(join(folder, 'answers.yaml'), 'mcc: 0742\nurl: https://other.example.com\n');
    const { exitCode, stdout, stderr } = await init('--answers', join(folder, 'answers.yaml'), ...flagsOf(flags));
    expect(exitCode, stdout + stderr).toBe(0);
    expect(stdout).not.toContain('FAULT');
    expect(stdout).toMatch(/processor 1 of acquirer 1: 127\.0\.0\.1:\d+ accepts connections, the gateway is signed on/);
    expect(stdout).toMatch(/^tap {6}Approved {2}ZAR 10\.00 /m);
    expect(stdout).toMatch(/password, shown this once: \S{20}$/m);
    expect(statSync(out()).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'data', 'keys.json')).mode & 0o777).toBe(0o600);
    const text = readFileSync(out(), 'utf8');
    expect(text).toMatch(/^BASE_URL=https:\/\/pay\.example\.com$/m);
    expect(text).toMatch(new RegExp(`^SWITCH_NETWORKS=1=127\\.0\\.0\\.1:${port}$`, 'm'));
    expect(text).toMatch(/^METRICS_TOKEN=\S{32}$/m);
    for (const line of text.split('\n')) expect(line).toMatch(/^$|^#|^[A-Z\d_]+=\S+$/);
    // Each line has its sentence.
    expect(text.match(/^[A-Z].*$/gm)).toHaveLength(text.match(/(?<=^#.*\n)[A-Z].*$/gm)!.length);
    const { rows } = await testDatabase.database.query('select mcc, name from merchants');
    expect(rows).toEqual([{ mcc: '0742', name: 'Corner Coffee' }]);
    const { rows: left } = await testDatabase.database.query('select from issuer_keys where revoked_at is null');
    expect(left).toHaveLength(0);
  });

  test('repeated, it changes nothing', async () => {
    const before = [
      await counts(),
      readFileSync(out(), 'utf8'),
      readFileSync(join(folder, 'data', 'keys.json'), 'utf8'),
    ];
    const { exitCode, stdout } = await init(...flagsOf({ ...answers(), mcc: '5814' }));
    expect(exitCode).toBe(0);
    expect(stdout).not.toMatch(/created|password|^tap/m);
    const after = [
      await counts(),
      readFileSync(out(), 'utf8'),
      readFileSync(join(folder, 'data', 'keys.json'), 'utf8'),
    ];
    expect(after).toEqual(before);
  });

  test('with a processor that has another switch now, no gateway signs on to it and no tap is sent', async () => {
    const stored = await testDatabase.database.query('select config from processors');
    const addresses = [{ host: '127.0.0.1', port: 1 }];
    const set = (config: object) => testDatabase.database.query('update processors set config = $1', [config]);
    await set({ ...stored.rows[0].config, addresses });
    await testDatabase.database.query(`update transactions set disposition = 1`); // the first tap was declined
    const before = await counts();
    const { stdout } = await init(...flagsOf(answers()));
    expect(stdout).toContain('No test tap is sent');
    expect(stdout).not.toMatch(/^tap/m);
    expect(stdout).toContain(
      'FAULT processor 1 of acquirer 1: addresses.0.host: an address that the operator has not given',
    );
    expect(stdout).toContain('add 1=127.0.0.1:1 to SWITCH_NETWORKS in every process');
    expect(await counts()).toEqual(before);
    await set(stored.rows[0].config);
  });

  test('other settings than those of the file are refused', async () => {
    const { exitCode, stderr } = await init(...flagsOf({ ...answers(), url: 'https://other.example.com' }));
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`--url: ${out()} has another BASE_URL; change the line there`);
  });

  test('with transactions and without its keys, new keys are refused', async () => {
    rmSync(join(folder, 'data'), { recursive: true });
    const { exitCode, stderr } = await init(...flagsOf(answers()));
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Restore the file from its backup.');
  });

  test('commands read the file, and say which file they cannot read', async () => {
    const read = vi.spyOn(process, 'loadEnvFile').mockImplementation(() => {
      for (const [, name, value] of readFileSync(out(), 'utf8').matchAll(/^([A-Z\d_]+)=(.*)$/gm))
        vi.stubEnv(name!, value);
    });
    const { stdout } = await tapwireHere(['--env-file', out(), 'config'], {});
    expect(stdout).toMatch(/^TAPWIRE_ENV +qa +environment$/m);
    expect(read).toHaveBeenCalledWith(out());
    read.mockRestore();
    vi.unstubAllEnvs();
    const missing = await tapwireHere(['--env-file', join(folder, 'none.env'), 'config'], {});
    expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('There is no such file.') });
    expect(await tapwireHere(['--env-file'], {})).toMatchObject({ exitCode: 2 });
  });
});

test('a real switch: its addresses, listeners and keys are granted to the acquirer, and no tap is sent', async () => {
  const database = await createTestDatabase();
  try {
    const file = join(folder, 'switch.json');
    const config = {
      ...{
        addresses: [
          { host: '127.0.0.1', port: 1 },
          { host: '10.255.0.9', port: 9101 },
        ],
        acquirerId: '50001',
      },
      ...{ macKeys: [{ number: 1, keyId: 'zone-mac' }], accept: { host: '127.0.0.1', port: 9105, from: ['10.1.0.5'] } },
    };
    writeFileSync(file, JSON.stringify(config));
    const real = { ...answers(), database: database.url, switch: file, data: join(folder, 'real') };
    const env = join(folder, 'real.env');
    const withoutHsm = await runHere(run, ['--yes', '--out', env, ...flagsOf(real)], {});
    expect(withoutHsm).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('--hsm: is required') });
    const keys = join(folder, 'hsm-keys.json');
    writeFileSync(keys, JSON.stringify({ keys: demoKeysOf([config as never]) }));
    const { stdout, stderr } = await runHere(run, ['--yes', '--out', env, ...flagsOf(real)], { HSM_KEYS_FILE: keys });
    expect(existsSync(env), stdout + stderr).toBe(true);
    const text = readFileSync(env, 'utf8');
    expect(text, stdout + stderr).toMatch(/^SWITCH_NETWORKS=1=127\.0\.0\.1:1,1=10\.255\.0\.9:9101$/m);
    expect(text).toMatch(/^SWITCH_LISTENERS=1=127\.0\.0\.1:9105$/m);
    expect(text).toMatch(/^SWITCH_KEYS=1=zone-mac$/m);
    expect(stdout).toMatch(/^created {2}processor of type type-1$/m);
    expect(stdout).not.toMatch(/^tap/m);
    expect((await database.database.query('select from transactions')).rowCount).toBe(0);
  } finally {
    await database.drop();
  }
});

test.skipIf(!HAS_SOFT_TOKEN)('keys in a token: the file only names them, and the tap opens with them', async () => {
  const database = await createTestDatabase();
  const token = freshSoftToken();
  try {
    const inToken = {
      ...{ ...answers(), database: database.url, data: join(folder, 'token'), keys: 'token' },
      ...{ 'pkcs11-module': token.modulePath, 'pkcs11-token': token.label, 'pkcs11-pin-file': token.pinFile },
    };
    const out = join(folder, 'token.env');
    const { exitCode, stdout, stderr } = await runHere(run, ['--yes', '--out', out, ...flagsOf(inToken)], {});
    expect(exitCode, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^tap {6}Approved/m);
    const keys = JSON.parse(readFileSync(join(folder, 'token', 'keys.json'), 'utf8'));
    for (const entry of Object.values<object[]>(keys).flat()) expect(entry).toHaveProperty('tokenKey');
  } finally {
    token.remove();
    await database.drop();
  }
});

describe('what the guided way replaces', () => {
  const apiKey = runnerOf(apiKeyCommands);
  const environment = () => ({ DATABASE_URL: testDatabase.url });

  test('keys create makes the keys of the installation once', async () => {
    const settings = { TAPWIRE_DATA: join(folder, 'alone') };
    const create = () => runHere(runnerOf(keyCommands), ['create'], settings);
    expect(await create()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Keep a copy.') });
    const path = join(folder, 'alone', 'keys.json');
    const before = readFileSync(path, 'utf8');
    expect(await create()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('unchanged') });
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('the operator’s keys are printed once, listed and revoked, with admin events', async () => {
    const { exitCode, stdout } = await runHere(apiKey, ['add', '--operator'], environment());
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^tw_test_[0-9a-f]{16}_[0-9a-f]{64}\n$/);
    const id = stdout.split('_')[2]!;
    const stored = await testDatabase.database.query('select * from api_keys where id = $1', [id]);
    expect(stored.rows).toMatchObject([{ acquirer_id: null, scopes: SCOPE_NAMES }]);
    expect(JSON.stringify(stored.rows)).not.toContain(stdout.trim().split('_')[3]);
    const listed = await runHere(apiKey, ['list', '--operator', '--json'], environment());
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id }]);
    expect(await runHere(apiKey, ['revoke', '--operator', id], environment())).toMatchObject({ exitCode: 0 });
    expect(await runHere(apiKey, ['revoke', '--operator', id], environment())).toMatchObject({ exitCode: 1 });
    const { stdout: after } = await runHere(apiKey, ['list', '--operator'], environment());
    expect(after).toMatch(new RegExp(`^${id} .* revoked$`, 'm'));
    const { rows } = await testDatabase.database.query(
      'select acquirer_id, action, kind from admin_events where subject_id = $1 order by id',
      [id],
    );
    const event = { acquirer_id: 0, kind: 'api key' };
    expect(rows).toEqual([
      { ...event, action: 'add' },
      { ...event, action: 'remove' },
    ]);
  });
});
