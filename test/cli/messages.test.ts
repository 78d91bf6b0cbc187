import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { runTapwire } from '../../src/cli/commands.ts';
import { writeLoadProfile } from '../../src/tools/load/load-profile.ts';
import { runHere } from '../support/run-here.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-messages-'));
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'not.json'), '{"pan": 4111');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const issuer = { iss: 'i', kid: 'k', audience: 'a', algorithm: 'ES256', privateKey: '', publicKey: '' } as const;
  const merchant = { id: '1', name: 'n', mcc: '5814', xTid: 't', user: 'u' };
  writeLoadProfile(join(folder, 'load.json'), { url: 'http://127.0.0.1:1', issuer, merchants: [merchant] });
});
afterAll(() => rmSync(folder, { recursive: true }));

const tapwire = (line: string) =>
  runHere((args) => runTapwire(COMMANDS, args), line.split(' '), {
    TAPWIRE_DATA: folder,
    DATABASE_URL: 'postgres://user:s3cret@127.0.0.1:1/none',
  });

const at = (name: string) => join(folder, name);

test.each([
  ['tap --amount abc', 1, '--amount abc: expected an amount such as 10.00'],
  ['tap --amount 1.005', 1, '--amount 1.005: ZAR has 2 decimals'],
  ['tap --amount 10.00 --currency JPY', 1, '--amount 10.00: JPY has no decimals'],
  ['tap --amount 9999999999999', 1, '--amount 9999999999999: an amount has at most 12 digits'],
  ['tap --amount 0', 1, '--amount 0: expected an amount greater than zero'],
  ['tap --amount 10 --currency XXY', 1, '--currency XXY: expected a currency code of ISO 4217, such as ZAR'],
  ['link --amount 10,00', 1, '--amount 10,00: expected an amount such as 10.00'],
  ['tap --amount 10 --card dinersclub', 2, '--card dinersclub: expected one of visa, '],
  ['demo --seed x', 1, '--seed x: expected a whole number'],
  ['demo --behaviour x', 1, '--behaviour x: expected correct, faulty or arbitrary'],
  ['simulate --latency x', 1, '--latency x: expected a form such as 8ms'],
  ['simulate --drop 5', 1, '--drop 5: expected a share such as 0.1% or 0.001'],
  ['simulate --drop 60% --late 60%', 1, 'The shares of the faults exceed 100%'],
  ['decode --spec FOLDER AA', 1, '--spec FOLDER: It is a folder, expected a file.'],
  ['decode --spec type-1 FOLDER', 1, 'FOLDER: It is a folder, expected a file.'],
  ['encode --spec type-1 FOLDER', 1, 'FOLDER: It is a folder, expected a file.'],
  ['encode --spec type-1 nowhere.json', 1, 'nowhere.json: There is no such file.'],
  ['encode --spec type-1 BADJSON', 1, 'BADJSON: It is not JSON (line 1 column 13).'],
  ['diff --spec type-1 aa bb', 1, 'One of the messages does not decode: field mti at byte 0: the input ends inside'],
  ['decode --spec type-1 aa', 1, 'Decoding stopped here: field mti at byte 0: the input ends inside the field'],
  ['tlv FOLDER', 1, 'FOLDER: It is a folder, expected a file.'],
  ['simulate --config type-1=FOLDER', 1, '--config FOLDER: It is a folder, expected a file.'],
  ['load compare nowhere.json FOLDER', 2, 'nowhere.json: There is no such file.'],
  [
    'jobs',
    1,
    'The database at postgres://user:***@127.0.0.1:1/none does not respond: Nothing accepts connections there.',
  ],
  ['jobs --database postgres://x.invalid/y', 1, 'postgres://x.invalid/y does not respond: The host name is unknown.'],
  ['jobs --database foo', 1, 'The database URL is invalid. Expected postgres://USER:PASSWORD@HOST/NAME.'],
  ['cell add --name a --url x --database foo', 1, 'The database URL of cell a is invalid.'],
  ['cell add', 1, '--name: expected the name of the new cell'],
  ['webhooks listen --forward-to x', 2, '--forward-to x: expected an http or https URL'],
  [
    'profile --out /nowhere/x --merchant 1 --terminal t --user u --issuer i --kid k --private-key KEY',
    1,
    '/nowhere/x: There is no such f',
  ],
  ['load --json FOLDER --profile LOADPROFILE', 2, '--json FOLDER: It is a folder, expected a file.'],
  ['verify-ledger --ledger x', 1, '--ledger x: expected a URL such as'],
  ['simulate --config type-1=BADJSON', 1, '--config BADJSON: It is not JSON'],
])('tapwire %s explains what is wrong without internal codes', async (line, exitCode, expected) => {
  const named = (text: string) =>
    text
      .replaceAll('FOLDER', at('folder'))
      .replaceAll('BADJSON', at('not.json'))
      .replaceAll('LOADPROFILE', at('load.json'))
      .replaceAll('KEY', at('key.pem'));
  const ended = await tapwire(named(line));
  expect(ended).toMatchObject({ exitCode, stdout: '' });
  expect(ended.stderr).toContain(named(expected));
  expect(ended.stderr).not.toMatch(/\b[A-Z]+_[A-Z_]+:|\bE[A-Z]{4,}\b|NaN|getaddrinfo|s3cret|4111|\n +at /);
});

describe('on another Node than it needs, the program', () => {
  const launcher = fileURLToPath(new URL('../../src/cli/tapwire.mjs', import.meta.url));
  const runOn20 = (path: string) =>
    spawnSync(
      process.execPath,
      [
        '-e',
        `Object.defineProperty(process.versions, 'node', { value: '20.1.0' });
         process.argv.splice(1, 0, '${path}'); import('${path}');`,
        'tlv',
        '--help',
      ],
      { encoding: 'utf8' },
    );

  test('runs on the Node that was installed with it', () => {
    expect(runOn20(launcher)).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('usage: tapwire tlv'),
    });
  });

  test('names the one that it needs if none was installed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-launcher-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const alone = join(folder, 'tapwire.mjs');
    copyFileSync(launcher, alone);
    const { status, stderr } = runOn20(alone);
    expect(status).toBe(1);
    expect(stderr).toBe('tapwire: Tapwire runs on Node 24 or newer; this is Node 20.1.0.\n');
  });
});
