import { setTimeout as sleep } from 'node:timers/promises';
import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import { tenantTables } from './tenant-tables.ts';

const TRY_AGAIN_MS = 50;
/** A slot is active until its sender has ended, which takes milliseconds after it was terminated. */
const MAX_TRIES = 200;

/** Subscriptions of all databases of a cluster are in one table. */
const HERE = 's.subdbid = (select oid from pg_database where datname = current_database())';

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
  const { source } = replication;
  const found = await source.query('select from pg_replication_slots where slot_name = $1', [slot]);
  // Waits until every transaction that has begun before it has ended.
  if (found.length === 0) await source.queryLong(`select pg_create_logical_replication_slot($1, 'pgoutput')`, [slot]);
  if ((await findSubscription(replication)) !== undefined) return;
  // The slot is created separately, because both databases may be in one cluster.
  await createSubscription(replication, slot);
}

/** @throws CellError CANNOT_MOVE without what Postgres reports about the connection string, which contains a password */
async function createSubscription(replication: Replication, slot: string): Promise<void> {
  const { source, target } = replication;
  try {
    await target.transaction(async () => {
      // The log of the target's Postgres must not contain the statement.
      await target.query(`set local log_statement = 'none'; set local log_min_duration_statement = -1;
        set local log_min_error_statement = panic`);
      await target.query(`create subscription ${subscriptionName(replication)}
        connection ${literal(source.cell.replicationUrl)} publication ${publicationNames(replication).join(', ')}
        with (create_slot = false, slot_name = '${slot}', copy_data = true)`);
    });
  } catch (error) {
    if (error instanceof CellError) throw error;
    const { code = 'unknown' } = error as { code?: string };
    const what = `${target.cell.name} cannot subscribe to ${source.cell.name} (SQLSTATE ${code}). Check that its Postgres reaches the replication URL of ${source.cell.name}, with its user and password.`;
    throw new CellError('CANNOT_MOVE', what);
  }
}

export interface CopyState {
  readonly tables: number;
  readonly copied: number;
  /** Since the start. Postgres tries again after each; the cause is in the log of the target's Postgres. */
  readonly errors: number;
}

/** How many tables have been copied. Replication continues when all are. */
export async function copyState(replication: Omit<Replication, 'source'>): Promise<CopyState> {
  const text = `select count(*)::integer as tables, count(*) filter (where srsubstate = 'r')::integer as copied,
      coalesce(max(e.apply_error_count + e.sync_error_count), 0)::integer as errors
    from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid
    left join pg_stat_subscription_stats e on e.subid = s.oid
    where s.subname = $1 and s.subdbid = (select oid from pg_database where datname = current_database())`;
  return (await replication.target.query<CopyState>(text, [subscriptionName(replication)]))[0]!;
}

/**
 * Whether replication can continue: a failover of the source loses the slot, and an update of both cells may have added
 * a table since the copy began.
 */
export async function isIntact(replication: Replication): Promise<boolean> {
  const { source, target } = replication;
  if ((await findSubscription(replication)) === undefined) return false;
  const text = `select from pg_replication_slots where slot_name = $1 and wal_status is distinct from 'lost'`;
  if ((await source.query(text, [await slotName(replication)])).length === 0) return false;
  const published = await namesIn(
    source,
    `select c.relname as name from pg_publication p join pg_publication_rel r on r.prpubid = p.oid
      join pg_class c on c.oid = r.prrelid where p.pubname = any($1) order by 1`,
    [publicationNames(replication)],
  );
  const subscribed = await namesIn(
    target,
    `select c.relname as name from pg_subscription s join pg_subscription_rel r on r.srsubid = s.oid
      join pg_class c on c.oid = r.srrelid where s.subname = $1 and ${HERE} order by 1`,
    [subscriptionName(replication)],
  );
  const isComplete = async (session: CellSession, names: string) =>
    (await tenantTables(session))
      .map(({ name }) => name)
      .sort()
      .join() === names;
  return (await isComplete(source, published)) && (await isComplete(target, subscribed));
}

async function namesIn(session: CellSession, text: string, values: readonly unknown[]): Promise<string> {
  const rows = await session.query<{ name: string }>(text, values);
  return rows
    .map(({ name }) => name)
    .sort()
    .join();
}

/**
 * Ends every replication of the acquirer between these cells, of any move and in both directions, and removes what it
 * has left. Rows that are deleted afterwards are deleted in one cell only.
 */
