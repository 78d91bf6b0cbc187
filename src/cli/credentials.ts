import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { StoredApiKey, StoredIssuerKey, StoredUser } from '#schemas/admin-credentials';
import { ADMIN_OPERATIONS, SETTINGS } from '#schemas/admin-operations';
import { SCOPE_NAMES, SCOPES } from '#schemas/scopes';
import { type ApiKeyMode, createApiKey } from '../auth/api-key.ts';
import { readIssuerPem, signPossessionProof } from '../auth/issuers/issuer-keys.ts';
import { StartError } from '../basics/errors.ts';
import { callbackPolicy } from '../outbound/guarded-fetch.ts';
import { readConfig } from '../start/config.ts';
import {
  addOperatorKey,
  listOperatorKeys,
  type OperatorKey,
  revokeOperatorKey,
} from '../store/credentials/api-keys.ts';
import type { Database } from '../store/postgres/open-database.ts';
import {
  ApiKeySettings,
  type IssuedKey,
  IssuerKeySettings,
  UserSettings,
} from '../store/settings/credential-settings.ts';
import { actor, checkedBy, namingOptions, onDatabase, ownerOf } from './administration.ts';
import { flag, idOf, needed, onlyOne, readNumber, readOptions, readText, readWords, text } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, listOf, printList, tableOf } from './output.ts';
import { add, change, list, optionsIn, readNamed, readNew, remove, setBlocked } from './settings-commands.ts';

/** The owner of a credential: an integrator or a merchant, or with neither the acquirer itself. */
const OWNER = [
  { flag: 'integrator', property: 'integratorId', value: 'ID', read: readNumber, isFixed: true },
  { flag: 'merchant', property: 'merchantId', value: 'ID', isFixed: true },
] as const;

function modeOfKeys(): ApiKeyMode {
  return readConfig(process.env).TAPWIRE_ENV === 'prod' ? 'live' : 'test';
}

const API_KEYS = {
  noun: 'key',
  operations: SETTINGS.apiKeys,
  open: (database: Database) => new ApiKeySettings(database, modeOfKeys()),
  key: { name: 'id', from: 'settings' },
  flags: [
    ...OWNER,
    { flag: 'name', property: 'name', value: 'TEXT' },
    { flag: 'scope', property: 'scopes', value: 'SCOPE', isRepeated: true },
    { flag: 'expires', property: 'expiresAt', value: 'TIME' },
  ],
  columns: {
    titles: ['KEY', 'NAME', 'OF', 'SCOPES', 'EXPIRES', 'LAST USED', 'STATE'],
    cellsOf: (key: StoredApiKey) => [
      ...[key.id, key.name, ownerOf(key), key.scopes.join(' ')],
      ...[key.expiresAt ?? 'never', key.lastUsedAt ?? 'never', stateOf(key)],
    ],
  },
  removed: (id: number | string) => `API key ${id} is revoked.`,
} as const;

/**
 * `tapwire api-key ...`: the keys of acquirers, integrators and merchants. A new key is printed once, alone on
 * standard output.
 */
export const apiKey: Commands = {
  add: command(
    '--acquirer ID [--integrator ID] [--merchant ID] --name TEXT --scope SCOPE... [--expires TIME] | --operator: create a key; with --operator one of the operator, with all scopes',
    async (args) => {
      if (args.includes('--operator')) return printOperatorKey(args);
      return namingOptions(optionsIn(API_KEYS.flags), async () => {
        const { change, given } = readNew(API_KEYS, args, {});
        return printKey(await onDatabase((database) => API_KEYS.open(database).add(change, given)));
      });
    },
  ),
  list: command('--acquirer ID|--operator [--json]: list the keys', async (args) => {
    if (!args.includes('--operator')) return list(API_KEYS, args);
    const values = readOptions(args, { acquirer: text, operator: flag, json: flag });
    printList(await onDatabase(listOperatorKeys), OPERATOR_KEYS, values.json);
  }),
  rotate: command(
    '--acquirer ID [--overlap-hours 24] KEY: issue a new key; the old key works until the overlap ends',
    async (args) => {
      const { change, id, values } = readNamed(API_KEYS, args, { 'overlap-hours': text });
      const hours = values['overlap-hours'] as string | undefined;
      const given = { overlapHours: hours && readNumber(hours) };
      const { overlapHours } = checkedBy(ADMIN_OPERATIONS.rotateApiKey.body, given);
      return printKey(await onDatabase((database) => API_KEYS.open(database).rotate(change, String(id), overlapHours)));
    },
  ),
  revoke: command('--acquirer ID|--operator KEY: the key stops working within seconds', async (args) => {
    if (!args.includes('--operator')) return remove(API_KEYS, args);
    const id = onlyOne(readWords(args, { acquirer: text, operator: flag }).words, 'KEY');
    await onDatabase((database) => revokeOperatorKey(database, actor(), id));
    console.log(API_KEYS.removed(id));
  }),
  scopes: command('list the scopes that a key can have', async () =>
    console.log(tableOf([['SCOPE', 'ALLOWS TO'], ...Object.entries(SCOPES)])),
  ),
};

