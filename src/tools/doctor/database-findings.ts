import { type Backlog, createBacklogReader } from '../../observe/backlog.ts';
import { migrationsOf } from '../../store/postgres/migrate.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { ATTEMPT_MESSAGES, partitionState, TRANSACTION_EVENTS, TRANSACTIONS } from '../../store/postgres/partitions.ts';
import { readRestore, readUnseen } from '../../store/transactions/lost-window.ts';
import type { Retention } from '../../store/transactions/purge.ts';
import { type Finding, fault, good, warning } from './finding.ts';

const REPLICATION = 'replication';
/** Four segments of the log: a standby that keeps up is behind by less than one. */
const MAX_LAG_BYTES = 64 * 1024 * 1024;

interface Standby {
  readonly name: string;
  readonly state: 'async' | 'potential' | 'sync' | 'quorum';
  readonly lagBytes: number;
  readonly lag: string;
}

/** Whether a failover would keep every confirmed commit, and whether one has happened. */
export async function replicationFindings(database: Database, isProduction: boolean): Promise<Finding[]> {
  const { rows } = await database.query<{ isStandby: boolean; required: string; maySee: boolean; isStated: boolean }>(
    `select pg_is_in_recovery() as "isStandby", current_setting('synchronous_standby_names') as required,
       coalesce(current_setting('tapwire.promotes_only_synchronous', true) = 'on', false) and current_setting('cluster_name') <> '' as "isStated",
       pg_has_role('pg_read_all_stats', 'usage') as "maySee"`,
  );
  const { isStandby, required, maySee, isStated } = rows[0]!;
  if (isStandby) {
    const advice = 'let DATABASE_URL lead to the primary, for example through a proxy that checks which server it is';
    return [fault(REPLICATION, 'the address leads to a standby, which stores nothing', advice)];
  }
  if (!maySee) {
    const advice = 'grant pg_monitor to the role of the gateway, or run doctor with a role that has it';
    return isProduction ? [warning(REPLICATION, 'this role may not see the standbys', advice)] : [];
  }
  const standbys = await readStandbys(database);
  return [
    ...presence(standbys, required !== '', isProduction),
    ...(required !== '' && !isStated ? [skipping()] : []),
    ...standbys.filter(({ lagBytes }) => lagBytes > MAX_LAG_BYTES).map(behind),
    ...(await lastFailover(database)),
  ];
}

async function readStandbys(database: Database): Promise<Standby[]> {
  const { rows } = await database.query<Standby>(
    `select application_name as name, sync_state as state, behind.bytes::float8 as "lagBytes", pg_size_pretty(behind.bytes) as lag
     from pg_stat_replication, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0) as behind(bytes)
     where state = 'streaming' order by application_name`,
  );
  return rows;
}

function presence(standbys: readonly Standby[], isRequired: boolean, isProduction: boolean): Finding[] {
  const synchronous = standbys.filter(({ state }) => state === 'sync' || state === 'quorum');
  if (synchronous.length > 0) {
    const description = `${standbys.length} streaming, ${synchronous.length} synchronous: a failover keeps every confirmed commit`;
    return [good(REPLICATION, description)];
  }
  if (isRequired) {
    const description = 'every commit waits for a synchronous standby, and none is connected: taps fail';
    return [
      fault(REPLICATION, description, 'start a standby, or take the failed one out of synchronous_standby_names'),
    ];
  }
  const found = isProduction ? fault : warning;
  if (standbys.length > 0) {
    const description = 'no standby is synchronous: a failover can lose confirmed commits';
    return [found(REPLICATION, description, 'add a standby to synchronous_standby_names')];
  }
  if (!isProduction) return [];
  const advice = 'run a synchronous standby, unless the provider of the database replicates its storage';
  return [warning(REPLICATION, 'no standby: if the disk is lost, so are transactions since the last backup', advice)];
}

