import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { openDatabase } from '../../src/store/postgres/open-database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { TEST_SWITCH_ACCESS, untilSignedOn } from '../support/installation.ts';
import { type Merchants, TwoSwitches } from '../support/two-switches.ts';

const TAPWIRE = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));
const PROCESSES = '2';
/** A service manager starts a gateway again that has ended. */
const RESTART_AFTER_MS = 500;

/** Gateway processes and simulated switches, on a database. */
export class Site {
  readonly port: number;
  readonly acquirers: readonly Merchants[];
  readonly switches: TwoSwitches;
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  #gateway: ChildProcess | undefined;
  #isClosed = false;
  #supervising: Promise<void> | undefined;

  private constructor(
    port: number,
    acquirers: readonly Merchants[],
    switches: TwoSwitches,
    folder: string,
    environment: NodeJS.ProcessEnv,
  ) {
    this.port = port;
    this.acquirers = acquirers;
    this.switches = switches;
    this.folder = folder;
    this.#environment = environment;
  }

  static async open(databaseUrl: string): Promise<Site> {
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-failover-'));
    const switches = await TwoSwitches.start(folder);
    const database = await openDatabase(databaseUrl, { maxConnections: 2 });
    try {
      await migrate(database);
      const acquirers: Merchants[] = [];
      for (const id of switches.acquirerIds) acquirers.push(await switches.saveAcquirer(database, id));
      const port = await freePort();
      const environment = {
        ...{ DATABASE_URL: databaseUrl, TAPWIRE_DATA: folder, HSM_KEYS_FILE: switches.hsmKeysFile, PORT: `${port}` },
        ...{ TAPWIRE_PROCESSES: PROCESSES, ...TEST_SWITCH_ACCESS },
      };
      const site = new Site(port, acquirers, switches, folder, environment);
      site.#supervising = site.#supervise();
      await site.untilReady();
      return site;
    } finally {
      await database.end();
    }
  }

  /** A gateway serves, with a connection to both switches. */
  async untilReady(): Promise<void> {
    await eventually(() => untilSignedOn(`http://127.0.0.1:${this.port}`));
  }

  /** As a service manager: whenever the gateway ends, it is started again. */
  async #supervise(): Promise<void> {
    while (!this.#isClosed) {
      // A process group of its own, so that all its processes can be killed at once.
      const gateway = spawn(process.execPath, [TAPWIRE, 'start'], {
        env: { ...process.env, ...this.#environment },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      this.#gateway = gateway;
      for (const stream of [gateway.stdout!, gateway.stderr!])
        stream.on('data', (text: Buffer) => appendFileSync(this.log, text));
      await once(gateway, 'exit');
      await sleep(RESTART_AFTER_MS);
    }
  }

  /** What all gateways have printed. */
  get log(): string {
    return join(this.folder, 'gateway.log');
  }

  /** kill -9 of all gateway processes; they are started again. */
  killGateways(): void {
    process.kill(-this.#gateway!.pid!, 'SIGKILL');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#gateway?.kill('SIGTERM');
    await this.#supervising;
    await this.switches.simulator.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
