import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { toCliError } from '../../src/cli/command-end.ts';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { allCommands, EXAMPLES, runTapwire } from '../../src/cli/commands.ts';

const EVERY = await allCommands(COMMANDS);
const out: string[] = [];
const err: string[] = [];

beforeEach(() => {
  out.length = 0;
  err.length = 0;
  vi.spyOn(console, 'log').mockImplementation((text) => void out.push(text));
  vi.spyOn(console, 'error').mockImplementation((text) => void err.push(text));
  // A command that ran would fail: nothing listens there.
  vi.stubEnv('DATABASE_URL', 'postgres://none@127.0.0.1:1/none');
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test('there are commands in every group', () => {
  expect(EVERY.length).toBeGreaterThan(60);
});

test.each(EVERY.map(({ path }) => path))('tapwire %s --help says how to use it, and runs nothing', async (path) => {
  const words = path.split(' ');
  for (const args of [
    [...words, '--help'],
    [...words, '-h'],
    [...words, '--json', '--help'],
    ['help', ...words],
  ]) {
    expect(await runTapwire(COMMANDS, args)).toBe(0);
    expect(out.pop()).toMatch(new RegExp(`^usage: tapwire ${path.split(' ')[0]}\\b.*\\S`));
  }
  expect(await runTapwire(COMMANDS, [...words, '--version'])).toBe(0);
  expect(out.pop()).toMatch(/^\d+\.\d+\.\d+/);
  expect(err).toEqual([]);
});

test.each(EVERY)('the help of tapwire $path says what the command does', ({ usage }) => {
  expect(usage.slice('usage: '.length).split('\n\nExamples:')[0]).toMatch(/: [a-z]| {8,}[a-z]|\n\n/);
});

test('the help of a command has optional options in brackets', () => {
  const usageOf = (wanted: string) => EVERY.find(({ path }) => path === wanted)?.usage.split('\n')[0];
  expect(usageOf('route add')).toBe(
    'usage: tapwire route add --acquirer ID --processor ID [--priority 1] [--currency ZAR] [--scheme Visa] [--terminal X-TID] [--json]: add a route',
  );
  expect(usageOf('integrator change')).toBe(
    'usage: tapwire integrator change --acquirer ID [--name TEXT] INTEGRATOR: change the given settings',
  );
});

test('a test and a comparison of the load have one help', async () => {
  await runTapwire(COMMANDS, ['load', 'compare', '--help']);
  expect(out[0]).toContain('--fail-if');
  expect(out[0]).toContain('--tolerance');
});

test.each([[], ['help'], ['help', 'help'], ['--help'], ['-h']])('tapwire %s lists the commands', async (...args) => {
  expect(await runTapwire(COMMANDS, args)).toBe(0);
  expect(out[0]).toMatch(/^usage: tapwire COMMAND/);
  for (const name of ['start', 'migrate', 'processor']) expect(out[0]).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
});

test.each([
  ['migrat', 'migrate'],
  ['docter', 'doctor'],
  ['terminals', 'terminal'],
])('tapwire %s is no command: the error names the one that was meant, and how to list all', async (given, meant) => {
  expect(await runTapwire(COMMANDS, [given])).toBe(2);
  expect(err).toEqual([
    `tapwire: there is no command ${given}. Did you mean ${meant}?\nRun tapwire --help to list the commands.`,
  ]);
});

test('a command without arguments takes none: it does not run', async () => {
  const error = await runTapwire(COMMANDS, ['migrate', '--dry-run']).catch(toCliError);
  expect(error).toEqual({
    exitCode: 2,
    description: 'tapwire migrate: takes no arguments.\nRun tapwire migrate --help for what it does.',
  });
});

test('an option that a command does not have is named without the rules of the parser', async () => {
  const error = await runTapwire(COMMANDS, ['merchant', 'change', '--acquirer', '1', '--id', '2', '1001']).catch(
    toCliError,
  );
  expect(error).toEqual({
    exitCode: 2,
    description:
      "tapwire merchant change: Unknown option '--id'.\nRun tapwire merchant change --help for its arguments.",
  });
});

test.each(
  Object.entries(EXAMPLES),
)('the examples of tapwire %s have its options only, and its help shows them', async (path, examples) => {
  await runTapwire(COMMANDS, [...path.split(' '), '--help']);
  const [usage = '', shown = ''] = out[0]!.split('\n\nExamples:\n');
  for (const example of examples) {
    expect(shown).toContain(`  ${example}`);
    expect(example).toContain(`tapwire ${path}`);
    for (const [option] of example.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)) expect(usage).toContain(option);
  }
});

test('a word that resembles no command gets no suggestion', async () => {
  expect(await runTapwire(COMMANDS, ['x'])).toBe(2);
  expect(await runTapwire(COMMANDS, ['processor', 'elephants'])).toBe(2);
  expect(err.join()).not.toContain('Did you mean');
});
