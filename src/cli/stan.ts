import { StartError } from '../basics/errors.ts';
import { STANS } from '../store/switches/business-dates.ts';
import { continueStans, listStans, type StanScopeState } from '../store/switches/continue-stans.ts';
import { changeOf, onDatabase } from './administration.ts';
import { flag, idOf, readOptions, text } from './arguments.ts';
import { type Columns, printList } from './output.ts';

export const USAGE = `usage: tapwire stan --acquirer ID [--json]
       tapwire stan --acquirer ID [--tid TID] --last NUMBER

Shows the STANs of an acquirer: the next one and how many are left of the business date, for each TID, or for an
acquirer whose switch counts all messages together.

--last continues numbers that are held because a restored backup may lack the last ones (src/observe/README.md, "A
failover and STANs"). It names the last number that the switch has received today. The next one is 10,000 later,
because running gateways may still use numbers that they had before.

  tapwire stan --acquirer 2 --last 812345
  tapwire stan --acquirer 1 --tid TW000001 --last 4711`;

/** `tapwire stan`: shows STANs, or names the last one that a switch has received. */
export async function run(args: string[]): Promise<void> {
  const values = readOptions(args, { acquirer: text, tid: text, last: text, json: flag });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  if (values.last === undefined) {
    printList(await onDatabase((database) => listStans(database, acquirerId)), COLUMNS, values.json);
    return;
  }
  const last = idOf(values.last, '--last');
  if (last > STANS) throw new StartError('BAD_CONFIG', `--last: expected a number from 1 to ${STANS}`);
  const tid = values.tid ?? null;
  const continued = await onDatabase((database) => continueStans(database, { ...changeOf(acquirerId), tid, last }));
  const whose = tid === null ? `acquirer ${acquirerId}` : `TID ${tid}`;
  const how = `tapwire stan --acquirer ${acquirerId} shows`;
  if (continued === 'no-counter')
    throw new StartError('BAD_CONFIG', `No STANs are counted for ${whose}. ${how} what has STANs of its own.`);
  if (continued === 'not-held')
    throw new StartError('BAD_CONFIG', `The STANs of ${whose} are not held, so they continue. ${how} the next one.`);
  const { next, left } = continued;
  console.log(`The next STAN of ${whose} is ${next}. ${left} are left of this business date.`);
}

const COLUMNS: Columns<StanScopeState> = {
  titles: ['TID', 'NEXT', 'LEFT', 'BUSINESS DATE', 'HELD UNTIL'],
  cellsOf: ({ of, next, left, businessDate, heldUntil }) => [
    ...[of ?? '(all messages)', next, String(left), businessDate, heldUntil ?? ''],
  ],
};
