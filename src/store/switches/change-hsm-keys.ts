import type pg from 'pg';
import type { ProcessorChange, StoredProcessor } from '#schemas/admin-routing';
import { StartError } from '../../basics/errors.ts';
import {
  type KeyReplacement,
  type SwitchConfig,
  withoutReplacedKey,
  withSuccessor,
} from '../../kits/processor-kit/switch-config.ts';
import { keysNamedBy } from '../../switching/switches/access/switch-access.ts';
import type { Database } from '../postgres/open-database.ts';
import { AcquirerSettings } from '../settings/acquirer-settings.ts';
import { inAdminCommit } from '../settings/admin-commit.ts';
import type { SettingsTable } from '../settings/settings-table.ts';
import { findRegisteredKey, type KeyUseRules, listKeyUses, type RegisteredKey, recordKeyEvent } from './hsm-keys.ts';

/** Gateways read the file of the keys every two seconds. A connection with a key that they do not have is not opened. */
const KNOWN_AFTER_SECONDS = 10;

/** A processor whose configuration names a key. */
export interface ProcessorOfKey {
  readonly acquirerId: number;
  readonly id: number;
  readonly config: SwitchConfig;
}

/** The parts that rotations and retirements share. */
export interface KeyChangeParts {
  readonly database: Database;
  readonly actor: string;
  /** Validates the changed configurations as the admin API does. */
  readonly processors: SettingsTable<ProcessorChange, StoredProcessor>;
}

export interface Rotation extends KeyReplacement {
  /** For how long the replaced key remains usable. */
  readonly overlapSeconds: number;
}

/**
 * Makes one key the successor of another, and changes every configuration that names it, in one commit.
 *
 * @returns the changed processors
 * @throws StartError BAD_CONFIG if one of the keys is not registered, retired or already replaced, or they differ in owner
 *   or use; RequestRejected if a changed configuration is not valid
 */
export function rotateKey(parts: KeyChangeParts, rotation: Rotation): Promise<ProcessorOfKey[]> {
  const { keyId, successor, overlapSeconds } = rotation;
  return changeKey(parts, keyId, async (client, key) => {
    mustBeLive(key);
    if (key.successor !== null) throw new StartError('BAD_CONFIG', `${keyId}: ${key.successor} has replaced it`);
    const next = await findRegisteredKey(client, successor);
    if (next === undefined)
      throw new StartError('BAD_CONFIG', `${successor}: is not registered; import or register it first`);
    mustBeLive(next);
    if (!(await isPast(client, next.createdAt, KNOWN_AFTER_SECONDS)))
      throw new StartError(
        'BAD_CONFIG',
        `${successor}: gateways may not know it yet; wait ${KNOWN_AFTER_SECONDS} seconds`,
      );
    if (next.successor !== null) throw new StartError('BAD_CONFIG', `${successor}: ${next.successor} has replaced it`);
    if (next.acquirerId !== key.acquirerId || next.usage !== key.usage)
      throw new StartError('BAD_CONFIG', `${successor}: its owner and usage must be those of ${keyId}`);
    await client.query(
      `update hsm_keys set successor = $2, overlap_ends_at = now() + $3 * interval '1 second' where key_id = $1`,
      [keyId, successor, overlapSeconds],
    );
    return changeConfigs(client, parts, keyId, (config) => withSuccessor(config, rotation));
  });
}

/**
 * Retires a key that nothing uses. After a rotation and its overlap, the key is also removed from the MAC keys that its
 * successor leads.
 *
 * @throws StartError BAD_CONFIG naming the users of the key, or the end of the overlap
 */
export function retireKey(
  parts: KeyChangeParts,
  keyId: string,
  { now, ...rules }: KeyUseRules & { readonly now: boolean },
): Promise<ProcessorOfKey[]> {
  return changeKey(parts, keyId, async (client, key) => {
    if (key.retiredAt !== null) return [];
    if (key.overlapEndsAt !== null && !now && !(await isPast(client, key.overlapEndsAt)))
      throw new StartError('BAD_CONFIG', `${keyId}: its overlap ends at ${key.overlapEndsAt}; --now ends it at once`);
    const isReplaced = key.successor !== null;
    const changed = isReplaced
      ? await changeConfigs(client, parts, keyId, (config) => withoutReplacedKey(config, keyId))
      : [];
    const users = await usersOf(client, keyId, rules);
    if (users.length > 0) throw new StartError('BAD_CONFIG', `${keyId}: is used by ${users.join(', ')}`);
    await client.query('update hsm_keys set retired_at = now() where key_id = $1', [keyId]);
    return changed;
  });
}

