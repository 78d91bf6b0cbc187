import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { newIssuerKey, type StoredIssuerKey } from '#schemas/admin-credentials';
import { readConfig } from '../config.ts';
import { StartError } from '../errors.ts';
import { IssuerKeySettings } from '../store/settings/issuer-key-settings.ts';
import { callbackPolicy } from '../webhooks/callback-url.ts';
import { changeOf, checkedBy, idOf, listAll, onDatabase } from './administration.ts';
import { type Commands, runCommand } from './commands.ts';
import { command, parseNamed, readNumber } from './settings-commands.ts';
import { tableOf } from './table.ts';

const COMMANDS: Commands = {
  add: command('--acquirer ID --integrator ID|--merchant ID --issuer ISS --kid KID --public-key FILE|--jwks URL', add),
  list: command('--acquirer ID [--json]', list),
  revoke: command('--acquirer ID ISSUER-KEY: nothing that it signed is believed any more', revoke),
};

/** `tapwire issuer-key ...`: the keys that sign merchants' tokens. To change one, add a second kid, then revoke the first. */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire issuer-key', COMMANDS, args);
}

const text = { type: 'string' } as const;

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...{ acquirer: text, integrator: text, merchant: text, issuer: text, kid: text, jwks: text },
      'public-key': text,
      algorithm: { ...text, multiple: true },
    },
  });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const { integrator, merchant, issuer, kid, jwks, algorithm } = values;
  const given = checkedBy(newIssuerKey, {
    ...{ issuer, kid, algorithms: algorithm, merchantId: merchant, jwksUrl: jwks },
    integratorId: integrator && readNumber(integrator),
    publicKey: readKeyFile(values['public-key']),
  });
  const added = await onIssuerKeys((keys) => keys.add(changeOf(acquirerId), given));
  console.log(tableOf([TITLES, rowOf(added)]));
  return 0;
}

async function list(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, json: { type: 'boolean', default: false } } });
  const reach = { acquirerId: idOf(values.acquirer, '--acquirer') };
  const keys = await onIssuerKeys((settings) =>
    listAll(
      (page) => settings.list(reach, page),
      ({ id }) => id,
    ),
  );
  console.log(values.json ? JSON.stringify(keys, null, 2) : tableOf([TITLES, ...keys.map(rowOf)]));
  return 0;
}

async function revoke(args: string[]): Promise<number> {
  const { acquirerId, id } = parseNamed(args, 'ISSUER-KEY');
  await onIssuerKeys((keys) => keys.remove(changeOf(acquirerId), id));
  console.log(`The issuer key ${id} is revoked.`);
  return 0;
}

function onIssuerKeys<Result>(act: (keys: IssuerKeySettings) => Promise<Result>): Promise<Result> {
  const policy = callbackPolicy(readConfig(process.env).TAPWIRE_ENV);
  return onDatabase((database) => act(new IssuerKeySettings(database, policy)));
}

function readKeyFile(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `--public-key ${path}: ${(cause as Error).message}`, { cause });
  }
}

const TITLES = ['ISSUER KEY', 'ISSUER', 'KID', 'OF', 'ALGORITHMS', 'STATE'];

function rowOf({
  id,
  issuer,
  kid,
  integratorId,
  merchantId,
  algorithms,
  revokedAt,
  jwksUrl,
}: StoredIssuerKey): string[] {
  const owner = merchantId === null ? `integrator ${integratorId}` : `merchant ${merchantId}`;
  const state = revokedAt === null ? 'believed' : 'revoked';
  return [id, issuer, kid ?? jwksUrl ?? 'any', owner, algorithms.join(' '), state];
}
