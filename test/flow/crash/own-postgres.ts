import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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
