import { setTimeout as sleep } from 'node:timers/promises';
import type { CellSession } from './cell-session.ts';
import { tenantTables } from './tenant-tables.ts';

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