function mustBeLive({ keyId, retiredAt }: RegisteredKey): void {
  if (retiredAt !== null) throw new StartError('BAD_CONFIG', `${keyId}: was retired at ${retiredAt}`);
}

/** Runs `act` in a commit that records the change of the key. Acts on one key run one after another. */
async function changeKey(
  { database, actor }: KeyChangeParts,
  keyId: string,
  act: (client: pg.ClientBase, key: RegisteredKey) => Promise<ProcessorOfKey[]>,
): Promise<ProcessorOfKey[]> {
  const found = await findRegisteredKey(database, keyId);
  if (found === undefined) throw new StartError('BAD_CONFIG', `${keyId}: is not registered; see tapwire hsm inventory`);
  const { acquirerId } = found;
  return inAdminCommit(database, acquirerId, async (client) => {
    await client.query('select from hsm_keys where key_id = $1 for update', [keyId]);
    const before = (await findRegisteredKey(client, keyId))!;
    const changed = await act(client, before);
    const after = (await findRegisteredKey(client, keyId))!;
    if (after.successor !== before.successor || after.retiredAt !== before.retiredAt) {
      const action = after.retiredAt === null ? 'change' : 'remove';
      await recordKeyEvent(client, { acquirerId, actor }, { action, id: keyId, before, after });
    }
    return changed;
  });
}

/** Processors of one acquirer are locked before they are read, as a change by the admin API does. */
async function changeConfigs(
  client: pg.ClientBase,
  { database, actor, processors }: KeyChangeParts,
  keyId: string,
  change: (config: SwitchConfig) => SwitchConfig,
): Promise<ProcessorOfKey[]> {
  const settings = new AcquirerSettings(database, processors);
  const named = await processorsNaming(client, keyId);
  const owners = [...new Set(named.map(({ acquirerId }) => acquirerId))];
  await client.query('select from acquirers where id = any($1) order by id for no key update', [owners]);
  const changed: ProcessorOfKey[] = [];
  for (const { acquirerId, id, config: current } of await processorsNaming(client, keyId)) {
    const config = change(current);
    if (JSON.stringify(config) === JSON.stringify(current)) continue;
    await settings.changeIn(client, { acquirerId, actor }, id, { config, isSameSwitch: true });
    changed.push({ acquirerId, id, config });
  }
  return changed;
}

async function processorsNaming(client: pg.ClientBase, keyId: string): Promise<ProcessorOfKey[]> {
  const { rows } = await client.query<ProcessorOfKey>(
    `select acquirer_id as "acquirerId", id, config from processors where removed_at is null order by acquirer_id, id`,
  );
  return rows.filter(({ config }) => keysNamedBy(config).some((key) => key.keyId === keyId));
}

/** A live exchanged key is imported again after a restart, so its transport key is in use. */
async function usersOf(client: pg.ClientBase, keyId: string, rules: KeyUseRules): Promise<string[]> {
  const uses = await listKeyUses(client, rules);
  const { rows } = await client.query<{ acquirerId: number; processorId: number }>(
    `select distinct acquirer_id as "acquirerId", processor_id as "processorId" from exchanged_keys
     where transport_key_id = $1 and (retires_at is null or retires_at > clock_timestamp()) order by 1, 2`,
    [keyId],
  );
  return [
    ...uses.filter((use) => use.keyId === keyId).map(({ usedBy, setting }) => `${usedBy} (${setting})`),
    ...rows.map((row) => `exchanged keys of processor ${row.processorId} of acquirer ${row.acquirerId}`),
  ];
}

async function isPast(client: pg.ClientBase, time: string, bySeconds = 0): Promise<boolean> {
  const text = `select $1::timestamptz + $2 * interval '1 second' <= now() as "isPast"`;
  return (await client.query<{ isPast: boolean }>(text, [time, bySeconds])).rows[0]!.isPast;
}
