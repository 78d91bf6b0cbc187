import { parseArgs } from 'node:util';
import { newIssuerKey, type StoredIssuerKey } from '#schemas/admin-credentials';
import { readConfig } from '../start/config.ts';
import { IssuerKeySettings } from '../store/settings/issuer-key-settings.ts';
import { callbackPolicy } from '../webhooks/callback-url.ts';
import { changeOf, checkedBy, listAll, onDatabase, ownerOf } from './administration.ts';
import { type Commands, command } from './commands.ts';
import { readText } from './read-file.ts';
import { type Columns, listOf, printList } from './table.ts';
import { flag, idOf, parseNamed, readNumber, text, texts } from './words.ts';

/**
 * `tapwire issuer-key ...`: the keys that sign merchants' tokens. To replace a key, add a second kid, then revoke
 * the first.
 */
export const commands: Commands = {
  add: command(
    '--acquirer ID --integrator ID|--merchant ID --issuer ISS [--kid KID] --public-key FILE|--jwks URL [--algorithm NAME...]: register a key',
    add,
  ),
  list: command('--acquirer ID [--json]: list the issuer keys', list),
  revoke: command('--acquirer ID ISSUER-KEY: refuse all tokens that it signed', revoke),
};

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...{ acquirer: text, integrator: text, merchant: text, issuer: text, kid: text, jwks: text },
      'public-key': text,
      algorithm: texts,
    },
  });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const { integrator, merchant, issuer, kid, jwks, algorithm, 'public-key': keyFile } = values;
  const given = checkedBy(newIssuerKey, {
    ...{ issuer, kid, algorithms: algorithm, merchantId: merchant, jwksUrl: jwks },
    integratorId: integrator && readNumber(integrator),
    publicKey: keyFile && readText('--public-key', keyFile),
  });
  const added = await onIssuerKeys((keys) => keys.add(changeOf(acquirerId), given));
  console.log(listOf([added], COLUMNS));
  return 0;
}

async function list(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, json: flag } });
  const reach = { acquirerId: idOf(values.acquirer, '--acquirer') };
  const keys = await onIssuerKeys((settings) => listAll('id', (page) => settings.list(reach, page)));
  printList(keys, COLUMNS, values.json);
  return 0;
}

async function revoke(args: string[]): Promise<number> {
  const { acquirerId, id } = parseNamed(args, 'ISSUER-KEY');
  await onIssuerKeys((keys) => keys.remove(changeOf(acquirerId), id));
  console.log(`Issuer key ${id} is revoked.`);
  return 0;
}

function onIssuerKeys<Result>(act: (keys: IssuerKeySettings) => Promise<Result>): Promise<Result> {
  const { TAPWIRE_ENV, TAPWIRE_AUDIENCE: ownName } = readConfig(process.env);
  const rules = { policy: callbackPolicy(TAPWIRE_ENV), ownName };
  return onDatabase((database) => act(new IssuerKeySettings(database, rules)));
}

const COLUMNS: Columns<StoredIssuerKey> = {
  titles: ['ISSUER KEY', 'ISSUER', 'KID', 'OF', 'ALGORITHMS', 'STATE'],
  cellsOf: (key) => [
    ...[key.id, key.issuer, key.kid ?? key.jwksUrl ?? 'any', ownerOf(key)],
    ...[key.algorithms.join(' '), key.revokedAt === null ? 'believed' : 'revoked'],
  ],
};
