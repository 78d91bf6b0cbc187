import { parseArgs } from 'node:util';
import { apiKeyRotation, newApiKey, type StoredApiKey } from '#schemas/admin-credentials';
import { SCOPES } from '#schemas/scopes';
import type { ApiKeyMode } from '../auth/api-key.ts';
import { readConfig } from '../config.ts';
import { listOperatorKeys, revokeOperatorKey } from '../store/credentials/operator-keys.ts';
import { ApiKeySettings, type IssuedKey } from '../store/settings/api-key-settings.ts';
import { actor, changeOf, checkedBy, idOf, listAll, onDatabase } from './administration.ts';
import { type Commands, runCommand } from './commands.ts';
import { command, onlyOne, parseNamed, readNumber } from './settings-commands.ts';
import { tableOf } from './table.ts';

const COMMANDS: Commands = {
  add: command('--acquirer ID [--integrator ID] [--merchant ID] --name TEXT --scope SCOPE... [--expires TIME]', add),
  list: command('--acquirer ID|--operator [--json]', list),
  rotate: command('--acquirer ID [--overlap-hours 24] KEY: a new one; the old one works for as long', rotate),
  revoke: command('--acquirer ID|--operator KEY: it stops working within seconds', revoke),
  scopes: command('what a key may be allowed to do', scopes),
};

/** `tapwire api-key ...`: the keys of acquirers, integrators and merchants. A new key is printed alone on standard output, once. */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire api-key', COMMANDS, args);
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...{ acquirer: text, integrator: text, merchant: text, name: text, expires: text },
      scope: { ...text, multiple: true },
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
  const keys = await onKeys((settings) =>
    listAll(
      (page) => settings.list(reach, page),
      ({ id }) => id,
    ),
  );
  console.log(values.json ? JSON.stringify(keys, null, 2) : tableOf([TITLES, ...keys.map(rowOf)]));
  return 0;
}

async function listOfOperator(asJson: boolean): Promise<number> {
  const keys = await onDatabase(listOperatorKeys);
  const rows = keys.map(({ id, name, createdAt, lastUsedAt, revokedAt }) => [
    ...[id, name, createdAt, lastUsedAt ?? 'never'],
    revokedAt === null ? 'works' : 'revoked',
  ]);
  console.log(
    asJson ? JSON.stringify(keys, null, 2) : tableOf([['KEY', 'NAME', 'SINCE', 'LAST USED', 'STATE'], ...rows]),
  );
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
  console.log(`The key ${id} is revoked.`);
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
  console.error(`${tableOf([TITLES, rowOf(stored)])}\n\nThe key, shown this once (header x-api-key):`);
  console.log(key.reveal());
  return 0;
}

const TITLES = ['KEY', 'NAME', 'OF', 'SCOPES', 'EXPIRES', 'LAST USED', 'STATE'];

function rowOf(key: StoredApiKey): string[] {
  const { id, name, integratorId, merchantId, expiresAt, lastUsedAt, revokedAt } = key;
  const integrator = integratorId === null ? 'the acquirer' : `integrator ${integratorId}`;
  const owner = merchantId === null ? integrator : `merchant ${merchantId}`;
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= Date.now();
  const state = revokedAt !== null ? 'revoked' : isExpired ? 'expired' : 'works';
  return [id, name, owner, key.scopes.join(' '), expiresAt ?? 'never', lastUsedAt ?? 'never', state];
}
