import { setTimeout as sleep } from 'node:timers/promises';
import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';

/** Tables with an acquirer_id that describe the cell itself. */
const OF_THE_CELL = ['acquirer_cells', 'cell_moves'];

/** Tables without a key of the acquirer whose rows are written once, besides those in which triggers enforce it. */
const WRITTEN_ONCE = ['attempt_messages', 'used_values'];

/** Tables whose rows a move leaves behind, with the reason. */
export const LEFT_BEHIND: Readonly<Record<string, string>> = {
  cell_identity: 'describes the cell',
  console_sign_ins: 'sign-ins at this cell, for twenty minutes',
  console_watch: 'when a console of this cell was open',
  database_epoch: 'identifies the database',
  handover_keys: 'public keys of the processes of this cell',
  hsm_keys: 'describes the HSM of this cell',
  held_references: 'requests that are held after a restore of this database',
  login_tries: 'throttles logins for half an hour',
  lost_window: 'describes a restore of this database',
  lost_window_releases: 'describes a restore of this database',
  migrations: 'describes the schema',
  process_commands: 'commands to processes of this cell',
  process_figures: 'figures of processes of this cell',
  process_lines: 'connections of processes of this cell',
  purge_marks: 'handed over with the acquirer: the earlier mark of both cells counts',
  settings_changes: 'notes of changes in this database',
  stored_figures: 'what the processes of this cell counted',
  stan_blocks: 'handed over with the acquirer: the counters of its scopes',
};

/** A table with rows of acquirers. */
interface TenantTable {
  readonly name: string;
  /** The column with the number of the acquirer. */
  readonly column: 'acquirer_id' | 'id';
  /** Whether rows are never updated, and replication sends only new ones. */
  readonly isAppendOnly: boolean;
}

// Every table with acquirer_id is found, so that a new one cannot be forgotten. Partitions belong to their table.
const FIND = `
select c.relname as name, case c.relname when 'acquirers' then 'id' else 'acquirer_id' end as column,
  c.relreplident = 'f' or exists (
    select from pg_index i join pg_attribute k on k.attrelid = c.oid and k.attnum = any(i.indkey)
    where i.indrelid = c.oid and i.indisprimary and k.attname = a.attname) as "isIdentified",
  c.relname = any($2) or exists (
    select from pg_trigger t where t.tgrelid = c.oid and t.tgname = c.relname || '_append_only') as "isAppendOnly"
from pg_class c
join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
  and a.attname = case c.relname when 'acquirers' then 'id' else 'acquirer_id' end
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and c.relpersistence = 'p' and c.relname <> all($1)
order by c.relname`;

/** @throws CellError CANNOT_MOVE if the filter of a publication is impossible for a table */
export async function tenantTables(session: CellSession): Promise<TenantTable[]> {
  const rows = await session.query<TenantTable & { isIdentified: boolean }>(FIND, [
    [...OF_THE_CELL, ...Object.keys(LEFT_BEHIND)],
    WRITTEN_ONCE,
  ]);
  const unidentified = rows.find(({ isIdentified, isAppendOnly }) => !isIdentified && !isAppendOnly);
  if (unidentified) {
    const what = `Table ${unidentified.name} has no replica identity with acquirer_id, so its changes cannot be filtered.`;
    throw new CellError('CANNOT_MOVE', what);
  }
  return rows.map(({ name, column, isAppendOnly }) => ({ name, column, isAppendOnly }));
}

/**
 * Deletes the acquirer's rows without triggers and foreign keys; the session must be a superuser's. Replication of the
 * acquirer has ended before: otherwise it would delete the rows in the other cell, too.
 *
 * @throws CellError CANNOT_MOVE if this cell may serve the acquirer, or replication of it exists
 */
export async function clearRows(session: CellSession, acquirerId: number): Promise<void> {
  const tables = await tenantTables(session);
  await mustBeClearable(session, acquirerId);
  await session.query(`set session_replication_role = replica`);
  try {
    for (const { name, column } of tables) {
      await session.queryLong(`delete from ${name} where ${column} = $1`, [acquirerId]);
    }
  } finally {
    await session.query(`reset session_replication_role`).catch(() => {}); // the session is lost
  }
}

