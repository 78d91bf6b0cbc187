import { setTimeout as sleep } from 'node:timers/promises';
import type { CellSession } from './cell-session.ts';
import { tenantTables } from './tenant-tables.ts';

const TRY_AGAIN_MS = 50;
/** A slot is active until the worker at its other end has ended, which takes milliseconds. */
const MOST_TRIES = 200;

/**
 * PostgreSQL's logical replication of the rows of one acquirer from the source to the target. All functions may be
 * repeated.
 */
export interface Replication {
  readonly source: CellSession;
  readonly target: CellSession;
  readonly acquirerId: number;
  readonly generation: number;
}

/** Starts the initial copy; changes follow. */
export async function startReplication(replication: Replication): Promise<void> {
  await createPublications(replication);
  const slot = await slotName(replication);
  const { source, target } = replication;
  const found = await source.query('select from pg_replication_slots where slot_name = $1', [slot]);
  if (found.length === 0) await source.query(`select pg_create_logical_replication_slot($1, 'pgoutput')`, [slot]);
  if ((await findSubscription(replication)) !== undefined) return;
  // The slot is created separately, because both databases may be in one cluster.
  await target.query(`create subscription ${subscriptionName(replication)}
    connection ${literal(source.cell.replicationUrl)} publication ${publicationNames(replication).join(', ')}
    with (create_slot = false, slot_name = '${slot}', copy_data = true)`);
}

export interface CopyState {
  readonly tables: number;
  readonly copied: number;
  /** Since the start. Postgres tries again after each; the cause is in the log of the target's Postgres. */
  readonly errors: number;
}

/** How many tables have been copied. Replication continues when all are. */
export async function copyState(replication: Replication): Promise<CopyState> {
  const text = `select count(*)::integer as tables, count(*) filter (where srsubstate = 'r')::integer as copied,
      coalesce(max(e.apply_error_count + e.sync_error_count), 0)::integer as errors
    from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid
    left join pg_stat_subscription_stats e on e.subid = s.oid
    where s.subname = $1 and s.subdbid = (select oid from pg_database where datname = current_database())`;
  return (await replication.target.query<CopyState>(text, [subscriptionName(replication)]))[0]!;
}

/** Whether the source still has what the target needs to continue: a failover of the source loses the slot. */
export async function isIntact(replication: Replication): Promise<boolean> {
  if ((await findSubscription(replication)) === undefined) return false;
  const text = `select from pg_replication_slots where slot_name = $1 and wal_status is distinct from 'lost'`;
  return (await replication.source.query(text, [await slotName(replication)])).length > 0;
}

export async function stopReplication(replication: Replication): Promise<void> {
  const { source, target } = replication;
  const name = subscriptionName(replication);
  const oid = await findSubscription(replication);
  const slots = [await slotName(replication)];
  if (oid !== undefined) {
    await target.query(`alter subscription ${name} disable`);
    await target.query(`alter subscription ${name} set (slot_name = none)`);
    await target.query(`drop subscription ${name}`);
    // Of an initial copy that was interrupted.
    const left = await source.query<{ slot: string }>(
      'select slot_name as slot from pg_replication_slots where slot_name like $1 and database = current_database()',
      [`pg\\_${oid}\\_sync\\_%`],
    );
    slots.push(...left.map(({ slot }) => slot));
  }
  for (const slot of slots) await dropSlot(source, slot);
  for (const publication of publicationNames(replication)) {
    await source.query(`drop publication if exists ${publication}`);
  }
}

async function dropSlot(source: CellSession, slot: string): Promise<void> {
  const text = 'select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = $1';
  for (let tries = 1; ; tries++) {
    try {
      await source.query(text, [slot]);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== '55006' || tries >= MOST_TRIES) throw error; // object_in_use
    }
    await sleep(TRY_AGAIN_MS);
  }
}

async function createPublications(replication: Replication): Promise<void> {
  const { source, acquirerId } = replication;
  const tables = await tenantTables(source);
  const [changes, inserts] = publicationNames(replication);
  for (const [publication, isAppendOnly, publish] of [
    [changes, false, 'insert, update, delete'],
    [inserts, true, 'insert'],
  ] as const) {
    const found = await source.query('select from pg_publication where pubname = $1', [publication]);
    if (found.length > 0) continue;
    const filtered = tables
      .filter((table) => table.isAppendOnly === isAppendOnly)
      .map(({ name, column }) => `public.${name} where (${column} = ${acquirerId})`);
    await source.query(`create publication ${publication} for table ${filtered.join(', ')}
      with (publish = '${publish}', publish_via_partition_root = true)`);
  }
}

async function findSubscription(replication: Replication): Promise<number | undefined> {
  const text = `select oid::integer from pg_subscription
    where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())`;
  return (await replication.target.query<{ oid: number }>(text, [subscriptionName(replication)]))[0]?.oid;
}

function publicationNames({ acquirerId }: Pick<Replication, 'acquirerId'>): [string, string] {
  return [`tapwire_${acquirerId}`, `tapwire_${acquirerId}_inserts`];
}

function subscriptionName({ acquirerId, generation }: Pick<Replication, 'acquirerId' | 'generation'>): string {
  return `tapwire_${acquirerId}_${generation}`;
}

/** Slots belong to a cluster, which may have several databases. */
async function slotName({ source, acquirerId, generation }: Replication): Promise<string> {
  const text = 'select oid::bigint as oid from pg_database where datname = current_database()';
  const [database] = await source.query<{ oid: number }>(text);
  return `tapwire_${acquirerId}_${generation}_${database!.oid}`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
