import { StartError } from '../../basics/errors.ts';
import type { KeyAlgorithm } from '../../codecs/crypto/block-key.ts';
import { KEY_TYPES } from '../../hsm-devices/payshield/host-command.ts';
import { type Config, readConfig } from '../../start/config.ts';
import { mustBeFree } from '../../store/switches/hsm-keys.ts';
import { onDatabase } from '../administration.ts';
import { flag, onlyOne, readText, readWords, text } from '../arguments.ts';
import { openCeremony, runJoin } from './ceremony/ceremony.ts';
import { dueDateOf, kcvOf, type NewKeyPlace, ownerOfNewKey, storeNewKey, usageOf, withHsm } from './opened-hsm.ts';

export const USAGE = `usage: tapwire hsm import --key ID --usage USAGE --under KEY [--kcv KCV] [--due DATE] FILE
       tapwire hsm import --key ID --usage USAGE --under-lmk --kcv KCV [--type TYPE] [--due DATE] FILE
       tapwire hsm import --key ID --usage USAGE --components --kcv KCV [--due DATE]
       tapwire hsm import --join CEREMONY

Adds a key to the file of the HSM's keys (HSM_MODULE or HSM_KEYS_FILE) and registers it. FILE is - for standard input.

  --key ID      acquirer/<id>/... belongs to that acquirer, other ids to the installation
  --usage       keyEncryption | keyBlockProtection | pin | mac | dukptBase
  --under KEY   FILE has a TR-31 key block under this key of the HSM
  --under-lmk   FILE has the key under the LMK, as the console of a payShield has displayed it; a device verifies --kcv
  --type        type of the key under a variant LMK: ZMK | ZPK | TPK | ZAK | TAK | BDK
  --components  two people type a component each, at two terminals; only for the software HSM (dev and qa)
  --join        the second person joins, with the 6 characters that the first terminal shows
  --algorithm   tdes | aes, the algorithm of a key under the LMK or from components (tdes)
  --length      its length in bytes: 8 | 16 | 24 | 32 (16)
  --kcv KCV     check value of the key, 6 hex digits, as the sender has announced it
  --due DATE    the day on which the key should be replaced; a year from now unless given`;

const MAX_BLOCK_CHARS = 10_000;
const NO_FILE =
  'The keys of this HSM are not in a file of the gateway. Import the key with the tools of its maker, then run tapwire hsm register.';

const OPTIONS = {
  ...{ key: text, usage: text, under: text, 'under-lmk': flag, components: flag, join: text, type: text },
  ...{ algorithm: { ...text, default: 'tdes' }, length: { ...text, default: '16' }, kcv: text, due: text },
} as const;

type Values = ReturnType<typeof readWords<typeof OPTIONS>>['values'];

/** `tapwire hsm import`. */
export async function run(args: string[]): Promise<void> {
  const { values, words } = readWords(args, OPTIONS);
  const config = readConfig(process.env);
  if (values.join !== undefined) await runJoin(config, values.join);
  else await importKey(config, values, words);
}

async function importKey(config: Config, values: Values, words: readonly string[]): Promise<void> {
  const keyId = onlyOne(values.key === undefined ? [] : [values.key], '--key');
  const key = { keyId, acquirerId: ownerOfNewKey(keyId), usage: usageOf(values.usage), dueOn: dueDateOf(values.due) };
  const { under, components } = values;
  if ([under !== undefined, values['under-lmk'], components].filter((isGiven) => isGiven).length !== 1)
    throw new StartError('BAD_USAGE', 'Give one of --under, --under-lmk, --components and --join.');
  await withHsm(config, async (_hsm, file) => {
    if (file === undefined) throw new StartError('BAD_CONFIG', NO_FILE);
    await onDatabase(async (database) => {
      await mustBeFree(database, key);
      const into = { database, key, file };
      if (components) return openCeremony(config, into, { ...shapeOf(values), kcv: kcvOf(values.kcv, '--kcv') });
      const content = readKeyText(onlyOne(words, 'FILE'));
      return under === undefined ? importUnderLmk(into, content, values) : importBlock(into, content, under, values);
    });
  });
}

function importBlock(into: NewKeyPlace, block: string, transportKeyId: string, values: Values): Promise<void> {
  const { keyId, usage } = into.key;
  const kcv = values.kcv === undefined ? undefined : kcvOf(values.kcv, '--kcv');
  const added = into.file.importBlock({ keyId, usage, transportKeyId, block, kcv });
  return storeNewKey(into, added, { origin: 'keyBlock', transportKeyId });
}

function importUnderLmk(into: NewKeyPlace, key: string, values: Values): Promise<void> {
  const { keyId, usage } = into.key;
  const { addUnderLmk } = into.file;
  if (addUnderLmk === undefined) throw new StartError('BAD_CONFIG', '--under-lmk: this HSM has no LMK');
  const types = KEY_TYPES[usage];
  const type = types.find((each) => each === values.type);
  if (values.type !== undefined && type === undefined)
    throw new StartError('BAD_CONFIG', `--type: expected ${types.join(' or ')} for ${usage}`);
  const added = addUnderLmk({ keyId, usage, type, ...shapeOf(values), key, kcv: kcvOf(values.kcv, '--kcv') });
  return storeNewKey(into, added, { origin: 'underLmk' });
}

const LENGTHS: Readonly<Record<KeyAlgorithm, readonly number[]>> = { tdes: [8, 16, 24], aes: [16, 24, 32] };

/** @throws StartError BAD_CONFIG */
function shapeOf({ algorithm, length }: Values): { algorithm: KeyAlgorithm; lengthBytes: 8 | 16 | 24 | 32 } {
  if (algorithm !== 'tdes' && algorithm !== 'aes')
    throw new StartError('BAD_CONFIG', '--algorithm: expected tdes or aes');
  const lengths = LENGTHS[algorithm];
  if (!lengths.includes(Number(length)))
    throw new StartError('BAD_CONFIG', `--length: expected ${lengths.join(', ')} for ${algorithm}`);
  return { algorithm, lengthBytes: Number(length) as 8 | 16 | 24 | 32 };
}

function readKeyText(path: string): string {
  const content = readText('FILE', path).trim();
  if (content.length > MAX_BLOCK_CHARS || content === '') throw new StartError('BAD_CONFIG', 'FILE: expected one key');
  return content;
}
