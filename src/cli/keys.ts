import { parseArgs } from 'node:util';
import { KEY_PURPOSES, type KeyPurpose, rotateKeys } from '../card/rotate-keys.ts';
import { readConfig } from '../config.ts';
import { StartError } from '../errors.ts';
import { keyRingPath } from '../gateway/open-key-ring.ts';
import { type Commands, command } from './commands.ts';
import { text } from './words.ts';

/** Readers may cache the published keys for an hour, and offline readers for longer. */
const RETIRE_AFTER_DAYS = '30';
const DAY_MS = 86_400_000;

/** `tapwire keys`: the keys of this installation. */
export const commands: Commands = {
  rotate: command(
    `--purpose ${KEY_PURPOSES.join('|')} [--retire-after-days ${RETIRE_AFTER_DAYS}]: add a key, and keep the old ones for older values`,
    rotate,
  ),
};

/** `tapwire keys rotate`: running gateways load the new key automatically, within seconds. */
async function rotate(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { purpose: text, 'retire-after-days': { ...text, default: RETIRE_AFTER_DAYS } },
  });
  const days = Number(values['retire-after-days']);
  if (!KEY_PURPOSES.includes(values.purpose as KeyPurpose)) {
    throw new StartError('BAD_CONFIG', `--purpose: one of ${KEY_PURPOSES.join(', ')}`);
  }
  if (!(days >= 0 && days <= 3_650)) throw new StartError('BAD_CONFIG', '--retire-after-days: 0 to 3650');
  const path = keyRingPath(readConfig(process.env));
  const times = { nowMs: Date.now(), retireAfterMs: days * DAY_MS };
  const { added, kept, retireAt, dropped } = await rotateKeys(path, values.purpose as KeyPurpose, times);
  console.log(`current: ${added.join(', ')}`);
  console.log(
    `kept:    ${kept.join(', ')}${retireAt === undefined ? '' : `, to open until ${retireAt} at the latest`}`,
  );
  if (dropped.length > 0) console.log(`dropped: ${dropped.join(', ')}, retired earlier`);
  return 0;
}