async function mustBeClearable(session: CellSession, acquirerId: number): Promise<void> {
  const text = `select
    exists (select from acquirer_cells where acquirer_id = $1 and state in ('arriving', 'gone')) as "isStale",
    exists (select from pg_replication_slots where slot_name ~ $2 and database = current_database())
      or exists (select from pg_subscription where subname ~ $3
        and subdbid = (select oid from pg_database where datname = current_database())) as "isReplicated"`;
  const [found] = await session.query<{ isStale: boolean; isReplicated: boolean }>(text, [
    ...[acquirerId, `^tapwire_${acquirerId}_[0-9]+_[0-9]+$`, `^tapwire_${acquirerId}_[0-9]+$`],
  ]);
  const { name } = session.cell;
  if (!found!.isStale) throw new CellError('CANNOT_MOVE', `${name} serves acquirer ${acquirerId}, so its rows stay.`);
  if (found!.isReplicated)
    throw new CellError('CANNOT_MOVE', `Rows of acquirer ${acquirerId} in ${name} are still being replicated.`);
}

/** Writers wait while a trigger waits for its lock, so each try is short. */
const LOCK_TIMEOUT = '200ms';
const TRY_AGAIN_MS = 100;
/** At most a minute of commits that are longer than a try. */
const MAX_TRIES = 200;

/**
 * What a trigger refuses besides all writes where another cell serves the acquirer. `new`: inserts while the acquirer is
 * held. `skip`: nothing; the row is left out, because the purge of all acquirers writes it.
 */
const ARGUMENTS: Readonly<Record<string, 'new' | 'skip'>> = { reversal_attempts: 'new', purge_held_cards: 'skip' };
/** The move itself writes it. */
const WITHOUT = ['handed_over'];

interface Fenced {
  /** Name of the table, with its schema. */
  readonly table: string;
  readonly trigger: string;
}

/**
 * Makes the database itself refuse writes for the acquirer, by any process and of any version, according to
 * `acquirer_cells`. Writes of other acquirers only evaluate the condition of the trigger.
 */
export async function installFence(session: CellSession, acquirerId: number): Promise<void> {
  const name = triggerName(acquirerId);
  const installed = new Set((await findFence(session, acquirerId)).map(({ table }) => table));
  for (const { name: table, column } of await tenantTables(session)) {
    if (WITHOUT.includes(table) || installed.has(`public.${table}`)) continue;
    const isTransactions = table === 'transactions';
    const refuse = isTransactions ? 'refuse_transaction_served_elsewhere' : 'refuse_served_elsewhere';
    await briefly(
      session,
      `create trigger ${name} before insert or update on public.${table} for each row
        when (new.${column} = ${acquirerId}) execute function ${refuse}(${acquirerId}, ${ARGUMENTS[table] ?? 'all'})`,
    );
  }
  if (installed.has('pgboss.job')) return;
  await briefly(
    session,
    `create trigger ${name} before insert on pgboss.job for each row
      when ((new.data ->> 'acquirerId') = '${acquirerId}') execute function public.refuse_served_elsewhere(${acquirerId}, all)`,
  );
}

export async function removeFence(session: CellSession, acquirerId: number): Promise<void> {
  for (const { table, trigger } of await findFence(session, acquirerId)) {
    await briefly(session, `drop trigger if exists ${trigger} on ${table}`);
  }
}

/** The triggers of the acquirer, without those of partitions, which belong to their table's. */
function findFence(session: CellSession, acquirerId: number): Promise<Fenced[]> {
  return session.query<Fenced>(
    `select n.nspname || '.' || c.relname as table, t.tgname as trigger
      from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
      where t.tgname = $1 and t.tgparentid = 0`,
    [triggerName(acquirerId)],
  );
}

function triggerName(acquirerId: number): string {
  return `served_elsewhere_${acquirerId}`;
}

/** Runs a statement that locks a table, and gives way to its writers. */
async function briefly(session: CellSession, statement: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await session.transaction(async () => {
        await session.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
        await session.query(statement);
      });
    } catch (error) {
      if ((error as { code?: string }).code !== '55P03' || tries >= MAX_TRIES) throw error;
    }
    await sleep(TRY_AGAIN_MS);
  }
}