/** The setting is explained in database-epoch.ts. */
function skipping(): Finding {
  const description = 'each failover skips STANs, because nothing states that only synchronous standbys are promoted';
  const advice =
    'if the cluster has a cluster_name and promotes no others: alter database ... set tapwire.promotes_only_synchronous = on';
  return warning(REPLICATION, description, advice);
}

function behind({ name, lag }: Standby): Finding {
  const description = `${name} is ${lag} behind: it takes over later, and the primary keeps the log for it`;
  return warning(REPLICATION, description, 'look at the disk and the network of this standby');
}

/** Each promotion begins a timeline, whose number is in the names of the log's files, and whose history has a file. */
async function lastFailover(database: Database): Promise<Finding[]> {
  const { rows } = await database.query<{ timeline: string; mayRead: boolean }>(
    `select left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline,
       has_function_privilege('pg_stat_file(text, boolean)', 'execute') as "mayRead"`,
  );
  const { timeline, mayRead } = rows[0]!;
  const failovers = Number.parseInt(timeline, 16) - 1;
  if (failovers === 0) return [];
  const file = 'select modification as at from pg_stat_file($1, true)';
  const read = mayRead ? await database.query<{ at: Date | null }>(file, [`pg_wal/${timeline}.history`]) : undefined;
  const at = read?.rows[0]?.at;
  const last = at ? `the last at ${at.toISOString()}` : 'this role may not read when the last was';
  return [good(REPLICATION, `${failovers === 1 ? '1 failover' : `${failovers} failovers`} so far, ${last}`)];
}

const PART = 'database';
/**
 * A gateway follows the database's clock, but its log does not. A machine with working NTP deviates much less than
 * a second.
 */
const MAX_CLOCK_DIFFERENCE_MS = 1_000;
/** Connections for a person, a backup and the next process during a rolling restart. */
const CONNECTIONS_TO_SPARE = 10;

/** Without these settings a confirmed commit can be lost, and with it the proof that a reversal is required. */
const DURABILITY = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;

/**
 * Version, schema, durability, replication, clock and free connections of the database.
 *
 * @param connectionsPerProcess number of connections that one gateway process opens
 */
export async function databaseFindings(
  database: Database,
  isProduction: boolean,
  connectionsPerProcess: number,
): Promise<Finding[]> {
  return [
    await versionAndSchema(database),
    await durability(database, isProduction),
    ...(await replicationFindings(database, isProduction)),
    await clock(database),
    await room(database, connectionsPerProcess),
    await locks(database),
  ];
}

async function versionAndSchema(database: Database): Promise<Finding> {
  const { rows } = await database.query<{ version: string; size: string }>(
    `select current_setting('server_version') as version, pg_size_pretty(pg_database_size(current_database())) as size`,
  );
  const { version, size } = rows[0]!;
  const { pending, unknown } = await migrationsOf(database);
  if (unknown.length > 0) {
    const newer = `a newer version has changed the schema: this one does not know ${unknown.join(', ')}`;
    return fault(PART, newer, 'start that version or a newer one; this version does not start on the schema');
  }
  if (pending.length === 0) return good(PART, `Postgres ${version}, ${size}, schema up to date`);
  const description = `the schema lacks ${pending.join(', ')}`;
  return fault(PART, description, 'run tapwire migrate, or start a gateway of this version');
}

async function durability(database: Database, isProduction: boolean): Promise<Finding> {
  const { rows } = await database.query<{ name: string; setting: string }>(
    'select name, setting from pg_settings where name = any($1)',
    [DURABILITY],
  );
  const setting = new Map(rows.map(({ name, setting: value }) => [name, value]));
  const off = DURABILITY.filter((name) => setting.get(name) === 'off' || setting.get(name) === 'local');
  if (off.length === 0) return good(PART, `${DURABILITY.join(', ')} are on`);
  const found = isProduction ? fault : warning;
  const description = `${off.join(', ')}: a crash can lose a confirmed commit, and a reversal with it`;
  return found(PART, description, `set ${off.map((name) => `${name} = on`).join(', ')}`);
}

