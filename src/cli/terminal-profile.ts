import { parseArgs } from 'node:util';
import { newTerminalProfile, type StoredTerminalProfile, terminalProfileChange } from '#schemas/terminal-profile';
import { loadReaders } from '../kits/reader-kit/load-readers.ts';
import { checkReader, type ReaderRules } from '../payments/settings/check-reader.ts';
import { readNewProfile, readProfileChange } from '../payments/settings/read-profile.ts';
import { readConfig } from '../start/config.ts';
import { readerRulesOf } from '../start/open-card-readers.ts';
import { TerminalProfileSettings } from '../store/settings/terminal-profile-settings.ts';
import { changeOf, checkedBy, listAll, onDatabase } from './administration.ts';
import { command } from './commands.ts';
import { readJson } from './read-file.ts';
import { type Columns, listOf, printList } from './table.ts';
import { flag, idOf, parseNamed, text } from './words.ts';

/**
 * `tapwire terminal-profile ...`: what readers of an acquirer accept. Files contain the bodies of the API: the
 * advanced or simple form for a new profile, the advanced form without its name for a change.
 */
export const commands = {
  add: command('--acquirer ID --file JSON|-: add a profile', add),
  list: command('--acquirer ID [--json]: list the profiles of the acquirer', list),
  show: command('--acquirer ID PROFILE: show a profile', show),
  change: command('--acquirer ID --file JSON|- PROFILE: replace a profile', change),
  remove: command('--acquirer ID PROFILE: remove a profile', remove),
};

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, file: text } });
  const change = changeOf(idOf(values.acquirer, '--acquirer'));
  const { name, ...body } = checkedBy(newTerminalProfile, readJson('--file', values.file));
  checkReader(await readerRules(), change.acquirerId, body.reader);
  const added = await onProfiles((profiles) => profiles.add(change, { name, ...readNewProfile(body) }));
  console.log(listOf([added], COLUMNS));
  return 0;
}

async function list(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, json: flag } });
  const reach = { acquirerId: idOf(values.acquirer, '--acquirer') };
  const rows = await onProfiles((profiles) => listAll('name', (page) => profiles.list(reach, page)));
  printList(rows, COLUMNS, values.json);
  return 0;
}

async function show(args: string[]): Promise<number> {
  const { acquirerId, id } = parseNamed(args, 'PROFILE');
  console.log(JSON.stringify(await onProfiles((profiles) => profiles.find({ acquirerId }, id)), null, 2));
  return 0;
}

async function change(args: string[]): Promise<number> {
  const { acquirerId, id, values } = parseNamed(args, 'PROFILE', { file: text });
  const body = checkedBy(terminalProfileChange, readJson('--file', values.file));
  checkReader(await readerRules(), acquirerId, body.reader);
  const given = readProfileChange(body);
  const changed = await onProfiles((profiles) => profiles.change(changeOf(acquirerId), id, given));
  console.log(listOf([changed], COLUMNS));
  return 0;
}

async function remove(args: string[]): Promise<number> {
  const { acquirerId, id } = parseNamed(args, 'PROFILE');
  await onProfiles((profiles) => profiles.remove(changeOf(acquirerId), id));
  console.log(`Terminal profile ${id} is removed.`);
  return 0;
}

/** The rules of the present environment, which the processes of this installation share. */
async function readerRules(): Promise<ReaderRules> {
  const config = readConfig(process.env);
  return readerRulesOf(config, await loadReaders({ external: config.READERS }));
}

function onProfiles<Result>(act: (profiles: TerminalProfileSettings) => Promise<Result>): Promise<Result> {
  return onDatabase((database) => act(new TerminalProfileSettings(database)));
}

const COLUMNS: Columns<StoredTerminalProfile> = {
  titles: ['PROFILE', 'CURRENCY', 'APPLICATIONS', 'CHANGED'],
  cellsOf: ({ name, terminalCurrencyCode = 'any', overrides, updatedAt }) => {
    const taken = overrides.filter(({ remove }) => !remove).map(({ aid }) => aid);
    return [name, terminalCurrencyCode, taken.join(', ') || 'any', updatedAt];
  },
};
