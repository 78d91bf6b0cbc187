import { parseArgs } from 'node:util';
import { StartError } from '../errors.ts';
import { continueStans } from '../store/switches/continue-stans.ts';
import { STANS } from '../store/switches/stans.ts';
import { changeOf, onDatabase } from './administration.ts';
import { idOf, text } from './words.ts';

export const USAGE = `usage: tapwire stan --acquirer ID [--terminal TID] --last NUMBER

Continues the STANs of a terminal, or of an acquirer whose switch counts all messages together, after the last
number that the switch has received. For the time after a restored backup, when a gateway logs which of them
are held (src/ops/README.md, "A failover and STANs").

  tapwire stan --acquirer 2 --last 812345
  tapwire stan --acquirer 1 --terminal TW000001 --last 4711`;

/** `tapwire stan`: names the last STAN that a switch has received. */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, terminal: text, last: text } });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const last = idOf(values.last, '--last');
  if (last > STANS) throw new StartError('BAD_CONFIG', `--last: expected a number from 1 to ${STANS}`);
  const tid = values.terminal ?? null;
  const left = await onDatabase((database) => continueStans(database, { ...changeOf(acquirerId), tid, last }));
  const whose = tid === null ? `acquirer ${acquirerId}` : `terminal ${tid}`;
  if (left === undefined) throw new StartError('BAD_CONFIG', `The gateway has assigned no STANs for ${whose} alone.`);
  const next = String((last % STANS) + 1).padStart(6, '0');
  console.log(`The next STAN of ${whose} is ${next}. ${left} are left of this business date.`);
  return 0;
}
