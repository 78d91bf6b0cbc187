import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { newTerminalProfile, type StoredTerminalProfile, terminalProfileChange } from '#schemas/terminal-profile';
import { StartError } from '../errors.ts';
import { TerminalProfileSettings } from '../store/settings/terminal-profile-settings.ts';
import { readNewProfile, readProfileChange } from '../transactions/tap/read-profile.ts';
import { changeOf, checkedBy, idOf, listAll, onDatabase } from './administration.ts';
import { runCommand } from './commands.ts';
import { command, parseNamed } from './settings-commands.ts';
import { tableOf } from './table.ts';

const COMMANDS = {
  add: command('--acquirer ID --file JSON|-', add),
  list: command('--acquirer ID [--json]', list),
  show: command('--acquirer ID PROFILE', show),
  change: command('--acquirer ID --file JSON|- PROFILE', change),
  remove: command('--acquirer ID PROFILE', remove),
};

/**
 * `tapwire terminal-profile ...`: what readers of an acquirer may take. Files are the bodies of the API: advanced or simple
 * for a new one, advanced without its name for a change.
 */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire terminal-profile', COMMANDS, args);
}

const text = { type: 'string' } as const;

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, file: text } });
  const change = changeOf(idOf(values.acquirer, '--acquirer'));
  const { name, ...body } = checkedBy(newTerminalProfile, readBody(values.file));
  const added = await onProfiles((profiles) => profiles.add(change, { name, ...readNewProfile(body) }));
  console.log(tableOf([TITLES, rowOf(added)]));
  return 0;
}

async function list(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, json: { type: 'boolean', default: false } } });
  const reach = { acquirerId: idOf(values.acquirer, '--acquirer') };
  const rows = await onProfiles((profiles) =>
    listAll(
      (page) => profiles.list(reach, page),
      ({ name }) => name,
    ),
  );
  console.log(values.json ? JSON.stringify(rows, null, 2) : tableOf([TITLES, ...rows.map(rowOf)]));
  return 0;
}

async function show(args: string[]): Promise<number> {
  const { acquirerId, id } = parseNamed(args, 'PROFILE');
  console.log(JSON.stringify(await onProfiles((profiles) => profiles.find({ acquirerId }, id)), null, 2));
  return 0;
}

async function change(args: string[]): Promise<number> {
  const { acquirerId, id, values } = parseNamed(args, 'PROFILE', { file: text });
  const given = readProfileChange(checkedBy(terminalProfileChange, readBody(values.file)));
  const changed = await onProfiles((profiles) => profiles.change(changeOf(acquirerId), id, given));
  console.log(tableOf([TITLES, rowOf(changed)]));
  return 0;
}

async function remove(args: string[]): Promise<number> {
  const { acquirerId, id } = parseNamed(args, 'PROFILE');
  await onProfiles((profiles) => profiles.remove(changeOf(acquirerId), id));
  console.log(`The terminal profile ${id} is removed.`);
  return 0;
}

function onProfiles<Result>(act: (profiles: TerminalProfileSettings) => Promise<Result>): Promise<Result> {
  return onDatabase((database) => act(new TerminalProfileSettings(database)));
}

/** JSON in a file, or on standard input by `-`. */
function readBody(path: string | undefined): unknown {
  if (path === undefined) throw new StartError('BAD_CONFIG', '--file: expected a file, or - for standard input');
  try {
    return JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'));
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `--file ${path}: ${(cause as Error).message}`, { cause });
  }
}

const TITLES = ['PROFILE', 'CURRENCY', 'APPLICATIONS', 'CHANGED'];

function rowOf({ name, terminalCurrencyCode = 'any', overrides, updatedAt }: StoredTerminalProfile): string[] {
  const taken = overrides.filter(({ remove }) => !remove).map(({ aid }) => aid);
  return [name, terminalCurrencyCode, taken.join(', ') || 'any', updatedAt];
}
