import { parseArgs } from 'node:util';
import { StartError } from '../../basics/errors.ts';
import { type Config, readConfig } from '../../start/config.ts';
import { switchAccessOf } from '../../start/switch-access-of.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { processorSettingsFor } from '../../store/settings/processor-settings.ts';
import {
  type KeyChangeParts,
  type ProcessorOfKey,
  retireKey,
  rotateKey,
} from '../../store/switches/change-hsm-keys.ts';
import { findRegisteredKey, mustBeFree, registerKey } from '../../store/switches/hsm-keys.ts';
import { actor, onDatabase } from '../administration.ts';
import { installedTypes } from '../processor-types.ts';
import { flag, onlyOne, text } from '../words.ts';
import { dueDateOf, keyUseRulesOf, named, ownerOfNewKey, usageOf, withHsm } from './opened-hsm.ts';

const NO_HSM = 'No HSM is configured.';
const OVERLAP = '7d';
const HOUR_SECONDS = 3_600;
const OVERLAP_MOST_DAYS = 366;

/** `tapwire hsm register [--usage USAGE] [--due DATE] KEY`: for a key that came to the HSM in another way. */
export async function register(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { usage: text, due: text } });
  const keyId = onlyOne(positionals, 'KEY');
  const acquirerId = ownerOfNewKey(keyId);
  const dueOn = dueDateOf(values.due);
  await withHsm(readConfig(process.env), async (hsm, file) => {
    if (hsm === undefined) throw new StartError('BAD_CONFIG', NO_HSM);
    const filed = (await file?.list())?.find((key) => key.keyId === keyId);
    const usage = filed?.usage ?? usageOf(values.usage);
    if (values.usage !== undefined && values.usage !== usage)
      throw new StartError('BAD_CONFIG', `--usage: the HSM has the key for ${usage}`);
    const kcv = await named(keyId, hsm.kcv(keyId));
    const key = { keyId, acquirerId, usage, kcv, dueOn };
    await onDatabase(async (database) => {
      await mustBeFree(database, key);
      await registerKey(database, actor(), key, { origin: 'present' });
    });
    console.log(`${keyId} is registered: check value ${kcv}, due on ${dueOn}.`);
  });
  return 0;
}

/** `tapwire hsm rotate --successor KEY [--number N] [--overlap 7d] KEY`. */
export async function rotate(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { successor: text, number: text, overlap: { ...text, default: OVERLAP } },
  });
  const keyId = onlyOne(positionals, 'KEY');
  const { successor } = values;
  if (successor === undefined) throw new StartError('BAD_CONFIG', '--successor: is required');
  if (successor === keyId) throw new StartError('BAD_CONFIG', '--successor: expected another key');
  const number = numberOf(values.number);
  const overlapSeconds = overlapOf(values.overlap);
  const config = readConfig(process.env);
  if (keyId === config.READER_PIN_KEY)
    throw new StartError(
      'BAD_CONFIG',
      `${keyId}: READER_PIN_KEY names it; set READER_PIN_KEY to the successor instead`,
    );
  const changed = await withHsm(config, async (hsm) => {
    if (hsm === undefined) throw new StartError('BAD_CONFIG', NO_HSM);
    const kcv = await named(successor, hsm.kcv(successor));
    return onDatabase(async (database) => {
      const key = await findRegisteredKey(database, successor);
      if (key !== undefined && key.kcv !== kcv)
        throw new StartError(
          'BAD_CONFIG',
          `${successor}: the HSM has another key than the registered one (check value ${kcv})`,
        );
      return rotateKey(await partsOf(config, database), { keyId, successor, number, overlapSeconds });
    });
  });
  console.log(
    `${successor} has replaced ${keyId} in ${listed(changed)}. ${keyId} remains usable for ${values.overlap}.`,
  );
  return 0;
}

/** `tapwire hsm retire [--now] KEY`. */
export async function retire(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { now: flag } });
  const keyId = onlyOne(positionals, 'KEY');
  const config = readConfig(process.env);
  const rules = await keyUseRulesOf(config);
  await withHsm(config, async (_hsm, file) => {
    await onDatabase(async (database) =>
      retireKey(await partsOf(config, database), keyId, { ...rules, now: values.now }),
    );
    // Afterwards: a key without users that is still in the file harms nothing, and the command can be repeated.
    const wasFiled = await file?.remove(keyId);
    console.log(wasFiled ? `${keyId} is retired and removed from ${file!.path}.` : `${keyId} is retired.`);
    if (file === undefined) console.log('Remove it from the HSM with the tools of its maker.');
  });
  return 0;
}

async function partsOf(config: Config, database: Database): Promise<KeyChangeParts> {
  const processors = processorSettingsFor(await installedTypes(), switchAccessOf(config));
  return { database, actor: actor(), processors };
}

function listed(processors: readonly ProcessorOfKey[]): string {
  if (processors.length === 0) return 'no processor';
  return processors.map(({ acquirerId, id }) => `processor ${id} of acquirer ${acquirerId}`).join(', ');
}

function numberOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^\d{1,2}$/.test(given)) throw new StartError('BAD_CONFIG', '--number: expected 0 to 99');
  return Number(given);
}

function overlapOf(given: string): number {
  const [, digits, unit] = /^(\d{1,4})([hd])$/.exec(given) ?? [];
  const seconds = Number(digits) * HOUR_SECONDS * (unit === 'd' ? 24 : 1);
  if (digits === undefined || seconds > OVERLAP_MOST_DAYS * 24 * HOUR_SECONDS)
    throw new StartError(
      'BAD_CONFIG',
      `--overlap: expected hours or days, such as 24h or ${OVERLAP}, at most ${OVERLAP_MOST_DAYS}d`,
    );
  return seconds;
}
