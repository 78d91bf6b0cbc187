import { CryptoError, HsmUnavailable, StartError } from '../../basics/errors.ts';
import { isExchangedKeyId, ownerNamedBy } from '../../codecs/crypto/key-policy.ts';
import type { FiledKey } from '../../hsm-devices/hsm-key-file.ts';
import type { OpenedHsm } from '../../hsm-devices/open-hsm.ts';
import { type Config, readConfig } from '../../start/config.ts';
import { switchAccessOf } from '../../start/open-hsm-and-readers.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { INSTALLATION } from '../../store/settings/admin-commit.ts';
import { processorSettingsFor } from '../../store/settings/processor-settings.ts';
import {
  type KeyChangeParts,
  type ProcessorOfKey,
  retireKey,
  rotateKey,
} from '../../store/switches/change-hsm-keys.ts';
import {
  findRegisteredKey,
  type KeyUse,
  listKeyUses,
  listRegisteredKeys,
  mustBeFree,
  type RegisteredKey,
  registerKey,
} from '../../store/switches/hsm-keys.ts';
import type { HsmDeviceState } from '../../switching/hsm/hsm-calls.ts';
import { hsmFindings } from '../../tools/doctor/key-findings.ts';
import { actor, onDatabase } from '../administration.ts';
import { flag, needed, onlyOne, readOptions, readWords, text } from '../arguments.ts';
import { type Commands, command, inFile } from '../commands.ts';
import { type Columns, printList } from '../output.ts';
import { installedTypes } from '../plug-ins.ts';
import { dueDateOf, keyUseRulesOf, named, ownerOfNewKey, usageOf, withHsm } from './opened-hsm.ts';

/** `tapwire hsm ...`: the HSM of the environment (`HSM_MODULE`, `HSM_KEYS_FILE`). Nothing here shows a key. */
export const commands: Commands = {
  status: command('[--json]: show each device; exit code 1 if one is not ready', status),
  inventory: command(
    '[--all] [--json]: list the keys with owner, check value, dates and users; exit code 1 if one is not usable (--all: retired keys as well)',
    inventory,
  ),
  import: inFile('--key ID --usage USAGE ...: add a key that another party has sent', () => import('./hsm-import.ts')),
  register: command('[--usage USAGE] [--due DATE] KEY: record the facts of a key that the HSM has already', register),
  rotate: command(
    '--successor KEY [--number N] [--overlap 7d] KEY: let the successor take the place of a key in every processor',
    rotate,
  ),
  retire: command('[--now] KEY: remove a key that nothing uses (--now: before the end of its overlap)', retire),
};

const NO_HSM = 'No HSM is configured.';
const OVERLAP = '7d';
const HOUR_SECONDS = 3_600;
const OVERLAP_MOST_DAYS = 366;

/** `tapwire hsm register [--usage USAGE] [--due DATE] KEY`: for a key that came to the HSM in another way. */
async function register(args: string[]): Promise<void> {
  const { values, words } = readWords(args, { usage: text, due: text });
  const keyId = onlyOne(words, 'KEY');
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
}

/** `tapwire hsm rotate --successor KEY [--number N] [--overlap 7d] KEY`. */
async function rotate(args: string[]): Promise<void> {
  const { values, words } = readWords(args, { successor: text, number: text, overlap: { ...text, default: OVERLAP } });
  const keyId = onlyOne(words, 'KEY');
  const successor = needed(values.successor, '--successor: is required');
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
}

