import { parseArgs } from 'node:util';
import { acquirerChange, newAcquirer, type StoredAcquirer } from '#schemas/admin-tenants';
import { StartError } from '../basics/errors.ts';
import { Acquirers } from '../store/settings/acquirers.ts';
import { actor, changeOf, checkedBy, listAll, onDatabase } from './administration.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, listOf, printList } from './table.ts';
import { flag, idOf, text } from './words.ts';

/** `tapwire acquirer ...`: the acquirers of the installation. An acquirer cannot be removed, only blocked. */
export const commands: Commands = {
  add: command('--name TEXT [--json]: add an acquirer', add),
  list: command('[--json]: list the acquirers', list),
  change: command('--name TEXT ACQUIRER: change the name', change),
  block: command('ACQUIRER: refuse taps from all its merchants', (args) => setBlocked(args, true)),
  unblock: command('ACQUIRER: accept their taps again', (args) => setBlocked(args, false)),
};

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { name: text, json: flag } });
  const given = checkedBy(newAcquirer, { name: values.name });
  const added = await onDatabase((database) => new Acquirers(database).add(actor(), given));
  console.log(values.json ? JSON.stringify(added, null, 2) : listOf([added], COLUMNS));
  return 0;
}

async function list(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { json: flag } });
  const all = await onDatabase((database) => {
    const acquirers = new Acquirers(database);
    return listAll('id', (page) => acquirers.list(page));
  });
  printList(all, COLUMNS, values.json);
  return 0;
}

async function change(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { name: text } });
  if (values.name === undefined) throw new StartError('BAD_CONFIG', '--name: expected the new name');
  return apply(positionals, { name: values.name });
}

function setBlocked(args: string[], blocked: boolean): Promise<number> {
  return apply(parseArgs({ args, allowPositionals: true, options: {} }).positionals, { blocked });
}

async function apply([id]: string[], changes: object): Promise<number> {
  const given = checkedBy(acquirerChange, changes);
  const change = changeOf(idOf(id, 'ACQUIRER'));
  const changed = await onDatabase((database) => new Acquirers(database).change(change, given));
  console.log(listOf([changed], COLUMNS));
  return 0;
}

const COLUMNS: Columns<StoredAcquirer> = {
  titles: ['ACQUIRER', 'NAME', 'BLOCKED'],
  cellsOf: ({ id, name, blocked }) => [String(id), name, blocked ? 'yes' : 'no'],
};