async function clock(database: Database): Promise<Finding> {
  const askedAtMs = Date.now();
  const { rows } = await database.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  );
  const respondedAtMs = Date.now();
  // The server's time lies between the two local times, so any value between them counts as no difference.
  const { ms } = rows[0]!;
  const differenceMs = Math.round(Math.max(0, askedAtMs - ms, ms - respondedAtMs));
  if (differenceMs <= MAX_CLOCK_DIFFERENCE_MS) return good('clock', `${differenceMs} ms from the database's`);
  const description = `${differenceMs} ms from the database's: log times and certificate expiry are wrong`;
  return warning(
    'clock',
    description,
    'synchronize both machines by NTP; transactions follow the clock of the database',
  );
}

async function room(database: Database, connectionsPerProcess: number): Promise<Finding> {
  const { rows } = await database.query<{ most: number; used: number }>(
    `select current_setting('max_connections')::int as most, count(*)::int as used from pg_stat_activity
     where backend_type = 'client backend'`,
  );
  const { most, used } = rows[0]!;
  const description = `${used} of ${most} connections in use, ${connectionsPerProcess} per gateway process`;
  if (most - used >= connectionsPerProcess + CONNECTIONS_TO_SPARE) return good(PART, description);
  return warning(
    PART,
    description,
    'raise max_connections or lower DATABASE_CONNECTIONS, otherwise another process may not start',
  );
}

/** A statement of a batch of taps, while it is planned, locks each month and its indexes: 1,428 locks at 84 months. */
const LOCKS_OF_A_MONTH = 17;
/** Two processes with four commits each, which is what 7,146 locks were measured with at 84 months, and a purge. */
const PLANS_AT_ONCE = 6;
const LOCKS = `
select current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int as room,
  (select count(*)::int from pg_inherits where inhparent = 'transactions'::regclass) as months`;

async function locks(database: Database): Promise<Finding> {
  const { rows } = await database.query<{ room: number; months: number }>(LOCKS);
  const { room: most, months } = rows[0]!;
  const needed = months * LOCKS_OF_A_MONTH * PLANS_AT_ONCE;
  const description = `${months} partitions of transactions need up to ${needed} of the ${most} locks of the server`;
  if (needed <= most) return good(PART, description);
  return warning(PART, `${description}: commits may fail`, 'raise max_locks_per_transaction, or archive months');
}

const RESTORE = 'restore';
/** A shorter time without gateways is a restart or an update. */
const UNSEEN_SECONDS = 900;
const ON_HOLD =
  'compare the books with each switch, then tapwire restored --release; tapwire restored shows what is held ("After a restore" in src/observe/README.md)';
const MAY_BE_OLD =
  'nothing, if gateways were only stopped; if the database is a snapshot or a backup, run tapwire restored before a gateway starts';

/** Whether the database was restored, what is held and which STANs were skipped for it, or whether it might be an old copy. */
export async function restoreFindings(database: Pick<Database, 'query'>): Promise<Finding[]> {
  const [window, unseen] = [await readRestore(database), await readUnseen(database)];
  const findings: Finding[] = [];
  if (window) {
    const { lostFrom, lostUntil, held } = window;
    const description = `commits from ${lostFrom.toISOString()} to ${lostUntil.toISOString()} may be lost; ${held} references are held, and so are new links, and refunds and voids of earlier sales`;
    findings.push(fault(RESTORE, description, ON_HOLD));
  }
  if (!unseen) return findings;
  const { seenAt, unseenSeconds, skippedForSeconds, held } = unseen;
  if (unseenSeconds > UNSEEN_SECONDS)
    findings.push(warning(RESTORE, `no gateway was connected since ${seenAt.toISOString()}`, MAY_BE_OLD));
  if (window && skippedForSeconds !== null)
    findings.push(
      good(RESTORE, `STANs of ${Math.round(skippedForSeconds)} s were skipped when the database was last replaced`),
    );
  if (held > 0)
    findings.push(
      fault(
        RESTORE,
        `${held} scopes have no STANs, because most of a day may be lost`,
        'tapwire stan --acquirer ID shows them; continue each with the last number of the switch (--last)',
      ),
    );
  return findings.length > 0 ? findings : [good(RESTORE, 'the database is the one that gateways last used')];
}

