import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { run as runLink } from '../../../src/cli/link.ts';
import { run } from '../../../src/cli/tap.ts';
import { run as runTrigger } from '../../../src/cli/trigger.ts';
import { VoidState } from '../../../src/payments/model/transaction.ts';
import { writeProfile } from '../../../src/tools/phone/profile.ts';
import { TEST_CARDS } from '../../../src/tools/simulator/issuer/chip-card.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectInvariants } from '../../support/invariants.ts';
import { ask } from '../../support/links.ts';
import { RIGHT_PIN, WRONG_PIN } from '../../support/pins.ts';
import { runHere } from '../../support/run-here.ts';

let installation: Installation;
let folder: string;
beforeAll(async () => {
  installation = await startInstallation({ chipCards: TEST_CARDS });
  folder = mkdtempSync(join(tmpdir(), 'tapwire-tap-'));
  writeProfile(join(folder, 'demo.json'), { ...installation.profile(), apiKey: await installation.apiKey() });
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  rmSync(folder, { recursive: true });
});

const tap = (...words: string[]) => runHere(run, words, { TAPWIRE_DATA: folder });

describe('tapwire tap', () => {
  test.each([
    ['an approval', '10.00', 0, /^Approved {2}ZAR 10\.00 .* code 00 {2}approval \d{6}/],
    ['a decline', '10.51', 3, /^Declined .* code 51 {2}Not sufficient funds/],
  ])('shows %s of the demo’s merchant, and ends with its outcome', async (_what, amount, exitCode, words) => {
    const ended = await tap('--amount', amount);
    expect(ended).toMatchObject({ exitCode, stderr: '' });
    expect(ended.stdout).toMatch(words);
  });

  test('says that a PIN is required, and how to enter it', async () => {
    const ended = await tap('--amount', '50.05');
    expect(ended.exitCode).toBe(3);
    expect(ended.stdout).toMatch(/^Declined .* code 70 {2}The card issuer requires a PIN .*--pin/);
  });

  test('enters the PIN when it is required, and shows the outcome', async () => {
    expect(await tap('--amount', '50.05', '--pin', RIGHT_PIN)).toMatchObject({ exitCode: 0 });
    const wrong = await tap('--amount', '50.05', '--pin', WRONG_PIN);
    expect(wrong.exitCode).toBe(3);
    expect(wrong.stdout).toMatch(/^Declined .* code 55 {2}The PIN is wrong/);
    expect(await tap('--amount', '10.00', '--pin', RIGHT_PIN)).toMatchObject({ exitCode: 0 });
  });

  test('a card with real cryptograms counts its taps, and states whether its issuer responded', async () => {
    for (let tapped = 0; tapped < 2; tapped++) {
      const ended = await tap('--amount', '10.00', '--card', 'mastercard-17');
      expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
      expect(ended.stdout).toContain('the issuer cryptogram (tag 91) is right');
    }
    const repeated = await tap('--amount', '10.00', '--card', 'mastercard-17', '--atc', '2');
    expect(repeated.exitCode).toBe(3);
    expect(repeated.stdout).toMatch(/^Declined .* code 59 .*the issuer cryptogram \(tag 91\) is right/s);
  });

  test('presents a card of a file, which the issuer of the test cards does not know', async () => {
    const path = join(folder, 'cards.json');
    const card = {
      name: 'own',
      pan: '4111111111111111',
      version: 'visa-18',
      issuerKey: '0123456789ABCDEFFEDCBA9876543210',
    };
    writeFileSync(path, JSON.stringify([card]));
    const ended = await tap('--amount', '10.00', '--card', 'own', '--issuer', path);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ended.stdout).toContain('the issuer cryptogram (tag 91) is wrong');
  });

  test.each([
    [['--card', 'visa', '--atc', '1'], /--atc: only for cards with real cryptograms, such as visa-10/],
    [['--card', 'visa-10', '--atc', '0'], /--atc 0: expected 1 to 65535/],
    [['--card', 'visa-11'], /--card visa-11: expected one of visa, mastercard, maestro, amex, visa-10/],
  ])('refuses %o', async (words, stderr) => {
    const ended = await tap('--amount', '10.00', ...words);
    expect(ended.exitCode).not.toBe(0);
    expect(ended.stderr).toMatch(stderr);
  });

  test.each([
    '123',
    '1234567890123',
    'abcd',
  ])('refuses %s as a PIN, in one line that does not repeat it', async (pin) => {
    const ended = await tap('--amount', '50.05', '--pin', pin);
    expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
    expect(ended.stderr).toContain('--pin: 4 to 12 digits');
    expect(ended.stderr).not.toContain(pin);
  });

  test('prints the unchanged response if asked for JSON', async () => {
    const { stdout } = await tap('--amount', '50.05', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ onlineAuthorizationResponse: { isSingleTapAndPin: true } });
  });
});

