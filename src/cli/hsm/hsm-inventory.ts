import { parseArgs } from 'node:util';
import { CryptoError, HsmUnavailable } from '../../basics/errors.ts';
import { isExchangedKeyId, ownerNamedBy } from '../../codecs/crypto/key-ids.ts';
import type { FiledKey } from '../../hsm-devices/hsm-key-file.ts';
import type { OpenedHsm } from '../../hsm-devices/open-hsm.ts';
import { readConfig } from '../../start/config.ts';
import { INSTALLATION } from '../../store/settings/admin-commit.ts';
import { listRegisteredKeys, type RegisteredKey } from '../../store/switches/hsm-keys.ts';
import { type KeyUse, listKeyUses } from '../../store/switches/key-uses.ts';
import { onDatabase } from '../administration.ts';
import { type Columns, printList } from '../table.ts';
import { flag } from '../words.ts';
import { keyUseRulesOf, withHsm } from './opened-hsm.ts';

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
export async function inventory(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { all: flag, json: flag } });
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
    createdAt: key?.createdAt ?? null,
    lastUsedOn: key?.lastUsedOn ?? null,
    dueOn: key?.dueOn ?? null,
    successor: key?.successor ?? null,
    overlapEndsAt: key?.overlapEndsAt ?? null,
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