function printKey({ stored, text: key }: IssuedKey): void {
  console.error(`${listOf([stored], API_KEYS.columns)}\n\nThe key, shown this once (header x-api-key):`);
  console.log(key.reveal());
}

/**
 * A key with all scopes: no key can grant a scope that it does not have, and the operator creates the first keys of
 * acquirers. It reads no transactions in spite of its scopes, because transactions belong to acquirers.
 */
async function printOperatorKey(args: string[]): Promise<void> {
  readOptions(args, { operator: flag });
  const owned = { owner: 'operator', scopes: SCOPE_NAMES, name: 'operator', expiresAtMs: null } as const;
  const { text: key, record } = createApiKey({ mode: modeOfKeys(), ...owned });
  await onDatabase((database) => addOperatorKey(database, actor(), record));
  console.error('The operator key, shown this once (header x-api-key):');
  console.log(key.reveal());
}

const OPERATOR_KEYS: Columns<OperatorKey> = {
  titles: ['KEY', 'NAME', 'SINCE', 'LAST USED', 'STATE'],
  cellsOf: ({ id, name, createdAt, lastUsedAt, revokedAt }) => [
    ...[id, name, createdAt, lastUsedAt ?? 'never'],
    revokedAt === null ? 'works' : 'revoked',
  ],
};

function stateOf({ expiresAt, revokedAt }: StoredApiKey): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'works';
}

const USERS = {
  noun: 'user',
  operations: SETTINGS.users,
  open: (database: Database) => new UserSettings(database, readConfig(process.env).LOGIN_DOMAINS),
  key: { name: 'id', from: 'database' },
  flags: [
    ...OWNER,
    { flag: 'username', property: 'username', value: 'NAME', isFixed: true },
    { flag: 'role', property: 'role', value: 'viewer|operator|admin' },
    { flag: 'permission', property: 'permissions', value: 'NAME', isRepeated: true },
  ],
  isOfInstallation: true,
  columns: {
    titles: ['USER', 'USERNAME', 'ROLE', 'PERMISSIONS', 'OF', 'LAST LOGIN', 'BLOCKED'],
    cellsOf: (user: StoredUser) => [
      ...[user.id, user.username, user.role, user.permissions.join(' ') || 'none', ownerOf(user)],
      ...[user.lastLoginAt ?? 'never', user.blocked ? 'yes' : 'no'],
    ],
  },
  removed: (id: number | string) => `User ${id} is removed.`,
} as const;

/**
 * `tapwire user ...`: portal users of acquirers, integrators and merchants. With `--acquirer 0`: users of the
 * installation itself, who see all acquirers in the console. A password is read from standard input, or generated
 * and printed once, alone on standard output.
 */
export const user: Commands = {
  add: command(
    '--acquirer ID [--integrator ID|--merchant ID] --username NAME --role viewer|operator|admin [--permission NAME...] [--password-stdin]: add a user',
    async (args) => {
      const { stored, password } = await namingOptions(optionsIn(USERS.flags), () => {
        const { change, given } = readNew(USERS, args, { 'password-stdin': flag }, passwordIn);
        return onDatabase((database) => USERS.open(database).add(change, given));
      });
      console.error(listOf([stored], USERS.columns));
      return printPassword(password);
    },
  ),
  list: command('--acquirer ID [--json]: list the users', (args) => list(USERS, args)),
  change: command(
    '--acquirer ID [--role viewer|operator|admin] [--permission NAME...] USER: change the rights of a user',
    (args) => change(USERS, args),
  ),
  password: command(
    '--acquirer ID [--password-stdin] USER: set a new password, end all sessions and lift a lockout',
    async (args) => {
      const { change, id, values } = readNamed(USERS, args, { 'password-stdin': flag });
      const { password } = checkedBy(ADMIN_OPERATIONS.resetPasswordOfPortalUser.body, passwordIn(values));
      return printPassword(
        await onDatabase((database) => USERS.open(database).resetPassword(change, String(id), password)),
      );
    },
  ),
  'reset-totp': command(
    '--acquirer ID USER: remove the one-time codes of a user who has lost them, and end all sessions',
    async (args) => {
      const { change, id } = readNamed(USERS, args);
      const wasReset = await onDatabase((database) => USERS.open(database).resetTotp(change, String(id)));
      console.log(wasReset ? `The one-time codes of user ${id} are removed.` : `User ${id} has no one-time codes.`);
    },
  ),
  block: command('--acquirer ID USER: refuse logins and tokens of the user', (args) => setBlocked(USERS, args, true)),
  unblock: command('--acquirer ID USER: accept them again, and lift a lockout by wrong logins', (args) =>
    setBlocked(USERS, args, false),
  ),
  remove: command('--acquirer ID USER: remove a user', (args) => remove(USERS, args)),
};

