import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/store/postgres/embedded-postgres.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { openDatabase } from '../../../src/store/postgres/open-database.ts';
import { eventually } from '../../support/eventually.ts';
import type { TestDatabase } from '../../support/test-database.ts';

/** Signals that stop Postgres (its manual, "Shutting Down the Server"). */
const STOPS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

/** A Postgres for one test: it can be stopped, started again, and frozen. It flushes its commits. */
export class OwnPostgres {
  readonly database: TestDatabase;
  readonly #directory: string;
  readonly #started: EmbeddedPostgres[];

  private constructor(directory: string, started: EmbeddedPostgres, database: TestDatabase['database']) {
    this.#directory = directory;
    this.#started = [started];
    this.database = { url: started.url, database, drop: () => this.#drop() };
  }

  /** @param parent in which its folder is created */
  static async start(parent = tmpdir()): Promise<OwnPostgres> {
    const folder = mkdtempSync(join(parent, 'tapwire-postgres-'));
    chmodSync(folder, 0o755); // the cluster's account must be able to pass through
    const directory = join(folder, 'postgres');
    const started = await startEmbeddedPostgres({ directory });
    const database = await openDatabase(started.url, { maxConnections: 4 });
    await migrate(database);
    return new OwnPostgres(directory, started, database);
  }

  async stop(how: keyof typeof STOPS): Promise<void> {
    const pid = this.#pid;
    process.kill(pid, STOPS[how]);
    await eventually(() => {
      if (isAlive(pid)) throw new Error('Postgres still runs');
    });
  }

  async startAgain(): Promise<void> {
    this.#started.push(await startEmbeddedPostgres({ directory: this.#directory }));
  }

  /** From now on archives the write-ahead log. Restarts the server. */
  async archive(): Promise<void> {
    await this.database.database.query('alter system set archive_mode = on');
    await this.database.database.query(`alter system set archive_command = 'cp %p ${this.#makeFolder('archive')}/%f'`);
    await this.stop('fast');
    await this.startAgain();
  }

  /** A copy of the running cluster, as pg_basebackup makes it (PostgreSQL's manual, "Making a Base Backup Using the Low Level API"). */
  async backUp(): Promise<void> {
    const copy = this.#makeFolder('copy');
    const client = await this.database.database.connect();
    await client.query(`select pg_backup_start('test', true)`);
    execFileSync('cp', ['-a', `${this.#directory}/.`, copy]);
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(true)');
    client.release();
    writeFileSync(join(copy, 'backup_label'), rows[0]!.labelfile);
    rmSync(join(copy, 'postmaster.pid'));
    rmSync(join(copy, 'pg_wal'), { recursive: true });
    mkdirSync(join(copy, 'pg_wal'), { mode: 0o700 }); // what it needs is in the archive
    this.#own(copy);
  }

  /** Ends the current segment of the write-ahead log, and waits until it is archived. Returns the time before. */
  async archiveNow(): Promise<Date> {
    const { rows } = await this.database.database.query<{ at: Date; name: string }>(
      'select clock_timestamp() as at, pg_walfile_name(pg_switch_wal()) as name',
    );
    const { at, name } = rows[0]!;
    await eventually(() => statSync(join(this.#directory, '..', 'archive', name)));
    return at;
  }

  /**
   * Starts the copy in the place of the cluster, which has stopped, and promotes it.
   *
   * @param until the time to which the archive is replayed; undefined for its end
   */
  async recover(until?: Date): Promise<void> {
    const copy = join(this.#directory, '..', 'copy');
    const target = until
      ? `recovery_target_time = '${until.toISOString().replace('Z', '+00')}'\nrecovery_target_action = 'promote'\n`
      : '';
    const restore = `restore_command = 'cp ${join(this.#directory, '..', 'archive')}/%f %p'\n${target}`;
    appendFileSync(join(copy, 'postgresql.auto.conf'), restore);
    writeFileSync(join(copy, 'recovery.signal'), '');
    this.#own(copy);
    renameSync(this.#directory, `${this.#directory}-lost`);
    renameSync(copy, this.#directory);
    await this.startAgain();
    await eventually(async () => {
      const { rows } = await this.database.database.query<{ is: boolean }>('select pg_is_in_recovery() as is');
      if (rows[0]!.is) throw new Error('Postgres is still in recovery');
    });
  }

  /** A folder beside the cluster, of the account of Postgres. */
  #makeFolder(name: string): string {
    const path = join(this.#directory, '..', name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    this.#own(path);
    return path;
  }

  #own(path: string): void {
    const { uid, gid } = statSync(this.#directory);
    execFileSync('chown', ['-R', `${uid}:${gid}`, path]);
  }

  /** Freezes every process of the server, with all of its connections open. */
  freeze(): void {
    this.#signal('SIGSTOP');
  }

  /** Simulates a power loss of its host: every process ends at once, frozen or not. */
  async kill(): Promise<void> {
    const pid = this.#pid;
    this.#signal('SIGKILL');
    await eventually(() => {
      if (isAlive(pid)) throw new Error('Postgres still runs');
    });
  }

  thaw(): void {
    this.#signal('SIGCONT');
  }

  #signal(signal: NodeJS.Signals): void {
    const postmaster = this.#pid;
    const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n');
    const processes = listed.map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
    const workers = processes.filter(([, parent]) => parent === postmaster).map(([pid]) => pid);
    for (const pid of [postmaster, ...workers]) process.kill(pid, signal);
  }

  get #pid(): number {
    return Number(readFileSync(join(this.#directory, 'postmaster.pid'), 'utf8').split('\n')[0]);
  }

  async #drop(): Promise<void> {
    await this.database.database.end();
    for (const started of this.#started) await started.stop();
    const sockets = new URL(this.database.url).searchParams.get('host')!;
    for (const path of [join(this.#directory, '..'), sockets]) rmSync(path, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
