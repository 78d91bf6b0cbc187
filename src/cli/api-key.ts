import { parseArgs } from 'node:util';
import { apiKeyRotation, newApiKey, type StoredApiKey } from '#schemas/admin-credentials';
import { SCOPES } from '#schemas/scopes';
import type { ApiKeyMode } from '../auth/api-key.ts';
import { readConfig } from '../start/config.ts';
import { listOperatorKeys, type OperatorKey, revokeOperatorKey } from '../store/credentials/operator-keys.ts';
import { ApiKeySettings, type IssuedKey } from '../store/settings/credential-settings.ts';
import { actor, changeOf, checkedBy, listAll, onDatabase, ownerOf } from './administration.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, listOf, printList, tableOf } from './table.ts';
import { flag, idOf, onlyOne, parseNamed, readNumber, text, texts } from './words.ts';

/**
 * `tapwire api-key ...`: the keys of acquirers, integrators and merchants. A new key is printed once, alone on
 * standard output.
 */
export const commands: Commands = {
  add: command(
    '--acquirer ID [--integrator ID] [--merchant ID] --name TEXT --scope SCOPE... [--expires TIME]: create a key',
    add,
  ),
  list: command('--acquirer ID|--operator [--json]: list the keys', list),
  rotate: command(
    '--acquirer ID [--overlap-hours 24] KEY: issue a new key; the old key works until the overlap ends',
    rotate,
  ),
  revoke: command('--acquirer ID|--operator KEY: the key stops working within seconds', revoke),
  scopes: command('list the scopes that a key can have', scopes),
};

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...{ acquirer: text, integrator: text, merchant: text, name: text, expires: text },
      scope: texts,
    },
  });
  const { integrator, merchant, name, scope, expires } = values;
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const given = checkedBy(newApiKey, {
    name,
    scopes: scope,
    integratorId: integrator && readNumber(integrator),
    merchantId: merchant,
    expiresAt: expires,
  });
  return print(await onKeys((keys) => keys.add(changeOf(acquirerId), given)));
}

async function list(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, operator: flag, json: flag } });
  if (values.operator) return listOfOperator(values.json);
  const reach = { acquirerId: idOf(values.acquirer, '--acquirer') };
  const keys = await onKeys((settings) => listAll('id', (page) => settings.list(reach, page)));
  printList(keys, COLUMNS, values.json);
  return 0;
}

async function listOfOperator(asJson: boolean): Promise<number> {
  printList(await onDatabase(listOperatorKeys), OPERATOR_COLUMNS, asJson);
  return 0;
}

async function rotate(args: string[]): Promise<number> {
  const { acquirerId, id, values } = parseNamed(args, 'KEY', { 'overlap-hours': text });
  const hours = values['overlap-hours'];
  const { overlapHours } = checkedBy(apiKeyRotation, { overlapHours: hours && readNumber(hours) });
  return print(await onKeys((keys) => keys.rotate(changeOf(acquirerId), id, overlapHours)));
}

async function revoke(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { acquirer: text, operator: flag },
  });
  const id = onlyOne(positionals, 'KEY');
  if (values.operator) await onDatabase((database) => revokeOperatorKey(database, actor(), id));
  else {
    const change = changeOf(idOf(values.acquirer, '--acquirer'));
    await onKeys((keys) => keys.remove(change, id));
  }
  console.log(`API key ${id} is revoked.`);
  return 0;
}

async function scopes(): Promise<number> {
  console.log(tableOf([['SCOPE', 'ALLOWS TO'], ...Object.entries(SCOPES)]));
  return 0;
}

function onKeys<Result>(act: (keys: ApiKeySettings) => Promise<Result>): Promise<Result> {
  const mode: ApiKeyMode = readConfig(process.env).TAPWIRE_ENV === 'prod' ? 'live' : 'test';
  return onDatabase((database) => act(new ApiKeySettings(database, mode)));
}

function print({ stored, text: key }: IssuedKey): number {
  console.error(`${listOf([stored], COLUMNS)}\n\nThe key, shown this once (header x-api-key):`);
  console.log(key.reveal());
  return 0;
}

const COLUMNS: Columns<StoredApiKey> = {
  titles: ['KEY', 'NAME', 'OF', 'SCOPES', 'EXPIRES', 'LAST USED', 'STATE'],
  cellsOf: (key) => [
    ...[key.id, key.name, ownerOf(key), key.scopes.join(' ')],
    ...[key.expiresAt ?? 'never', key.lastUsedAt ?? 'never', stateOf(key)],
  ],
};

const OPERATOR_COLUMNS: Columns<OperatorKey> = {
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
