import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { parseArgs } from 'node:util';
import { newIssuerKey, type StoredIssuerKey } from '#schemas/admin-credentials';
import { readIssuerPem } from '../auth/issuers/issuer-keys.ts';
import { signPossessionProof } from '../auth/issuers/possession-proof.ts';
import { StartError } from '../basics/errors.ts';
import { readConfig } from '../start/config.ts';
import { IssuerKeySettings } from '../store/settings/credential-settings.ts';
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
    '--acquirer ID --integrator ID|--merchant ID --issuer ISS [--kid KID] --public-key FILE --proof FILE|--jwks URL [--algorithm NAME...]: register a key',
    add,
  ),
  prove: command(
    '--acquirer ID --issuer ISS --private-key FILE: print the proof that `add` needs, as the owner of the key',
    prove,
  ),
  list: command('--acquirer ID [--json]: list the issuer keys', list),
  revoke: command('--acquirer ID ISSUER-KEY: refuse all tokens that it signed', revoke),
};

async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...{ acquirer: text, integrator: text, merchant: text, issuer: text, kid: text, jwks: text },
      ...{ 'public-key': text, proof: text },
      algorithm: texts,
    },
  });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const { integrator, merchant, issuer, kid, jwks, algorithm, 'public-key': keyFile, proof } = values;
  const given = checkedBy(newIssuerKey, {
    ...{ issuer, kid, algorithms: algorithm, merchantId: merchant, jwksUrl: jwks },
    integratorId: integrator && readNumber(integrator),
    publicKey: keyFile && readText('--public-key', keyFile),
    proof: proof && readText('--proof', proof).trim(),
  });
  const added = await onIssuerKeys((keys) => keys.add(changeOf(acquirerId), given));
  console.log(listOf([added], COLUMNS));
  return 0;
}

async function prove(args: string[]): Promise<number> {
  const options = { acquirer: text, issuer: text, 'private-key': text };
  const { acquirer, issuer, 'private-key': keyFile } = parseArgs({ args, options }).values;
  const acquirerId = idOf(acquirer, '--acquirer');
  if (issuer === undefined) throw new StartError('BAD_CONFIG', '--issuer: is required');
  const privateKey = readPrivateKey(readText('--private-key', keyFile));
  const algorithm = readIssuerPem(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString())
    ?.algorithms[0];
  if (algorithm === undefined)
    throw new StartError('BAD_CONFIG', '--private-key: must be RSA (2,048 to 8,192 bits), P-256 or Ed25519');
  const { TAPWIRE_AUDIENCE: audience } = readConfig(process.env);
  console.log(await signPossessionProof(privateKey, algorithm, { issuer, acquirerId, audience }));
  return 0;
}

function readPrivateKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new StartError('BAD_CONFIG', '--private-key: is not a private key as PEM');
  }
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
