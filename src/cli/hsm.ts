import { parseArgs } from 'node:util';
import { type Config, readConfig } from '../config.ts';
import { CryptoError, HsmUnavailable } from '../errors.ts';
import type { HsmDeviceState } from '../hsm/device-state.ts';
import { hsmFindings } from '../ops/doctor/hsm-findings.ts';
import { type KeyUse, listKeyUses } from '../store/switches/key-uses.ts';
import { type OpenedHsm, openHsm } from '../switches/open-hsm.ts';
import { onDatabase } from './administration.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, printList } from './table.ts';
import { flag } from './words.ts';

/** `tapwire hsm ...`: the HSM of the environment (`HSM_MODULE`, `HSM_KEYS_FILE`). Nothing here shows a key. */
export const commands: Commands = {
  status: command('[--json]: show each device; exit code 1 if one is not ready', status),
  inventory: command(
    '[--json]: list the keys that processors and readers use, with check values; exit code 1 if one is not usable',
    inventory,
  ),
};

async function status(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { json: flag } });
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

interface ListedKey extends KeyUse {
  /** 6 hex digits as the HSM computes it, or why it cannot. */
  readonly kcv: string;
}

async function inventory(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { json: flag } });
  const config = readConfig(process.env);
  const uses = await onDatabase((database) => listKeyUses(database, config.READER_PIN_KEY));
  return withHsm(config, async (hsm) => {
    const keys: ListedKey[] = [];
    for (const use of uses) keys.push({ ...use, kcv: use.exchangedKcv ?? (await kcvIn(hsm, use.keyId)) });
    printList(keys, KEYS, values.json);
    return keys.every(({ kcv }) => /^[0-9A-F]{4,}$/.test(kcv)) ? 0 : 1;
  });
}

const KEYS: Columns<ListedKey> = {
  titles: ['KEY', 'USED BY', 'FOR', 'KCV', 'SINCE', 'UNTIL'],
  cellsOf: ({ keyId, usedBy, setting, kcv, since, until }) => [
    ...[keyId, usedBy, setting, kcv],
    ...[since ?? 'configured', until ?? 'replaced'],
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

async function withHsm(
  { TAPWIRE_ENV, HSM_KEYS_FILE, HSM_MODULE }: Config,
  act: (hsm: OpenedHsm | undefined) => Promise<number>,
): Promise<number> {
  const hsm = await openHsm({ environment: TAPWIRE_ENV, keysFile: HSM_KEYS_FILE, module: HSM_MODULE });
  try {
    return await act(hsm);
  } finally {
    await hsm?.close?.();
  }
}
