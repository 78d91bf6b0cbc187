import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { newPassword, newUser, type StoredUser, userChange } from '#schemas/admin-credentials';
import { readConfig } from '../start/config.ts';
import { INSTALLATION } from '../store/settings/admin-commit.ts';
import { UserSettings } from '../store/settings/credential-settings.ts';
import { changeOf, checkedBy, listAll, onDatabase, ownerOf } from './administration.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, listOf, printList } from './table.ts';
import { flag, idOf, onlyOne, readNumber, text, texts } from './words.ts';

/**
 * `tapwire user ...`: portal users of acquirers, integrators and merchants. With `--acquirer 0`: users of the
 * installation itself, who see all acquirers in the console. A password is read from standard input, or generated
 * and printed once, alone on standard output.
 */
export const commands: Commands = {
  add: command(
    '--acquirer ID [--integrator ID|--merchant ID] --username NAME --role viewer|operator|admin [--permission NAME...] [--password-stdin]: add a user',
    add,
  ),
  list: command('--acquirer ID [--json]: list the users', list),
  change: command(
    '--acquirer ID [--role viewer|operator|admin] [--permission NAME...] USER: change the rights of a user',
    change,
  ),
  password: command(
    '--acquirer ID [--password-stdin] USER: set a new password, end all sessions and lift a lockout',
    resetPassword,
  ),
  'reset-totp': command(
    '--acquirer ID USER: remove the one-time codes of a user who has lost them, and end all sessions',
    resetTotp,
  ),
  block: command('--acquirer ID USER: refuse logins and tokens of the user', (args) => setBlocked(args, true)),
  unblock: command('--acquirer ID USER: accept them again, and lift a lockout by wrong logins', (args) =>
    setBlocked(args, false),
  ),
  remove: command('--acquirer ID USER: remove a user', remove),
};

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...{ acquirer: text, integrator: text, merchant: text, username: text, role: text },
      ...{ permission: texts, 'password-stdin': flag },
    },
  });
  const acquirerId = acquirerOf(values.acquirer);
  const { username, role, permission, integrator, merchant } = values;
  const given = checkedBy(newUser, {
    ...{ username, role, permissions: permission, merchantId: merchant },
    integratorId: integrator && readNumber(integrator),
    password: values['password-stdin'] ? readPassword() : undefined,
  });
  const { stored, password } = await onUsers((users) => users.add(changeOf(acquirerId), given));
  console.error(listOf([stored], COLUMNS));
  return printPassword(password);
}

async function list(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, json: flag } });
  const reach = { acquirerId: acquirerOf(values.acquirer) };
  const users = await onUsers((settings) => listAll('id', (page) => settings.list(reach, page)));
  printList(users, COLUMNS, values.json);
  return 0;
}

async function change(args: string[]): Promise<number> {
  const options = { acquirer: text, role: text, permission: texts } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const { role, permission: permissions } = values;
  return apply(acquirerOf(values.acquirer), onlyOne(positionals, 'USER'), { role, permissions });
}

function setBlocked(args: string[], blocked: boolean): Promise<number> {
  const { acquirerId, id } = namedUser(args);
  return apply(acquirerId, id, { blocked });
}

async function apply(acquirerId: number, id: string, changes: object): Promise<number> {
  const given = checkedBy(userChange, changes);
  const changed = await onUsers((users) => users.change(changeOf(acquirerId), id, given));
  console.log(listOf([changed], COLUMNS));
  return 0;
}

async function resetPassword(args: string[]): Promise<number> {
  const options = { acquirer: text, 'password-stdin': flag } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const acquirerId = acquirerOf(values.acquirer);
  const id = onlyOne(positionals, 'USER');
  const { password } = checkedBy(newPassword, { password: values['password-stdin'] ? readPassword() : undefined });
  return printPassword(await onUsers((users) => users.resetPassword(changeOf(acquirerId), id, password)));
}

async function resetTotp(args: string[]): Promise<number> {
  const { acquirerId, id } = namedUser(args);
  const wasReset = await onUsers((users) => users.resetTotp(changeOf(acquirerId), id));
  console.log(wasReset ? `The one-time codes of user ${id} are removed.` : `User ${id} has no one-time codes.`);
  return 0;
}

async function remove(args: string[]): Promise<number> {
  const { acquirerId, id } = namedUser(args);
  await onUsers((users) => users.remove(changeOf(acquirerId), id));
  console.log(`User ${id} is removed.`);
  return 0;
}

/** 0 is the installation. */
function acquirerOf(given: string | undefined): number {
  return given === String(INSTALLATION) ? INSTALLATION : idOf(given, '--acquirer');
}

function namedUser(args: string[]): { readonly acquirerId: number; readonly id: string } {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { acquirer: text } });
  return { acquirerId: acquirerOf(values.acquirer), id: onlyOne(positionals, 'USER') };
}

function onUsers<Result>(act: (users: UserSettings) => Promise<Result>): Promise<Result> {
  const { LOGIN_DOMAINS: domains } = readConfig(process.env);
  return onDatabase((database) => act(new UserSettings(database, domains)));
}

/** One line of standard input. An argument would be visible to every user of the machine. */
function readPassword(): string {
  return readFileSync(0, 'utf8').replace(/\r?\n$/, '');
}

function printPassword(made: string | null): number {
  if (made === null) console.error('The password is set.');
  else {
    console.error('The password, shown this once:');
    console.log(made);
  }
  return 0;
}

const COLUMNS: Columns<StoredUser> = {
  titles: ['USER', 'USERNAME', 'ROLE', 'PERMISSIONS', 'OF', 'LAST LOGIN', 'BLOCKED'],
  cellsOf: (user) => [
    ...[user.id, user.username, user.role, user.permissions.join(' ') || 'none', ownerOf(user)],
    ...[user.lastLoginAt ?? 'never', user.blocked ? 'yes' : 'no'],
  ],
};
