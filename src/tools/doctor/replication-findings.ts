import type { Database } from '../../store/postgres/open-database.ts';
import { type Finding, fault, good, warning } from './finding.ts';

const PART = 'replication';
/** Four segments of the log: a standby that keeps up is behind by less than one. */
const MOST_LAG_BYTES = 64 * 1024 * 1024;

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
    return [fault(PART, 'the address leads to a standby, which stores nothing', advice)];
  }
  if (!maySee) {
    const advice = 'grant pg_monitor to the role of the gateway, or run doctor with a role that has it';
    return isProduction ? [warning(PART, 'this role may not see the standbys', advice)] : [];
  }
  const standbys = await readStandbys(database);
  return [
    ...presence(standbys, required !== '', isProduction),
    ...(required !== '' && !isStated ? [skipping()] : []),
    ...standbys.filter(({ lagBytes }) => lagBytes > MOST_LAG_BYTES).map(behind),
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
    return [good(PART, description)];
  }
  if (isRequired) {
    const description = 'every commit waits for a synchronous standby, and none is connected: taps fail';
    return [fault(PART, description, 'start a standby, or take the failed one out of synchronous_standby_names')];
  }
  const found = isProduction ? fault : warning;
  if (standbys.length > 0) {
    const description = 'no standby is synchronous: a failover can lose confirmed commits';
    return [found(PART, description, 'add a standby to synchronous_standby_names')];
  }
  if (!isProduction) return [];
  const advice = 'run a synchronous standby, unless the provider of the database replicates its storage';
  return [warning(PART, 'no standby: if the disk is lost, so are transactions since the last backup', advice)];
}

/** The setting is explained in database-epoch.ts. */
function skipping(): Finding {
  const description = 'each failover skips STANs, because nothing states that only synchronous standbys are promoted';
  const advice =
    'if the cluster has a cluster_name and promotes no others: alter database ... set tapwire.promotes_only_synchronous = on';
  return warning(PART, description, advice);
}

function behind({ name, lag }: Standby): Finding {
  const description = `${name} is ${lag} behind: it takes over later, and the primary keeps the log for it`;
  return warning(PART, description, 'look at the disk and the network of this standby');
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
  return [good(PART, `${failovers === 1 ? '1 failover' : `${failovers} failovers`} so far, ${last}`)];
}
