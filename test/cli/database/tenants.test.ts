import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run as audit } from '../../../src/cli/audit.ts';
import type { Command } from '../../../src/cli/commands.ts';
import {
  apiKey as apiKeyCommands,
  issuerKey as issuerKeyCommands,
  user as userCommands,
} from '../../../src/cli/credentials.ts';
import { run as profile } from '../../../src/cli/profile.ts';
import {
  acquirer as acquirerCommands,
  blockedDevice as blockedDeviceCommands,
  integrator as integratorCommands,
  merchant as merchantCommands,
  terminal as terminalCommands,
} from '../../../src/cli/tenants.ts';
import { readProfile } from '../../../src/tools/phone/profile.ts';
import { runnerOf } from '../../support/run-commands.ts';
import { runHere } from '../../support/run-here.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const acquirer = runnerOf(acquirerCommands);
const apiKey = runnerOf(apiKeyCommands);
const blockedDevice = runnerOf(blockedDeviceCommands);
const integrator = runnerOf(integratorCommands);
const issuerKey = runnerOf(issuerKeyCommands);
const merchant = runnerOf(merchantCommands);
const terminal = runnerOf(terminalCommands);
const user = runnerOf(userCommands);

let testDatabase: TestDatabase;
let folder: string;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tapwire-tenants-'));
});
afterAll(async () => {
  await testDatabase.drop();
  rmSync(folder, { recursive: true });
});

const COMMANDS: Readonly<Record<string, Command>> = {
  ...{ acquirer, audit, integrator, merchant, profile, terminal, user },
  ...{ 'api-key': apiKey, 'blocked-device': blockedDevice, 'issuer-key': issuerKey },
};

/** Runs a command line; quoted text is one word. */
function tapwire(line: string) {
  const [name = '', ...words] = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!);
  return runHere(COMMANDS[name]!, words, { DATABASE_URL: testDatabase.url });
}

async function json<T>(line: string): Promise<T> {
  const { exitCode, stdout, stderr } = await tapwire(line);
  expect(exitCode, stderr).toBe(0);
  return JSON.parse(stdout) as T;
}

const MERCHANT = `--mcc 5814 --country ZA --currency ZAR --time-zone Africa/Johannesburg`;

