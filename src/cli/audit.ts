import { parseArgs } from 'node:util';
import type { RecordedChange } from '#schemas/admin-audit';
import { StartError } from '../errors.ts';
import { listAdminEvents } from '../store/settings/admin-events.ts';
import { idOf, onDatabase } from './administration.ts';
import { tableOf } from './table.ts';

/** More than anybody reads; JSON goes to programs. */
const MOST = 10_000;

/** `tapwire audit [--acquirer ID] [--limit 100] [--json]`: who changed what, the newest last. */
export async function run(args: string[]): Promise<number> {
  const text = { type: 'string' } as const;
  const options = {
    acquirer: text,
    limit: { ...text, default: '100' },
    json: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  const acquirerId = values.acquirer === undefined ? undefined : idOf(values.acquirer, '--acquirer');
  const limit = Number(values.limit);
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= MOST))
    throw new StartError('BAD_CONFIG', `--limit: 1 to ${MOST}`);
  const changes = (await onDatabase((database) => listAdminEvents(database, { acquirerId, limit }))).reverse();
  console.log(values.json ? JSON.stringify(changes, null, 2) : tableOf([TITLES, ...changes.map(rowOf)]));
  return 0;
}

const TITLES = ['AT', 'ACQUIRER', 'WHO', 'DID', 'WHAT'];

function rowOf({ at, acquirerId, actor, action, kind, id, before, after }: RecordedChange): string[] {
  const did = action === 'act' ? `: ${(after as { did?: string }).did}` : '';
  const changed = action === 'change' ? `: ${differing(before, after).join(', ')}` : did;
  return [at, acquirerId === 0 ? 'none' : String(acquirerId), actor, action, `${kind} ${id}${changed}`];
}

/** The names of what changed; its values are in the JSON. */
function differing(before: object | null, after: object | null): string[] {
  const [old, now] = [before ?? {}, after ?? {}] as Record<string, unknown>[];
  const isSame = (name: string) => JSON.stringify(old![name]) === JSON.stringify(now![name]);
  return Object.keys(now!).filter((name) => name !== 'updatedAt' && !isSame(name));
}
