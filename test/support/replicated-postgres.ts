import { execFileSync } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { JobTable } from '../../src/jobs/job-table.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/postgres/embedded-postgres.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { type Database, openDatabase } from '../../src/store/postgres/open-database.ts';
import { eventually } from './eventually.ts';
import { failOnBug } from './fail-on-bug.ts';
import { makeMemoryFolder } from './memory-folder.ts';

const STANDBY = 'second';
const CLUSTER = 'test';

interface ReplicatedOptions {
  /** The name of the cluster that the standby belongs to. */
  readonly standbyCluster?: string;
  /** What the operator states about failovers (database-epoch.ts). */
  readonly promotesOnlySynchronous?: boolean;
}

/** A stopped, migrated primary, from which each test gets its own copy: creating one takes seconds. */
export interface PreparedPrimary {
  readonly directory: string;
  remove(): void;
}

export async function preparePrimary(): Promise<PreparedPrimary> {
  const folder = makeMemoryFolder('tapwire-prepared-');
  const directory = join(folder, 'primary');
  const server = await startEmbeddedPostgres({ directory, durable: false });
  const database = await openDatabase(server.url);
  await database.query(`alter system set cluster_name = '${CLUSTER}'`);
  await migrate(database);
  await (await JobTable.open(database, failOnBug)).close();
  await database.end();
  await server.stop();
  return { directory, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A migrated primary and a standby that receives its log. */
export class ReplicatedPostgres {
  readonly primary: Database;
  readonly #folder: string;
  readonly #first: EmbeddedPostgres;
  #second: EmbeddedPostgres | undefined;
  readonly #opened: Database[];

  private constructor(folder: string, first: EmbeddedPostgres, primary: Database) {
    this.#folder = folder;
    this.#first = first;
    this.primary = primary;
    this.#opened = [primary];
  }

  static async start(
    { directory: prepared }: PreparedPrimary,
    { standbyCluster = CLUSTER, promotesOnlySynchronous = true }: ReplicatedOptions = {},
  ): Promise<ReplicatedPostgres> {
    const folder = makeMemoryFolder('tapwire-replicated-');
    const directory = join(folder, 'primary');
    for (const copy of [directory, join(folder, 'standby')]) execFileSync('cp', ['-a', prepared, copy]);
    const first = await startEmbeddedPostgres({ directory, durable: false });
    if (promotesOnlySynchronous) {
      const database = await openDatabase(first.url);
      await database.query('alter database tapwire set tapwire.promotes_only_synchronous = on'); // for later sessions
      await database.end();
    }
    const replicated = new ReplicatedPostgres(folder, first, await openDatabase(first.url));
    const { searchParams, username, password } = new URL(first.url);
    const address = `host=${searchParams.get('host')} user=${username} password=${password} application_name=${STANDBY}`;
    replicated.#configure(`primary_conninfo = '${address}'`, `cluster_name = '${standbyCluster}'`);
    await replicated.connectStandby();
    return replicated;
  }

  /** Starts the standby, and waits until it has the whole log of the primary. */
  async connectStandby(): Promise<void> {
    appendFileSync(join(this.#folder, 'standby', 'standby.signal'), '');
    this.#second = await this.#startSecond();
    await eventually(async () => {
      const { rowCount } = await this.primary.query(
        `select from pg_stat_replication where state = 'streaming' and flush_lsn >= pg_current_wal_lsn()`,
      );
      if (rowCount === 0) throw new Error('the standby is behind');
    });
  }

  /** From now on the standby receives nothing. */
  async disconnectStandby(): Promise<void> {
    await this.#second?.stop();
    this.#second = undefined;
  }

  /** Whether a COMMIT waits for the standby. */
  async requireStandby(isRequired: boolean): Promise<void> {
    const names = isRequired ? STANDBY : '';
    await this.primary.query(`alter system set synchronous_standby_names = '${names}'`);
    await this.primary.query('select pg_reload_conf()');
    await eventually(async () => {
      const { rows } = await this.primary.query('show synchronous_standby_names');
      if (rows[0].synchronous_standby_names !== names) throw new Error('not in effect yet');
    });
  }

  /** The primary is lost, and the standby takes over with what it has received. */
  async failOver(): Promise<Database> {
    await this.#first.stop();
    await this.disconnectStandby();
    this.#second = await this.#startSecond();
    return this.#openSuccessor('select pg_promote()');
  }

  /** The standby is recovered to the present and used instead of the primary, as a backup would be. */
  async recoverToNow(): Promise<Database> {
    await this.disconnectStandby();
    await this.primary.query(`select pg_create_restore_point('now')`);
    this.#configure(`recovery_target_name = 'now'`, `recovery_target_action = 'promote'`);
    this.#second = await this.#startSecond();
    const successor = await this.#openSuccessor('select');
    await this.#first.stop();
    return successor;
  }

  async #openSuccessor(promote: string): Promise<Database> {
    const successor = await openDatabase(this.#second!.url);
    this.#opened.push(successor);
    await successor.query(promote);
    await eventually(async () => {
      const { rows } = await successor.query('select pg_is_in_recovery() as "isStandby"');
      if (rows[0].isStandby) throw new Error('not promoted yet');
    });
    return successor;
  }

  #configure(...settings: string[]): void {
    for (const setting of settings)
      appendFileSync(join(this.#folder, 'standby', 'postgresql.auto.conf'), `${setting}\n`);
  }

  #startSecond(): Promise<EmbeddedPostgres> {
    return startEmbeddedPostgres({ directory: join(this.#folder, 'standby'), durable: false });
  }

  async close(): Promise<void> {
    for (const database of this.#opened) await database.end();
    await this.#second?.stop();
    await this.#first.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