const PARTITIONS = 'partitions';
const START_A_WORKER = `start a process of role worker or all, look into its log for 'partitions could not be kept'`;
const END_READERS = 'and look for a transaction that has read the table for days';
const ATTACH_ONE =
  "if this remains for hours, attach a partition as in 'A default partition that is too large' (src/observe/README.md)";

/** Whether rows of the next days can later be removed by dropping their partition, and those past their time were. */
export async function partitionFindings(
  database: Pick<Database, 'query'>,
  { auditDays, messageDays }: Pick<Retention, 'auditDays' | 'messageDays'>,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [table, days] of [
    [TRANSACTIONS, undefined],
    [TRANSACTION_EVENTS, auditDays],
    [ATTEMPT_MESSAGES, messageDays],
  ] as const) {
    const { missing, hasStrayRows, expired } = await partitionState(database, table, days);
    if (expired.length > 0)
      findings.push(
        warning(
          PARTITIONS,
          `${expired.join(', ')} should have been dropped: past the retention time of ${days} days`,
          `${START_A_WORKER}, ${END_READERS}`,
        ),
      );
    if (missing !== null)
      findings.push(
        warning(
          PARTITIONS,
          `${table.name} has none for ${missing}; its rows are stored in the default partition`,
          hasStrayRows ? `${START_A_WORKER}; ${ATTACH_ONE}` : `${START_A_WORKER}, ${END_READERS}`,
        ),
      );
    else if (hasStrayRows)
      findings.push(
        warning(
          PARTITIONS,
          `${table.name}_default has rows, which are deleted one by one when they are past their retention time`,
          'nothing, if workers were stopped for days; otherwise check the clock of the database',
        ),
      );
  }
  return findings.length > 0 ? findings : [good(PARTITIONS, 'exist for the next days')];
}

/** Workers fetch ready jobs within a second. A job that is ready for minutes has no worker. */
const LONGEST_WAIT_SECONDS = 120;

const DISABLED = 'select count(*)::int as count from webhook_endpoints where disabled_at is not null';
const GIVEN_UP = `select count(*)::int as count from webhook_events where state = 'failed' and created_at > now() - interval '1 day'`;

/** Work that waits for a person, a worker or a receiver of webhooks. */
export async function backlogFindings(database: Database): Promise<Finding[]> {
  const { rows: known } = await database.query(`select where to_regclass('pgboss.job') is not null`);
  if (known.length === 0) return [good('jobs', 'no gateway was started yet')];
  const backlog = await createBacklogReader(database)();
  return [
    ...(await responseFindings(database)),
    ...switchFindings(backlog),
    ...jobFindings(backlog),
    ...(await callbackFindings(database)),
  ];
}

/** A fifth of the taps, as the alert SwitchIsSilent has it, and more than a phone that was out of range a few times. */
const LEAST_SHARE_WITHOUT_RESPONSE = 0.2;
const LEAST_WITHOUT_RESPONSE = 4;
/** Read by the primary key, whose ids are ordered by time. */
const MAX_LATEST = 10_000;
/** Sent within five minutes, and decided without a usable response. */
const WITHOUT_RESPONSE = `
select acquirer_id as "acquirerId", r.processor_id as "processorId", count(*)::int as sent,
  count(*) filter (where t.response_code is null)::int as without
from (select acquirer_id, route_id, response_code from transactions
  where id >= first_id(now() - interval '5 minutes') and ($1::int is null or acquirer_id = $1) and sent_at is not null and disposition is not null
  order by id desc limit ${MAX_LATEST}) t
join routes r using (acquirer_id) where r.id = t.route_id and ($2::int is null or r.processor_id = $2) group by 1, 2 order by 1, 2`;

