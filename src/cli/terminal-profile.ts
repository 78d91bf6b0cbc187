import { ADMIN_OPERATIONS } from '#schemas/admin-operations';
import type { StoredTerminalProfile } from '#schemas/terminal-profile';
import { loadReaders } from '../kits/reader-kit/load-readers.ts';
import { checkReader, type ReaderRules } from '../payments/settings/check-settings.ts';
import { readNewProfile, readProfileChange } from '../payments/settings/read-profile.ts';
import { readConfig } from '../start/config.ts';
import { readerRulesOf } from '../start/open-hsm-and-readers.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { TerminalProfileSettings } from '../store/settings/terminal-profile-settings.ts';
import { changeOf, checkedBy, onDatabase } from './administration.ts';
import { idOf, readJson, readOptions, text } from './arguments.ts';
import { command } from './commands.ts';
import { listOf } from './output.ts';
import { list, readNamed, remove, show } from './settings-commands.ts';

/**
 * `tapwire terminal-profile ...`: what readers of an acquirer accept. Files contain the bodies of the API: the
 * advanced or simple form for a new profile, the advanced form without its name for a change.
 */
export const commands = {
  add: command('--acquirer ID --file JSON|-: add a profile', add),
  list: command('--acquirer ID [--json]: list the profiles of the acquirer', (args) => list(PROFILES, args)),
  show: command('--acquirer ID PROFILE: show a profile', (args) => show(PROFILES, args)),
  change: command('--acquirer ID --file JSON|- PROFILE: replace a profile', change),
  remove: command('--acquirer ID PROFILE: remove a profile', (args) => remove(PROFILES, args)),
};

const PROFILES = {
  noun: 'profile',
  operations: { add: ADMIN_OPERATIONS.createTerminalProfile },
  open: (database: Database) => new TerminalProfileSettings(database),
  key: { name: 'name', from: 'settings' },
  flags: [],
  columns: {
    titles: ['PROFILE', 'CURRENCY', 'APPLICATIONS', 'CHANGED'],
    cellsOf: ({ name, terminalCurrencyCode = 'any', overrides, updatedAt }: StoredTerminalProfile) => {
      const taken = overrides.filter(({ remove }) => !remove).map(({ aid }) => aid);
      return [name, terminalCurrencyCode, taken.join(', ') || 'any', updatedAt];
    },
  },
  removed: (id: number | string) => `Terminal profile ${id} is removed.`,
} as const;

async function add(args: string[]): Promise<void> {
  const values = readOptions(args, { acquirer: text, file: text });
  const change = changeOf(idOf(values.acquirer, '--acquirer'));
  const { name, ...body } = checkedBy(PROFILES.operations.add.body, readJson('--file', values.file));
  checkReader(await readerRules(), change.acquirerId, body.reader);
  const profile = { name, ...readNewProfile(body) };
  const added = await onDatabase((database) => PROFILES.open(database).add(change, profile));
  console.log(listOf([added], PROFILES.columns));
}

async function change(args: string[]): Promise<void> {
  const { change, id, values } = readNamed(PROFILES, args, { file: text });
  const given = readJson('--file', values.file as string | undefined);
  const body = checkedBy(ADMIN_OPERATIONS.updateTerminalProfile.body, given);
  checkReader(await readerRules(), change.acquirerId, body.reader);
  const settings = readProfileChange(body);
  const changed = await onDatabase((database) => PROFILES.open(database).change(change, String(id), settings));
  console.log(listOf([changed], PROFILES.columns));
}

/** The rules of the present environment, which the processes of this installation share. */
async function readerRules(): Promise<ReaderRules> {
  const config = readConfig(process.env);
  return readerRulesOf(config, await loadReaders({ external: config.READERS }));
}