/** Until a void has ended, the switch can have reversed a sale that is still Approved. */
function voidsEnd(): Promise<void> {
  const running = `select from transactions where void_state = ${VoidState.asked}`;
  return eventually(async () => expect((await installation.database.query(running)).rowCount).toBe(0));
}

describe('tapwire trigger', () => {
  const trigger = (...words: string[]) => runHere(runTrigger, words, { TAPWIRE_DATA: folder });

  test.each([
    ['approved', [], /^Approved {2}ZAR 10\.00 .*\n.*\nwebhooks {2}transaction\.completed Approved\n$/],
    ['declined', ['--code', '54'], /^Declined {2}ZAR 10\.54 .* code 54 /],
    ['pin', [], /^Approved {2}ZAR 50\.05 /],
    ['wrong-pin', [], /^Declined {2}ZAR 50\.05 .* code 55 /],
    ['duplicate', [], /^Approved {2}ZAR 10\.99 /],
    ['timeout', [], /^Indeterminate {2}ZAR 10\.69 /],
    ['refund', [], /\nrefund Approved {2}ZAR 4\.00\nwebhooks .*\n +refund\.completed Approved\n$/],
    ['void', [], /\nvoid accepted\nwebhooks .*\n +transaction\.voided Voided\n$/],
    ['disconnect', [], /^Indeterminate {2}ZAR 10\.98 .*\n.*\nwebhooks .*Indeterminate\n +transaction\.voided/],
  ])('%s has its outcome, and names the webhooks', async (name, words, printed) => {
    const ended = await trigger(name, ...words);
    expect(ended, ended.output).toMatchObject({ exitCode: 0, stderr: '' });
    expect(ended.stdout).toMatch(printed);
    await voidsEnd();
  });

  test.each([
    [['elephant'], 2, 'there is no case elephant. Expected one of approved, declined'],
    [['toString'], 2, 'there is no case toString'],
    [[], 2, 'usage: tapwire trigger'],
    [['approved', '--terminal', 'NONE'], 1, ''],
    [['declined', '--code', '69'], 1, '--code 69: expected a two-digit response code'],
    [['declined', '--code', 'x'], 1, '--code x: expected'],
    [['approved', '--code', '51'], 2, '--code: only declined'],
  ])('refuses %j', async (words, exitCode, reason) => {
    const ended = await trigger(...words);
    expect(ended.exitCode).toBe(exitCode);
    expect(ended.stderr).toContain(reason);
    expect(ended.stdout).not.toContain('unexpected');
  });
});

describe('tapwire link', () => {
  const link = (...words: string[]) => runHere(runLink, words, { TAPWIRE_DATA: folder });

  test('prints the URL of a pay page, and nothing else', async () => {
    const { exitCode, stdout, stderr } = await link('--amount', '12.00', '--reference', 'order-12');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const [, reference, token] = /^http:\S+\/pay\/([0-9a-f-]{36})#(\S+)\n$/.exec(stdout)!;
    const { body } = await ask(installation, { token: token! }, `/pay/${reference}/state`);
    expect(body).toMatchObject({ amount: '12.00', currency: 'ZAR', paymentReference: 'order-12' });
    const again = await link('--amount', '12.00', '--reference', 'order-12');
    expect(again).toMatchObject({ exitCode: 1, stdout: '' });
    expect(again.stderr).toContain('belongs to another payment');
  });

  test('describes what is wrong with an amount', async () => {
    const ended = await link('--amount', '0.001');
    expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
    expect(ended.stderr).toContain('--amount 0.001: ZAR has 2 decimals');
    expect(await link()).toMatchObject({ exitCode: 2, stdout: '' });
  });
});