/** A connection that is signed on, and whose echo works, proves nothing about taps. */
async function responseFindings(database: Database): Promise<Finding[]> {
  const silent = await silentSwitches(database);
  return silent.length > 0 ? silent : [good('responses', 'switches respond to the taps of the last five minutes')];
}

/** @param only one processor; all of them by default */
export async function silentSwitches(
  database: Database,
  only?: { readonly acquirerId: number; readonly id: number },
): Promise<Finding[]> {
  const { rows } = await database.query<{ acquirerId: number; processorId: number; sent: number; without: number }>(
    WITHOUT_RESPONSE,
    [only?.acquirerId ?? null, only?.id ?? null],
  );
  const silent = rows.filter(
    ({ sent, without }) => without >= LEAST_WITHOUT_RESPONSE && without >= sent * LEAST_SHARE_WITHOUT_RESPONSE,
  );
  return silent.map(({ acquirerId, processorId, sent, without }) =>
    fault(
      'responses',
      `processor ${processorId} of acquirer ${acquirerId} gave no usable response to ${without} of the last ${sent} taps`,
      'call the acquirer; deploy/runbooks.md, "Switch silent"',
    ),
  );
}

function switchFindings({ reversalsOwed, needsReview, fewStans }: Backlog): Finding[] {
  return [
    needsReview === 0
      ? good('reversals', `${reversalsOwed} in progress, none needs review`)
      : fault(
          'reversals',
          `${needsReview} transactions need review: a reversal was not acknowledged, or the switch's responses were contradictory`,
          'GET /transactions?needsReview=true lists them; resolve each with its acquirer',
        ),
    fewStans.length === 0
      ? good('stans', 'enough are left in every scope')
      : fault(
          'stans',
          `${fewStans[0]!.left} STANs are left before the cut-over in scope ${fewStans[0]!.scope}, and few in ${fewStans.length - 1} others`,
          'ask the acquirer whether the switch cuts over; more than 999,999 messages a day need a second acquirer number at the switch',
        ),
  ];
}

function jobFindings({ queues }: Backlog): Finding[] {
  const deadLetters = queues.reduce((sum, { dead }) => sum + dead, 0);
  const oldestWaitSeconds = Math.round(Math.max(...queues.map(({ oldestReadySeconds }) => oldestReadySeconds ?? 0)));
  return [
    deadLetters === 0
      ? good('jobs', 'no dead letters')
      : warning(
          'jobs',
          `${deadLetters} dead letters`,
          'tapwire jobs dead-letters list shows why, dead-letters redrive retries them',
        ),
    oldestWaitSeconds <= LONGEST_WAIT_SECONDS
      ? good('jobs', `the oldest ready job has waited ${oldestWaitSeconds} s`)
      : fault(
          'jobs',
          `the oldest ready job has waited ${oldestWaitSeconds} s`,
          'start a process of role worker or all',
        ),
  ];
}

async function callbackFindings(database: Database): Promise<Finding[]> {
  const disabledCallbacks = await count(database, DISABLED);
  const failedEvents = await count(database, GIVEN_UP);
  return [
    disabledCallbacks === 0
      ? good('callbacks', 'none is disabled')
      : warning(
          'callbacks',
          `${disabledCallbacks} are disabled because the receiver responded with 410`,
          'ask the integrator to register the callback again',
        ),
    failedEvents === 0
      ? good('callbacks', 'every event of the last day is delivered or pending')
      : warning(
          'callbacks',
          `${failedEvents} events of the last day failed permanently`,
          'have the receiver corrected, then replay the events',
        ),
  ];
}

async function count(database: Database, sql: string): Promise<number> {
  return (await database.query<{ count: number }>(sql)).rows[0]!.count;
}
