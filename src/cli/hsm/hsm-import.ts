import { parseArgs } from 'node:util';
import { readConfig } from '../../config.ts';
import { StartError } from '../../errors.ts';
import { KEY_TYPES } from '../../hsm/payshield/key-field.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { mustBeFree, type NewKey, type Origin, registerKey } from '../../store/switches/hsm-keys.ts';
import type { AddedKey, HsmKeyFile } from '../../switches/hsm-key-file.ts';
import { actor, onDatabase } from '../administration.ts';
import { readText } from '../read-file.ts';
import { flag, onlyOne, text } from '../words.ts';
import { dueDateOf, kcvOf, named, ownerOfNewKey, usageOf, withHsm } from './opened-hsm.ts';

export const USAGE = `usage: tapwire hsm import --key ID --usage USAGE --under KEY [--kcv KCV] [--due DATE] FILE
       tapwire hsm import --key ID --usage USAGE --kcv KCV --under-lmk [--type TYPE] [--due DATE] FILE

Adds a key to the file of the HSM's keys (HSM_MODULE or HSM_KEYS_FILE) and registers it. FILE is - for standard input.

  --key ID     acquirer/<id>/... belongs to that acquirer, other ids to the installation
  --usage      keyEncryption | keyBlockProtection | pin | mac | dukptBase
  --under KEY  FILE has a TR-31 key block under this key of the HSM
  --under-lmk  FILE has the key under the LMK, as the console of a payShield has displayed it; a device verifies --kcv
  --type       type of the key under a variant LMK: ZMK | ZPK | TPK | ZAK | TAK | BDK
  --kcv KCV    check value, 6 hex digits, as the sender has announced it
  --due DATE   the day on which the key should be replaced; a year from now unless given`;

const MOST_BLOCK_CHARS = 10_000;

interface UnderLmk {
  readonly type?: string | undefined;
  readonly kcv?: string | undefined;
}

/** The new key and where it is stored. */
export interface ImportOptions {
  readonly database: Database;
  readonly key: Pick<NewKey, 'keyId' | 'acquirerId' | 'usage' | 'dueOn'>;
  readonly file: HsmKeyFile;
}

/** `tapwire hsm import`. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...{ key: text, usage: text, under: text, 'under-lmk': flag, type: text, kcv: text, due: text },
    },
  });
  const keyId = onlyOne(values.key === undefined ? [] : [values.key], '--key');
  const key = { keyId, acquirerId: ownerOfNewKey(keyId), usage: usageOf(values.usage), dueOn: dueDateOf(values.due) };
  const { under, 'under-lmk': isUnderLmk } = values;
  if ((under === undefined) === !isUnderLmk) throw new StartError('BAD_USAGE', 'Give --under or --under-lmk.');
  return withHsm(readConfig(process.env), async (_hsm, file) => {
    if (file === undefined) throw new StartError('BAD_CONFIG', NO_FILE);
    return onDatabase(async (database) => {
      await mustBeFree(database, key);
      const content = readKeyText(onlyOne(positionals, 'FILE'));
      const into = { database, key, file };
      if (isUnderLmk) return importUnderLmk(into, content, values);
      const kcv = values.kcv === undefined ? undefined : kcvOf(values.kcv, '--kcv');
      const request = { keyId, usage: key.usage, transportKeyId: under!, block: content, kcv };
      await store(into, file.importBlock(request), { origin: 'keyBlock', transportKeyId: under });
      return 0;
    });
  });
}

async function importUnderLmk(into: ImportOptions, content: string, { type: given, kcv }: UnderLmk): Promise<number> {
  const { key, file } = into;
  if (file.addUnderLmk === undefined) throw new StartError('BAD_CONFIG', '--under-lmk: this HSM has no LMK');
  const types = KEY_TYPES[key.usage];
  const type = types.find((each) => each === given);
  if (given !== undefined && type === undefined)
    throw new StartError('BAD_CONFIG', `--type: expected ${types.join(' or ')} for ${key.usage}`);
  const { keyId, usage } = key;
  const added = file.addUnderLmk({ keyId, usage, type, key: content, kcv: kcvOf(kcv, '--kcv') });
  await store(into, added, { origin: 'underLmk' });
  return 0;
}

const NO_FILE =
  'The keys of this HSM are not in a file of the gateway. Import the key with the tools of its maker, then run tapwire hsm register.';

/**
 * Registers a key after it was added to the file. If that fails, the key is listed as not registered, and can be
 * registered later.
 */
export async function store(
  { database, key, file }: ImportOptions,
  adding: Promise<AddedKey>,
  origin: Origin,
): Promise<void> {
  const { kcv } = await named(key.keyId, adding);
  await registerKey(database, actor(), { ...key, kcv }, origin);
  console.log(`${key.keyId} is in ${file.path} and registered: check value ${kcv}, due on ${key.dueOn}.`);
}

function readKeyText(path: string): string {
  const content = readText('FILE', path).trim();
  if (content.length > MOST_BLOCK_CHARS || content === '') throw new StartError('BAD_CONFIG', 'FILE: expected one key');
  return content;
}