describe('from an empty database', () => {
  test('tenants are added, listed, changed, blocked and removed', async () => {
    expect(await json(`acquirer add --name 'First Bank' --json`)).toMatchObject({ id: 1, name: 'First Bank' });
    await json(`acquirer add --name 'Second Bank' --json`);
    expect((await tapwire('acquirer change --name Bank 2')).stdout).toMatch(/^2 +Bank +no$/m);
    expect((await tapwire('acquirer block 2')).stdout).toMatch(/^2 +Bank +yes$/m);
    expect(await json('acquirer list --json')).toMatchObject([{ blocked: false }, { id: 2, blocked: true }]);

    expect(await json('integrator add --acquirer 1 --name Soft --json')).toMatchObject({ id: 1 });
    const added = await json(
      `merchant add --acquirer 1 --id 1001 --integrator 1 --name Coffee ${MERCHANT} --fee 0.5 --json`,
    );
    expect(added).toMatchObject({ id: '1001', integratorId: 1, fee: 0.5, city: '', settings: {} });
    await tapwire(`merchant change --acquirer 1 --city Durban --settings '{"till":[1]}' 1001`);
    await tapwire('merchant block --acquirer 1 1001');
    const changed = await json('merchant show --acquirer 1 1001');
    expect(changed).toMatchObject({ city: 'Durban', settings: { till: [1] }, blocked: true, name: 'Coffee' });
    await tapwire('merchant unblock --acquirer 1 1001');

    expect(await json('terminal add --acquirer 1 --x-tid T1 --tid A --mid B --takes-pin no --json')).toMatchObject({
      xTid: 'T1',
      canTakePin: false,
    });
    expect((await tapwire('terminal list --acquirer 1')).stdout).toMatch(/^T1 +A +B +no +none/m);
    expect((await tapwire('blocked-device add --acquirer 1 --device lost')).exitCode).toBe(0);
    expect((await tapwire('blocked-device remove --acquirer 1 lost')).stdout).toContain('removed');
    expect((await tapwire('blocked-device list --acquirer 1')).stdout.trim().split('\n')).toHaveLength(1);
  });

  test('credentials are created, each printed once and alone, and revoked', async () => {
    const made = await tapwire('api-key add --acquirer 1 --merchant 1001 --name till --scope transactions:read');
    expect(made.stdout).toMatch(/^tw_test_[0-9a-f]{16}_[0-9a-f]{64}\n$/);
    expect(made.stderr).toMatch(/merchant 1001 +transactions:read +never +never +works/);
    const id = made.stdout.split('_')[2]!;
    const rotated = await tapwire(`api-key rotate --acquirer 1 --overlap-hours 1 ${id}`);
    expect(rotated.stdout).toMatch(/^tw_test_/);
    await tapwire(`api-key revoke --acquirer 1 ${id}`);
    const keys = await tapwire('api-key list --acquirer 1');
    expect(keys.stdout).toMatch(new RegExp(`^${id} .* revoked$`, 'm'));
    expect(keys.stdout).not.toContain(made.stdout.trim().split('_')[3]);

    const person = await tapwire(
      'user add --acquirer 1 --merchant 1001 --username ann --role viewer --permission createMobileProximityToken',
    );
    expect(person.stdout).toMatch(/^\S{20}\n$/);
    const [{ id: userId }] = await json<[{ id: string }]>('user list --acquirer 1 --json');
    expect((await tapwire(`user change --acquirer 1 --role operator ${userId}`)).stdout).toContain('operator');
    expect((await tapwire(`user block --acquirer 1 ${userId}`)).stdout).toMatch(/yes$/m);
    expect((await tapwire(`user password --acquirer 1 ${userId}`)).stdout).not.toBe(person.stdout);
    const reset = await tapwire(`user reset-totp --acquirer 1 ${userId}`);
    expect(reset.stdout).toBe(`User ${userId} has no one-time codes.\n`);
    expect((await tapwire(`user remove --acquirer 1 ${userId}`)).exitCode).toBe(0);

    const { privateKey, publicKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const files = {
      secret: join(folder, 'secret.pem'),
      open: join(folder, 'open.pem'),
      proof: join(folder, 'proof.txt'),
      out: join(folder, 'shop.json'),
    };
    writeFileSync(files.secret, privateKey);
    writeFileSync(files.open, publicKey);
    const issuer = '--issuer https://shop.example --kid one';
    const proven = await tapwire(
      `issuer-key prove --acquirer 1 --issuer https://shop.example --private-key ${files.secret}`,
    );
    writeFileSync(files.proof, proven.stdout);
    const signed = await tapwire(
      `issuer-key add --acquirer 1 --integrator 1 ${issuer} --public-key ${files.open} --proof ${files.proof}`,
    );
    expect(signed.stdout).toMatch(/https:\/\/shop\.example +one +integrator 1 +ES256 +believed/);
    const [key] = await json<[{ id: string }]>('issuer-key list --acquirer 1 --json');
    await tapwire(`issuer-key revoke --acquirer 1 ${key.id}`);
    expect((await tapwire('issuer-key list --acquirer 1')).stdout).toMatch(/revoked$/m);

    const speaks = `--merchant 1001 --terminal T1 --user ann ${issuer} --private-key ${files.secret}`;
    expect(await tapwire(`profile --out ${files.out} ${speaks}`)).toMatchObject({ exitCode: 0 });
    expect(statSync(files.out).mode & 0o777).toBe(0o600);
    expect(readProfile(files.out)).toMatchObject({
      merchant: { id: '1001', xTid: 'T1' },
      issuer: { kid: 'one', publicKey },
    });
  });

  test('every change is recorded with its author, without any secret', async () => {
    const { stdout } = await tapwire('audit --acquirer 1');
    const reported = stdout
      .split('\n')
      .map((line) => line.replace(/^\S+ +\S+ +(cli) \S+ +/, '$1 ').replace(/\s+/g, ' '));
    expect(reported).toEqual(
      expect.arrayContaining([
        'cli add acquirer 1',
        'cli add merchant 1001',
        'cli change merchant 1001: city, settings',
        'cli change merchant 1001: blocked',
        'cli remove blocked device lost',
      ]),
    );
    const all = await tapwire('audit --json');
    expect(JSON.parse(all.stdout).map(({ acquirerId }: { acquirerId: number }) => acquirerId)).toContain(2);
    expect(all.stdout).not.toMatch(/scrypt|secretHash|PRIVATE/);
    expect((await tapwire('audit --limit 1')).stdout.trim().split('\n')).toHaveLength(2);
  });

  test('the record is a chain, and an end that was removed is found with an earlier output', async () => {
    const headsFile = join(folder, 'heads.json');
    const earlier = await tapwire('audit verify --json');
    expect(earlier.exitCode).toBe(0);
    const { heads, faults } = JSON.parse(earlier.stdout);
    expect(faults).toEqual([]);
    expect((await tapwire('audit verify')).stdout).toContain('No entry was changed, and none is missing.');
    const later = { ...heads[0], number: heads[0].number + 1 };
    writeFileSync(headsFile, JSON.stringify({ heads: [later, ...heads.slice(1)] }));
    const found = await tapwire(`audit verify --heads ${headsFile}`);
    expect(found.exitCode).toBe(1);
    expect(found.stdout).toMatch(new RegExp(`entry ${later.number} follows entries that are missing, or is missing`));
    writeFileSync(headsFile, '{"heads": [{"acquirerId": "one"}]}');
    expect((await tapwire(`audit verify --heads ${headsFile}`)).exitCode).toBe(1);
  });
});

describe('a fault is named, and exits with 1', () => {
  test.each([
    ['integrator add --acquirer 77 --name x', 'acquirer does not exist'],
    ['integrator add --name x', '--acquirer: is required'],
    ['integrator add --acquirer one --name x', '--acquirer: expected a number from 1'],
    ['integrator add --acquirer 1', '--name: '],
    ['integrator remove --acquirer 1 one', 'INTEGRATOR: expected a number'],
    ['integrator remove --acquirer 1', 'INTEGRATOR: expected exactly one'],
    ['integrator remove --acquirer 1 1', 'The integrator has keys'],
    [`merchant add --acquirer 1 --id 9 --integrator 1 --name x ${MERCHANT} --fee much`, '--fee: '],
    [`merchant add --acquirer 1 --id 9 --integrator 1 --name x ${MERCHANT} --settings {`, 'not JSON'],
    [`merchant add --acquirer 1 --id 1001 --integrator 1 --name x ${MERCHANT}`, 'already in use'],
    ['merchant change --acquirer 1 --country XX 1001', '--country: must be a country'],
    ['terminal add --acquirer 1 --x-tid T2 --tid A --mid B --takes-pin maybe', '--takes-pin: '],
    ['terminal add --acquirer 1 --x-tid T2 --tid A --mid B --profile none', '--profile: must be a terminal profile'],
    ['api-key add --acquirer 1 --name x', '--scope: '],
    ['api-key rotate --acquirer 1 none', 'no entry with this id'],
    ['issuer-key add --acquirer 1 --integrator 1 --issuer x --kid y --public-key none.pem', 'There is no such file'],
    ['user add --acquirer 1 --username x --role king', '--role: '],
    ['audit --limit 0', '--limit: 1 to'],
    [
      'profile --out x --merchant 1 --terminal T --user u --issuer i --kid k --private-key none.pem',
      'There is no such file',
    ],
  ])('%s', async (line, reason) => {
    expect(await tapwire(line)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(reason) });
  });

  test('a profile needs a private key on P-256', async () => {
    const path = join(folder, 'ed.pem');
    writeFileSync(path, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const line = `profile --out x --merchant 1 --terminal T --user u --issuer i --kid k --private-key ${path}`;
    expect((await tapwire(line)).stderr).toContain('--private-key: expected');
  });
});
