import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { JobTable } from '../../src/jobs/job-table.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/postgres/embedded-postgres.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { type Database, openDatabase } from '../../src/store/postgres/open-database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { untilSignedOn } from '../support/installation.ts';

const TAPWIRE = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));
const SQL_CONNECTIONS = 2;

/** A cell on this machine: a Postgres cluster and a gateway process of its own. */
export class OwnCell {
  readonly name: string;
  readonly port: number;
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  #postgres: EmbeddedPostgres;
  #gateway: ChildProcess | undefined;

  private constructor(
    name: string,
    port: number,
    folder: string,
    postgres: EmbeddedPostgres,
    environment: NodeJS.ProcessEnv,
  ) {
    this.name = name;
    this.port = port;
    this.folder = folder;
    this.#postgres = postgres;
    this.#environment = environment;
  }

  static async create(name: string, folder: string, environment: NodeJS.ProcessEnv): Promise<OwnCell> {
    const postgres = await startPostgres(folder, name);
    const port = await freePort();
    const cell = new OwnCell(name, port, folder, postgres, { ...environment, PORT: `${port}`, CELL_NAME: name });
    await cell.onDatabase(async (database) => {
      await migrate(database);
      const jobs = await JobTable.open(database, (error) => console.error(error));
      await jobs.close();
    });
    return cell;
  }

  get databaseUrl(): string {
    return this.#postgres.url;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async onDatabase<Result>(act: (database: Database) => Promise<Result>): Promise<Result> {
    const database = await openDatabase(this.databaseUrl, { maxConnections: SQL_CONNECTIONS });
    try {
      return await act(database);
    } finally {
      await database.end();
    }
  }

  async startGateway(): Promise<void> {
    const gateway = spawn(process.execPath, [TAPWIRE, 'start'], {
      env: { ...process.env, ...this.#environment, DATABASE_URL: this.databaseUrl },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#gateway = gateway;
    process.once('exit', () => gateway.kill('SIGKILL')); // also if the test fails
    for (const stream of [gateway.stdout, gateway.stderr])
      stream.on('data', (text: Buffer) => appendFileSync(join(this.folder, `gateway-${this.name}.log`), text));
    await eventually(() => untilSignedOn(this.url));
  }

  /** The whole cell at once: kill -9 of its gateway, and its Postgres without a checkpoint. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
    await this.#postgres.stop();
  }

  async restart(): Promise<void> {
    this.#postgres = await startPostgres(this.folder, this.name);
    await this.startGateway();
  }

  async close(): Promise<void> {
    await this.#end('SIGTERM');
    await this.#postgres.stop();
    rmSync(join(this.folder, `postgres-${this.name}`), { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const gateway = this.#gateway;
    this.#gateway = undefined;
    if (!gateway || gateway.exitCode !== null) return;
    gateway.kill(signal);
    await once(gateway, 'exit');
  }
}

/** Not durable: the disk of a test machine would be measured instead. */
function startPostgres(folder: string, name: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ directory: join(folder, `postgres-${name}`), durable: false, isLogical: true });
}
