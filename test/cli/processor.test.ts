import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tapwireHere } from '../support/run-here.ts';
import { TapwireProcess } from '../support/tapwire-process.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'tapwire-cli-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const processor = (args: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
  tapwireHere(['processor', ...args], environment, cwd);

test('a new processor prints the next steps, and passes the unchanged suite', async () => {
  const made = await processor(['new', 'north-bank', '--dir', 'plug-ins']);
  expect(made.exitCode).toBe(0);
  expect(made.stdout).toContain('processor verify plug-ins/north-bank');
  expect(made.stdout).toContain('PROCESSORS=plug-ins/north-bank');
  const verified = await processor(['verify', 'plug-ins/north-bank']);
  expect(verified.exitCode).toBe(0);
  expect(verified.stdout).toContain('type north-bank');
  expect(verified.stdout).toContain('ok      samples        each sample encodes to its bytes');
  expect(verified.stdout).toMatch(/\d+ checks, all passed\n$/);
});

describe('verify', () => {
  test('exits with 1 if a check fails, and states which and why', async () => {
    await processor(['new', 'north-bank', '--dir', '.']);
    const profile = join(cwd, 'north-bank', 'profile.ts');
    writeFileSync(profile, readFileSync(profile, 'utf8').replace("'amount', 'stan', 'rrn'", "'amount', 'rrn'"));
    const { exitCode, stdout } = await processor(['verify', 'north-bank']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/FAILED {2}authorization {2}a response that belongs to another request is unknown\n +-> \S/);
    expect(stdout).toMatch(/1 FAILED\n$/);
  });

  test('accepts the name of a folder of processors/, and prints JSON for programs', async () => {
    const { exitCode, stdout } = await processor(['verify', 'type-2', '--json']);
    expect(exitCode).toBe(0);
    const { type, results } = JSON.parse(stdout);
    expect(type).toBe('type-2');
    expect(results).toContainEqual(expect.objectContaining({ group: 'reversal', passed: true }));
  });

  test.each([
    [1, 'what is not there', ['./nowhere'], 'nowhere: found neither as a folder nor as a package'],
    [2, 'nothing', [], 'usage: tapwire processor verify'],
  ])('exits with %i for %s', async (exitCode, _what, words, reason) => {
    const ended = await processor(['verify', ...words]);
    expect(ended).toMatchObject({ exitCode, stderr: expect.stringContaining(reason) });
  });
});

test('watch runs the suite at each save, until it is asked to stop', async () => {
  await processor(['new', 'north-bank', '--dir', '.']);
  const watching = new TapwireProcess(['processor', 'watch', 'north-bank'], { cwd });
  await watching.printed(/all passed\n\nWatching /);
  const profile = join(cwd, 'north-bank', 'profile.ts');
  const text = readFileSync(profile, 'utf8');
  writeFileSync(profile, text.replace("'amount', 'stan', 'rrn'", "'amount', 'rrn'"));
  await watching.printed(/1 FAILED\n\nWatching /);
  writeFileSync(profile, text);
  await watching.printed(/FAILED\n\nWatching (.|\n)*all passed\n\nWatching /);
  expect(await watching.kill('SIGINT')).toMatchObject({ exitCode: 0 });
});

describe('list', () => {
  test('lists the known types and their sources', async () => {
    await processor(['new', 'north-bank', '--dir', '.']);
    const { exitCode, stdout } = await processor(['list'], { PROCESSORS: 'north-bank' });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^type-1 +Type 1 \(ISO 8583:1987, ASCII\) +\S+type-1\/index\.ts$/m);
    expect(stdout).toMatch(/^north-bank +NorthBank +north-bank\/index\.ts$/m);
  });

  test('shows the valid ones even if others are broken or clash, and exits with 1', async () => {
    writeFileSync(join(cwd, 'broken.ts'), 'throw new Error("no luck");');
    const { exitCode, stdout, stderr } = await processor(['list'], { PROCESSORS: 'broken.ts, @none/such' });
    expect(exitCode).toBe(1);
    expect(stdout).toContain('type-2');
    expect(stderr).toContain(`${join(cwd, 'broken.ts')}: no luck`);
    expect(stderr).toContain('@none/such: found neither as a folder nor as a package');
  });
});

test('a name that is not a type is refused, and an existing folder is not changed', async () => {
  const bad = await processor(['new', 'North Bank', '--dir', '.']);
  expect(bad).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('lower case letters') });
  await processor(['new', 'north', '--dir', '.']);
  const again = await processor(['new', 'north', '--dir', '.']);
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('already exists') });
});

test('the command without a subcommand lists the subcommands; an unknown one exits with 2', async () => {
  expect(await processor([])).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('verify') });
  expect(await processor(['toString'])).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('there is no command toString'),
  });
});
