import { z } from 'zod';
import type { RecordedChange } from '#schemas/admin-audit';
import { ChainCheck, type ChainFault, type ChainHead } from '../observe/audit-chain.ts';
import { INSTALLATION } from '../store/settings/admin-commit.ts';
import { chainedEvents, listAdminEvents } from '../store/settings/admin-events.ts';
import { checkedBy, onDatabase } from './administration.ts';
import { countIn, flag, idOf, readJson, readOptions, text } from './arguments.ts';
import { type Columns, listOf, printList } from './output.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire audit [--acquirer ID] [--limit 100] [--json]        show who changed which setting, newest last
       tapwire audit verify [--heads FILE] [--json]                 find changed and missing entries

  --heads     the output of an earlier \`tapwire audit verify --json\`: without it, entries that were removed from the end of a
              chain are not missed`;

/** Most rows for a person to read; a program uses JSON. */
const MOST = 10_000;

/** `tapwire audit`: who changed what, newest last; `tapwire audit verify`: whether the entries are as they were written. */
export function run(args: string[]): Promise<number> | Promise<void> {
  return args[0] === 'verify' ? verify(args.slice(1)) : list(args);
}

async function list(args: string[]): Promise<void> {
  const options = { acquirer: text, limit: { ...text, default: '100' }, json: flag };
  const values = readOptions(args, options);
  const acquirerId = values.acquirer === undefined ? undefined : idOf(values.acquirer, '--acquirer');
  const limit = countIn(values.limit, '--limit', MOST);
  const changes = (await onDatabase((database) => listAdminEvents(database, { acquirerId, limit }))).reverse();
  printList(changes, COLUMNS, values.json);
}

const COLUMNS: Columns<RecordedChange> = {
  titles: ['AT', 'ACQUIRER', 'WHO', 'DID', 'WHAT'],
  cellsOf: (change) => {
    const { at, acquirerId, actor, action, kind, id } = change;
    return [at, acquirer(acquirerId), actor, action, `${kind} ${id}${detailsOf(change)}`];
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

const acquirer = (id: number) => (id === INSTALLATION ? 'none' : String(id));

const headsFile = z.object({
  heads: z
    .array(z.object({ acquirerId: z.int(), number: z.int().positive(), hash: z.string().length(64) }))
    .max(1_000_000),
});

const HEADS: Columns<ChainHead> = {
  titles: ['ACQUIRER', 'ENTRIES', 'HASH OF THE LAST'],
  cellsOf: ({ acquirerId, number, hash }) => [acquirer(acquirerId), String(number), hash],
};

const FAULTS: Readonly<Record<ChainFault['kind'], string>> = {
  changed: 'was changed after it was written, or the one before it',
  missing: 'follows entries that are missing, or is missing',
  replaced: 'is not the entry that --heads names',
};

/** Exit code 1 on a fault. */
async function verify(args: string[]): Promise<number> {
  const values = readOptions(args, { heads: text, json: flag });
  const earlier = values.heads === undefined ? [] : checkedBy(headsFile, readJson('--heads', values.heads)).heads;
  const check = new ChainCheck(earlier);
  await onDatabase(async (database) => {
    for await (const event of chainedEvents(database)) check.take(event);
  });
  check.end();
  const { heads, faults } = check;
  if (values.json) console.log(JSON.stringify({ heads, faults }, null, 2));
  else {
    console.log(listOf(heads, HEADS));
    for (const { acquirerId, number, kind } of faults)
      console.log(`Acquirer ${acquirer(acquirerId)}: entry ${number} ${FAULTS[kind]}.`);
    if (faults.length === 0) console.log('No entry was changed, and none is missing.');
  }
  return faults.length === 0 ? 0 : 1;
}