/** One line of standard input. An argument would be visible to every user of the machine. */
function passwordIn(values: Readonly<Record<string, unknown>>): { readonly password: string | undefined } {
  return { password: values['password-stdin'] ? readFileSync(0, 'utf8').replace(/\r?\n$/, '') : undefined };
}

function printPassword(made: string | null): void {
  if (made === null) console.error('The password is set.');
  else {
    console.error('The password, shown this once:');
    console.log(made);
  }
}

const ISSUER_KEYS = {
  noun: 'issuer-key',
  operations: SETTINGS.issuerKeys,
  open(database: Database) {
    const { TAPWIRE_ENV, TAPWIRE_AUDIENCE: ownName } = readConfig(process.env);
    return new IssuerKeySettings(database, { policy: callbackPolicy(TAPWIRE_ENV), ownName });
  },
  key: { name: 'id', from: 'database' },
  flags: [
    ...OWNER,
    { flag: 'issuer', property: 'issuer', value: 'ISS' },
    { flag: 'kid', property: 'kid', value: 'KID' },
    { flag: 'jwks', property: 'jwksUrl', value: 'URL' },
    { flag: 'algorithm', property: 'algorithms', value: 'NAME', isRepeated: true },
    { flag: 'public-key', property: 'publicKey', value: 'FILE', read: (path) => readText('--public-key', path) },
    { flag: 'proof', property: 'proof', value: 'FILE', read: (path) => readText('--proof', path).trim() },
  ],
  columns: {
    titles: ['ISSUER KEY', 'ISSUER', 'KID', 'OF', 'ALGORITHMS', 'STATE'],
    cellsOf: (key: StoredIssuerKey) => [
      ...[key.id, key.issuer, key.kid ?? key.jwksUrl ?? 'any', ownerOf(key)],
      ...[key.algorithms.join(' '), key.revokedAt === null ? 'believed' : 'revoked'],
    ],
  },
  removed: (id: number | string) => `Issuer key ${id} is revoked.`,
} as const satisfies Parameters<typeof readNew>[0];

/**
 * `tapwire issuer-key ...`: the keys that sign merchants' tokens. To replace a key, add a second kid, then revoke
 * the first.
 */
export const issuerKey: Commands = {
  add: command(
    '--acquirer ID --integrator ID|--merchant ID --issuer ISS [--kid KID] --public-key FILE --proof FILE|--jwks URL [--algorithm NAME...]: register a key',
    (args) => add(ISSUER_KEYS, args),
  ),
  prove: command(
    '--acquirer ID --issuer ISS --private-key FILE: print the proof that `add` needs, as the owner of the key',
    prove,
  ),
  list: command('--acquirer ID [--json]: list the issuer keys', (args) => list(ISSUER_KEYS, args)),
  revoke: command('--acquirer ID ISSUER-KEY: refuse all tokens that it signed', (args) => remove(ISSUER_KEYS, args)),
};

async function prove(args: string[]): Promise<void> {
  const values = readOptions(args, { acquirer: text, issuer: text, 'private-key': text });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const issuer = needed(values.issuer, '--issuer: is required');
  const privateKey = readPrivateKey(readText('--private-key', values['private-key']));
  const algorithm = readIssuerPem(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString())
    ?.algorithms[0];
  if (algorithm === undefined)
    throw new StartError('BAD_CONFIG', '--private-key: must be RSA (2,048 to 8,192 bits), P-256 or Ed25519');
  const { TAPWIRE_AUDIENCE: audience } = readConfig(process.env);
  console.log(await signPossessionProof(privateKey, algorithm, { issuer, acquirerId, audience }));
}

function readPrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new StartError('BAD_CONFIG', '--private-key: is not a private key as PEM');
  }
}
