import { parseArgs } from 'node:util';
import type { RecordedChange } from '#schemas/admin-audit';
import { StartError } from '../errors.ts';
import { INSTALLATION } from '../store/settings/admin-commit.ts';
import { listAdminEvents } from '../store/settings/admin-events.ts';
import { onDatabase } from './administration.ts';
import { type Columns, printList } from './table.ts';
import { flag, idOf, text } from './words.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire audit [--acquirer ID] [--limit 100] [--json]        show who changed which setting, newest first`;

/** Most rows for a person to read; a program uses JSON. */
const MOST = 10_000;

/** `tapwire audit [--acquirer ID] [--limit 100] [--json]`: who changed what, newest last. */
export async function run(args: string[]): Promise<number> {
  const options = { acquirer: text, limit: { ...text, default: '100' }, json: flag };
  const { values } = parseArgs({ args, options });
  const acquirerId = values.acquirer === undefined ? undefined : idOf(values.acquirer, '--acquirer');
  const limit = Number(values.limit);
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= MOST))
    throw new StartError('BAD_CONFIG', `--limit: 1 to ${MOST}`);
  const changes = (await onDatabase((database) => listAdminEvents(database, { acquirerId, limit }))).reverse();
  printList(changes, COLUMNS, values.json);
  return 0;
}

const COLUMNS: Columns<RecordedChange> = {
  titles: ['AT', 'ACQUIRER', 'WHO', 'DID', 'WHAT'],
  cellsOf: (change) => {
    const { at, acquirerId, actor, action, kind, id } = change;
    const acquirer = acquirerId === INSTALLATION ? 'none' : String(acquirerId);
    return [at, acquirer, actor, action, `${kind} ${id}${detailsOf(change)}`];
  },
};

function detailsOf({ action, before, after }: RecordedChange): string {
  if (action === 'act') return `: ${(after as { did?: string }).did}`;
  return action === 'change' ? `: ${differing(before, after).join(', ')}` : '';
}

/** The names of the changed properties; their values are in the JSON output. */
function differing(before: object | null, after: object | null): string[] {
  const [old, now] = [before ?? {}, after ?? {}] as Record<string, unknown>[];
  const isSame = (name: string) => JSON.stringify(old![name]) === JSON.stringify(now![name]);
  return Object.keys(now!).filter((name) => name !== 'updatedAt' && !isSame(name));
}
