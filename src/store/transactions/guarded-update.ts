import type pg from 'pg';
import type { AuditEntry } from '../../payments/model/decision.ts';
import { type Move, Status, type StatusId, statusName } from '../../payments/model/status.ts';
import type { ColumnBatch, ColumnList, RowOf } from '../postgres/column-batch.ts';
import type { Seal } from '../postgres/group-commit.ts';
import { changesJobs, type JobChanges, type JobsInCommit, OfferedJobs, removeJobs } from './jobs-in-commit.ts';
import { closeAttempts, openAttempts } from './open-attempts.ts';

/** The columns of every batch of guarded writes. */
export const GUARDED_COLUMNS = {
  acquirerId: 'integer',
  id: 'uuid',
  attempt: 'integer',
  auditEntries: 'jsonb',
} as const satisfies ColumnList;

/** Adds rows to the audit trail. */
export const INSERT_ENTRIES = 'insert into transaction_events (acquirer_id, transaction_id, attempt, moves)';

export interface GuardedUpdate {
  /** The rows of the batch, as a query. */
  readonly rows: string;
  /** Further queries that the guard reads, each with its name. */
  readonly queries?: string;
  /** Assignments to a transaction `t` from a row `x` of the batch. */
  readonly set: string;
  /** The state that `t` must still have. */
  readonly guard: string;
  /** Set if a row may have no audit entries. */
  readonly isSometimesSilent?: boolean;
  /** Whether the update starts an attempt of each transaction, or lets each rest. */
  readonly attempts?: 'open' | 'close';
}

/**
 * One statement that updates each transaction of a batch if it is still in the state that the write follows, and
 * inserts the audit entries of those that were. It returns their ids.
 */
export function guardedUpdate(update: GuardedUpdate): string {
  return `${updated(update)},
entries as (
  ${insertUpdated(update)}
)
select id from updated`;
}

/** The same for writes whose outcome no caller needs. It returns nothing. */
export function unreportedUpdate(update: GuardedUpdate): string {
  return `${updated(update)}
${insertUpdated(update)}`;
}

function updated({ rows, queries, set, guard, attempts }: GuardedUpdate): string {
  const returned = ['t.acquirer_id', 't.id', 't.attempt', 'x."auditEntries"'];
  if (attempts === 'open') returned.push('x."overdueSeconds"');
  const changed = attempts && (attempts === 'open' ? openAttempts('updated') : closeAttempts('updated'));
  return `
with x as (${rows}),${queries === undefined ? '' : `\n${queries},`}
updated as (
  update transactions t
  set ${set}
  from x
  where t.acquirer_id = x."acquirerId" and t.id = x.id and ${guard}
  returning ${returned.join(', ')}
)${changed === undefined ? '' : `,\n${changed}`}`;
}

function insertUpdated({ isSometimesSilent = false }: GuardedUpdate): string {
  const condition = isSometimesSilent ? '\n  where jsonb_array_length("auditEntries") > 0' : '';
  return `${INSERT_ENTRIES}
  select acquirer_id, id, attempt, "auditEntries" from updated${condition}`;
}

export interface GuardedWriteOptions<Item, Columns extends ColumnList> {
  /** Name of the prepared statement. */
  readonly name: string;
  readonly batch: ColumnBatch<Columns>;
  /** The statement; it returns the ids of the transactions that were in the guarded state. */
  readonly text: string;
  readonly rowOf: (item: Item) => RowOf<Columns> & { readonly id: string };
  /** The parameters of the statement after those of the batch. */
  readonly furtherValues?: (items: readonly Item[]) => readonly (Buffer | null)[];
  /** The jobs to change if the transaction was in the guarded state. */
  readonly jobsOf: (item: Item) => JobChanges;
  /** Further statements in the commit for the items whose transactions were in the guarded state. */
  readonly afterwards?: (client: pg.PoolClient, done: readonly Item[]) => Promise<void>;
  /** Whether `afterwards` may have something to do for an item; for any item unless given. */
  readonly isFollowed?: (item: Item) => boolean;
}

/** Writes a batch with its jobs. @returns for each item, in order, whether its transaction was in the guarded state */
export type GuardedWrite<Item> = (
  client: pg.PoolClient,
  items: readonly Item[],
  jobs: JobsInCommit,
  seal: Seal,
) => Promise<boolean[]>;

/**
 * The parts of a commit that every guarded write shares: statement, ids, jobs. New jobs are inserted without waiting
 * for the outcomes of the statement, and COMMIT follows at once if nothing depends on them.
 */
export function guardedWrite<Item, Columns extends ColumnList>({
  name,
  batch,
  text,
  rowOf,
  furtherValues = () => [],
  jobsOf,
  afterwards,
  isFollowed = () => afterwards !== undefined,
}: GuardedWriteOptions<Item, Columns>): GuardedWrite<Item> {
  return async (client, items, jobs, seal) => {
    const records = items.map(rowOf);
    const changes = items.map(jobsOf);
    const values = [...batch.values(records), ...furtherValues(items)];
    const written = client.query<{ id: string }>({ name, text, values });
    const offered = new OfferedJobs(
      client,
      jobs,
      changes.map(({ enqueue = [] }) => enqueue),
    );
    if (!changes.some(changesJobs) && !items.some(isFollowed)) seal();
    const ids = new Set((await written).rows.map(({ id }) => id));
    const outcomes = records.map(({ id }) => ids.has(id));
    const isDone = (_: unknown, n: number) => outcomes[n]!;
    await offered.keep(outcomes);
    await removeJobs(
      client,
      jobs,
      changes.filter(isDone).flatMap(({ remove = [] }) => remove),
    );
    await afterwards?.(client, items.filter(isDone));
    return outcomes;
  };
}

/** Transitions that follow each other at one time, from a status (null: a new transaction) to each of the path. */
interface StoredPath {
  readonly from: StatusId | null;
  readonly path: readonly StatusId[];
  readonly at: string;
}

/** An audit entry as `transaction_events.moves` has it. */
export type StoredEntry = StoredPath | Exclude<AuditEntry, Move>;

/**
 * The audit entries of a commit for storage. Every tap writes three such values with five transitions; as paths they
 * take a quarter of the bytes.
 */
export function storedEntries(entries: readonly AuditEntry[]): StoredEntry[] {
  const stored: StoredEntry[] = [];
  let path: StatusId[] = [];
  let last: Move | undefined;
  for (const entry of entries) {
    if (!isMove(entry)) {
      stored.push(entry);
      last = undefined;
      continue;
    }
    if (last?.to === entry.from && last.at === entry.at) path.push(Status[entry.to]);
    else {
      path = [Status[entry.to]];
      stored.push({ from: entry.from === null ? null : Status[entry.from], path, at: entry.at });
    }
    last = entry;
  }
  return stored;
}

/** The audit entries of a stored value. */
export function readEntries(stored: readonly StoredEntry[]): AuditEntry[] {
  return stored.flatMap((entry): AuditEntry[] => ('path' in entry ? readPath(entry) : [entry]));
}

function readPath({ from, path, at }: StoredPath): Move[] {
  return path.map((to, n) => {
    const before = n === 0 ? from : path[n - 1]!;
    return { from: before === null ? null : statusName(before), to: statusName(to), at };
  });
}

function isMove(entry: AuditEntry): entry is Move {
  return 'to' in entry;
}