export async function endReplication(cells: readonly CellSession[], acquirerId: number): Promise<void> {
  for (const cell of cells) {
    await stopWorkers(cell, acquirerId);
    await dropSubscriptions(cell, acquirerId);
  }
  for (const cell of cells) await dropPublished(cell, acquirerId);
  for (const publisher of cells) {
    for (const subscriber of cells) if (subscriber !== publisher) await dropCopySlots(publisher, subscriber);
  }
}

/**
 * Ends the workers before the subscription is dropped. A worker that makes a slot for a copy waits until the transactions
 * of the publisher's cluster have ended. If both cells are in one cluster, that is also the one that drops.
 */
async function stopWorkers(subscriber: CellSession, acquirerId: number): Promise<void> {
  const pattern = `^tapwire_${acquirerId}_[0-9]+$`;
  const enabled = `select subname as name from pg_subscription s where subname ~ $1 and subenabled and ${HERE}`;
  for (const { name } of await subscriber.query<{ name: string }>(enabled, [pattern])) {
    await subscriber.query(`alter subscription ${name} disable`);
  }
  const end = `select pg_terminate_backend(w.pid) from pg_stat_subscription w join pg_subscription s on s.oid = w.subid
    where s.subname ~ $1 and ${HERE} and w.pid is not null`;
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    if ((await subscriber.query(end, [pattern])).length === 0) return;
    await sleep(TRY_AGAIN_MS);
  }
}

/** Nothing more of the acquirer is applied in this cell afterwards; in a transaction, from its commit on. */
export async function dropSubscriptions(subscriber: CellSession, acquirerId: number): Promise<void> {
  const text = `select subname as name from pg_subscription s where subname ~ $1 and ${HERE}`;
  for (const { name } of await subscriber.query<{ name: string }>(text, [`^tapwire_${acquirerId}_[0-9]+$`])) {
    await subscriber.query(`alter subscription ${name} disable`);
    await subscriber.query(`alter subscription ${name} set (slot_name = none)`); // the slot may be unreachable
    await subscriber.query(`drop subscription ${name}`); // waits until its workers have ended
  }
}

/** Removes what the publisher keeps for replication of the acquirer, of any move. */
export async function dropPublished(publisher: CellSession, acquirerId: number): Promise<void> {
  for (const slot of await slotsLike(publisher, `^tapwire_${acquirerId}_[0-9]+_[0-9]+$`))
    await dropSlot(publisher, slot);
  for (const publication of publicationNames({ acquirerId })) {
    await publisher.query(`drop publication if exists ${publication}`);
  }
}

/** Identifies the Postgres cluster of a cell. The slots with which it copies tables have this in their names. */
export async function clusterOf(session: CellSession): Promise<string> {
  const text = 'select system_identifier::text as id from pg_control_system()';
  return (await session.query<{ id: string }>(text))[0]!.id;
}

/** Slots of initial copies that were interrupted: their names contain the subscription and the subscriber's cluster. */
async function dropCopySlots(publisher: CellSession, subscriber: CellSession): Promise<void> {
  const slots = await slotsLike(publisher, copySlotsOf(await clusterOf(subscriber)));
  // After the slots: a move of another acquirer may start meanwhile.
  const subscriptions = await subscriber.query<{ oid: string }>('select oid::text as oid from pg_subscription');
  for (const slot of slots) {
    if (!subscriptions.some(({ oid }) => oid === slot.split('_')[1])) await dropSlot(publisher, slot);
  }
}

/** The slots of all initial copies to a cluster that is lost: they would keep WAL until the disk is full. */
export async function dropCopySlotsOf(publisher: CellSession, lostCluster: string): Promise<void> {
  for (const slot of await slotsLike(publisher, copySlotsOf(lostCluster))) await dropSlot(publisher, slot);
}

function copySlotsOf(cluster: string): string {
  return `^pg_[0-9]+_sync_[0-9]+_${cluster}$`;
}

async function slotsLike(publisher: CellSession, pattern: string): Promise<string[]> {
  const text =
    'select slot_name as slot from pg_replication_slots where slot_name ~ $1 and database = current_database()';
  return (await publisher.query<{ slot: string }>(text, [pattern])).map(({ slot }) => slot);
}

async function dropSlot(publisher: CellSession, slot: string): Promise<void> {
  const end =
    'select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = $1 and active_pid > 0';
  const drop = 'select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = $1';
  for (let tries = 1; ; tries++) {
    try {
      await publisher.query(end, [slot]); // a sender whose receiver is unreachable continues for a minute
      await publisher.query(drop, [slot]);
      return;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code === '42704') return; // undefined_object: dropped meanwhile
      if (code !== '55006' || tries >= MAX_TRIES) throw error; // object_in_use
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
  const text = `select oid::integer from pg_subscription s where subname = $1 and ${HERE}`;
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
