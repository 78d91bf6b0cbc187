import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { HsmUnavailable, StartError, TokenError } from '../basics/errors.ts';
import { createKeyRing, KEY_PURPOSES, type KeyPurpose, rotateKeys } from '../card/change-key-ring.ts';
import { readKeyRingFile } from '../card/key-ring.ts';
import { type KeyRingFile, type KeyToken, TokenKeys } from '../card/key-ring-file.ts';
import { type Config, readConfig } from '../start/config.ts';
import { keyRingPath, openKeyToken } from '../start/open-key-ring.ts';
import { flag, numberIn, readOptions, text } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, printList } from './output.ts';

/** Readers may cache the published keys for an hour, and offline readers for longer. */
const RETIRE_AFTER_DAYS = '30';
const DAY_MS = 86_400_000;

/** `tapwire keys`: the keys of this installation. */
export const commands: Commands = {
  create: command(
    '[--token]: create the key file of a new installation, if it is missing; with --token, its keys are created in the PKCS #11 token',
    async (args) =>
      console.log(await createMissingKeys(readConfig(process.env), readOptions(args, { token: flag }).token)),
  ),
  list: command('[--json]: list the keys of each purpose, newest first, and where they are', list),
  rotate: command(
    `--purpose ${KEY_PURPOSES.join('|')} [--retire-after-days ${RETIRE_AFTER_DAYS}] [--prepare|--activate] [--token]: add a key, and keep the old ones for older values; with --token in the PKCS #11 token. With several hosts: --prepare on one, copy the file to all, then --activate and copy it again`,
    rotate,
  ),
};

/** Creates the key file, unless it exists. @returns a sentence that says which. @throws StartError BAD_CONFIG */
export async function createMissingKeys(config: Config, isInToken: boolean): Promise<string> {
  const path = keyRingPath(config);
  mkdirSync(dirname(path), { recursive: true });
  const isNew = await withToken(config, isInToken, (token) => createKeyRing(path, token));
  return isNew
    ? `The keys of the installation are in ${path}. Keep a copy.`
    : `The keys of the installation in ${path} are unchanged.`;
}

interface ListedKey {
  readonly purpose: string;
  readonly id: string;
  /** `file`, or the CKA_ID in the token. */
  readonly where: string;
  readonly state: string;
}

async function list(args: string[]): Promise<void> {
  const values = readOptions(args, { json: flag });
  const file = await readKeyRingFile(keyRingPath(readConfig(process.env)));
  const keys = Object.entries(file).flatMap(([purpose, entries]) =>
    (entries as KeyRingFile['cardData' | 'panSealing' | 'tokenSigning'][number][]).map((entry, at) => ({
      purpose,
      id: 'kid' in entry ? entry.kid : entry.id,
      where: 'tokenKey' in entry ? `token ${entry.tokenKey}` : 'file',
      state: stateOf(entry, purpose === 'cardData' ? 0 : at), // card data has a current key for each curve
    })),
  );
  printList(keys, KEYS, values.json);
}

const KEYS: Columns<ListedKey> = {
  titles: ['PURPOSE', 'KEY', 'WHERE', 'STATE'],
  cellsOf: ({ purpose, id, where, state }) => [purpose, id, where, state],
};

function stateOf(
  entry: { readonly retireAt?: string | undefined; readonly isPrepared?: true } | object,
  at: number,
): string {
  if ('isPrepared' in entry && entry.isPrepared) return 'prepared';
  if ('retireAt' in entry && entry.retireAt !== undefined) return `opens until ${entry.retireAt}`;
  return at === 0 ? 'current' : 'earlier';
}

/** `tapwire keys rotate`: running gateways load the new key automatically, within seconds. */
async function rotate(args: string[]): Promise<void> {
  const values = readOptions(args, {
    purpose: text,
    'retire-after-days': { ...text, default: RETIRE_AFTER_DAYS },
    ...{ prepare: flag, activate: flag, token: flag },
  });
  const { prepare: isPreparing, activate: isActivating } = values;
  if (isPreparing && isActivating) throw new StartError('BAD_USAGE', 'Give --prepare or --activate, not both.');
  const step = isPreparing ? 'prepare' : isActivating ? 'activate' : undefined;
  if (!KEY_PURPOSES.includes(values.purpose as KeyPurpose)) {
    throw new StartError('BAD_CONFIG', `--purpose: one of ${KEY_PURPOSES.join(', ')}`);
  }
  const days = numberIn(values['retire-after-days'], '--retire-after-days', 0, 3_650);
  const config = readConfig(process.env);
  const times = { nowMs: Date.now(), retireAfterMs: days * DAY_MS };
  const { added, kept, retireAt, dropped } = await withToken(config, values.token, (token) =>
    rotateKeys(keyRingPath(config), values.purpose as KeyPurpose, { ...times, token, step }),
  );
  console.log(`${isPreparing ? 'added:  ' : 'current:'} ${added.join(', ')}${isPreparing ? ', prepared' : ''}`);
  console.log(
    `kept:    ${kept.join(', ')}${retireAt === undefined ? '' : `, to open until ${retireAt} at the latest`}`,
  );
  if (dropped.length > 0) console.log(`dropped: ${dropped.join(', ')}, retired earlier`);
}

/**
 * Calls `act` with the token if it is asked for.
 *
 * @throws StartError BAD_CONFIG if no token is configured, or it does not respond or refuses
 */
async function withToken<Result>(
  config: Config,
  isAsked: boolean,
  act: (token: KeyToken | undefined) => Promise<Result>,
): Promise<Result> {
  if (!isAsked) return act(undefined);
  const token = await openKeyToken(config);
  if (!token) throw new StartError('BAD_CONFIG', '--token needs PKCS11_MODULE, PKCS11_TOKEN and PKCS11_PIN_FILE');
  try {
    await token.check();
    return await act(new TokenKeys(token));
  } catch (cause) {
    if (!(cause instanceof HsmUnavailable || cause instanceof TokenError)) throw cause;
    const { lastFailure } = token.deviceStates()[0]!;
    throw new StartError('BAD_CONFIG', `the token ${config.PKCS11_TOKEN} cannot be used: ${lastFailure}`, { cause });
  } finally {
    await token.close();
  }
}
