import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { KEY_PURPOSES, type KeyPurpose, rotateKeys } from '../card/rotate-keys.ts';
import { StartError } from '../errors.ts';
import { type Commands, runCommand } from './commands.ts';

/** Readers may keep the published keys for an hour, offline ones for longer. */
const RETIRE_AFTER_DAYS = '30';
const DAY_MS = 86_400_000;

const COMMANDS: Commands = {
  rotate: {
    says: `put a new key in front of the old ones (--purpose ${KEY_PURPOSES.join('|')})`,
    load: () => Promise.resolve({ run: rotate }),
  },
};

/** `tapwire keys`: the keys of this installation. */
export function run(args: string[]): Promise<number> {
  return runCommand('tapwire keys', COMMANDS, args);
}

/** `tapwire keys rotate`: running gateways take the new key up by themselves, within seconds. */
async function rotate(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { purpose: { type: 'string' }, 'retire-after-days': { type: 'string', default: RETIRE_AFTER_DAYS } },
  });
  const days = Number(values['retire-after-days']);
  if (!KEY_PURPOSES.includes(values.purpose as KeyPurpose)) {
    throw new StartError('BAD_CONFIG', `--purpose: one of ${KEY_PURPOSES.join(', ')}`);
  }
  if (!(days >= 0 && days <= 3_650)) throw new StartError('BAD_CONFIG', '--retire-after-days: 0 to 3650');
  const { TAPWIRE_KEYS_FILE, TAPWIRE_DATA = '.tapwire' } = process.env;
  const path = TAPWIRE_KEYS_FILE || join(TAPWIRE_DATA, 'keys.json');
  const times = { nowMs: Date.now(), retireAfterMs: days * DAY_MS };
  const { added, kept, retireAt, dropped } = await rotateKeys(path, values.purpose as KeyPurpose, times);
  console.log(`current: ${added.join(', ')}`);
  console.log(
    `kept:    ${kept.join(', ')}${retireAt === undefined ? '' : `, to open until ${retireAt} at the latest`}`,
  );
  if (dropped.length > 0) console.log(`dropped: ${dropped.join(', ')}, retired before`);
  return 0;
}