/** `tapwire hsm retire [--now] KEY`. */
async function retire(args: string[]): Promise<void> {
  const { values, words } = readWords(args, { now: flag });
  const keyId = onlyOne(words, 'KEY');
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

/** `tapwire hsm status [--json]`. */
async function status(args: string[]): Promise<number> {
  const values = readOptions(args, { json: flag });
  return withHsm(readConfig(process.env), async (hsm) => {
    const states = hsm?.deviceStates?.();
    if (states === undefined) {
      console.log(hsm ? 'The HSM has no devices on the network.' : 'No HSM is configured.');
      return 0;
    }
    printList(states, DEVICES, values.json);
    const faults = hsmFindings(states).filter(({ verdict }) => verdict !== 'good');
    if (!values.json)
      for (const { part, description, advice } of faults) console.log(`${part}: ${description}\n  -> ${advice}`);
    return states.every((state) => state.status === 'ready') ? 0 : 1;
  });
}

const DEVICES: Columns<HsmDeviceState> = {
  titles: ['DEVICE', 'ADDRESS', 'STATUS', 'CONNECTIONS', 'FIRMWARE', 'LMK'],
  cellsOf: ({ name, address, status: state, connectionsReady, connections, firmware, lmkCheckValue }) => [
    ...[name, address, state, `${connectionsReady} of ${connections}`],
    ...[firmware ?? 'unknown', lmkCheckValue ?? 'unknown'],
  ],
};

/**
 * The state of a key. `due`: its day to be replaced has come. `replaced`: its successor has taken its place. `different`:
 * the HSM has another key with this id than the registered one.
 */
type KeyState = 'active' | 'due' | 'replaced' | 'retired' | 'exchanged' | 'not registered' | 'different';

interface ListedKey {
  readonly keyId: string;
  /** 0 for the installation. */
  readonly owner: number;
  readonly usage: string | null;
  /** 6 hex digits as the HSM computes it, or why it cannot. */
  readonly kcv: string;
  readonly state: KeyState;
  readonly createdAt: string | null;
  readonly lastUsedOn: string | null;
  readonly dueOn: string | null;
  readonly successor: string | null;
  readonly overlapEndsAt: string | null;
  readonly usedBy: readonly Omit<KeyUse, 'keyId' | 'exchangedKcv'>[];
}

const KCV = /^[0-9A-F]{4,}$/;

/** `tapwire hsm inventory [--all] [--json]`. */
async function inventory(args: string[]): Promise<number> {
  const values = readOptions(args, { all: flag, json: flag });
  const config = readConfig(process.env);
  const rules = await keyUseRulesOf(config);
  const known = await onDatabase(async (database) => ({
    uses: await listKeyUses(database, rules),
    registered: await listRegisteredKeys(database),
  }));
  return withHsm(config, async (hsm, file) => {
    const filed = (await file?.list()) ?? [];
    const listed: ListedKey[] = [];
    for (const keyId of idsOf(known.uses, known.registered, filed)) {
      const key = await describe(keyId, { ...known, filed, hsm });
      if (values.all || key.state !== 'retired' || key.usedBy.length > 0) listed.push(key);
    }
    printList(listed, COLUMNS, values.json);
    const isUsable = ({ kcv, state }: ListedKey) => state === 'retired' || (KCV.test(kcv) && state !== 'different');
    return listed.every(isUsable) ? 0 : 1;
  });
}

function idsOf(...lists: readonly (readonly { readonly keyId: string }[])[]): string[] {
  return [...new Set(lists.flatMap((list) => list.map(({ keyId }) => keyId)))].sort();
}

interface KnownKeys {
  readonly uses: readonly KeyUse[];
  readonly registered: readonly RegisteredKey[];
  readonly filed: readonly FiledKey[];
  readonly hsm: OpenedHsm | undefined;
}

async function describe(keyId: string, { uses, registered, filed, hsm }: KnownKeys): Promise<ListedKey> {
  const usedBy = uses.filter((use) => use.keyId === keyId);
  const key = registered.find((each) => each.keyId === keyId);
  const exchangedKcv = usedBy[0]?.exchangedKcv;
  const kcv = exchangedKcv ?? (key?.retiredAt ? key.kcv : await kcvIn(hsm, keyId));
  return {
    keyId,
    owner: key?.acquirerId ?? ownerNamedBy(keyId) ?? INSTALLATION,
    usage: key?.usage ?? filed.find((each) => each.keyId === keyId)?.usage ?? null,
    kcv,
    state: isExchangedKeyId(keyId) ? 'exchanged' : stateOf(key, kcv),
    ...{ createdAt: key?.createdAt ?? null, lastUsedOn: key?.lastUsedOn ?? null, dueOn: key?.dueOn ?? null },
    ...{ successor: key?.successor ?? null, overlapEndsAt: key?.overlapEndsAt ?? null },
    usedBy: usedBy.map(({ usedBy: user, setting, since, until }) => ({ usedBy: user, setting, since, until })),
  };
}

function stateOf(key: RegisteredKey | undefined, kcv: string): KeyState {
  if (key === undefined) return 'not registered';
  if (key.retiredAt !== null) return 'retired';
  if (KCV.test(kcv) && kcv !== key.kcv) return 'different';
  if (key.successor !== null) return 'replaced';
  return key.dueOn <= new Date().toISOString().substring(0, 10) ? 'due' : 'active';
}

const COLUMNS: Columns<ListedKey> = {
  titles: ['KEY', 'OWNER', 'USAGE', 'KCV', 'STATE', 'CREATED', 'LAST USED', 'DUE', 'USED BY'],
  cellsOf: ({ keyId, owner, usage, kcv, state, createdAt, lastUsedOn, dueOn, usedBy }) => [
    ...[keyId, owner === INSTALLATION ? 'installation' : `acquirer ${owner}`, usage ?? '', kcv, state],
    ...[createdAt?.substring(0, 10) ?? '', lastUsedOn ?? '', dueOn ?? ''],
    usedBy.map(({ usedBy: user, setting }) => `${user}, ${setting}`).join('; ') || 'nothing',
  ],
};

/** The code of a fault; the text of a key never leaves the HSM. */
async function kcvIn(hsm: OpenedHsm | undefined, keyId: string): Promise<string> {
  if (hsm === undefined) return 'NO_HSM';
  try {
    return await hsm.kcv(keyId);
  } catch (error) {
    if (error instanceof CryptoError || error instanceof HsmUnavailable) return error.code;
    throw error;
  }
}
