import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { saveLoadMerchants } from '../../src/load/load-tenants.ts';
import type { Profile } from '../../src/phone/profile.ts';
import { loadProcessors } from '../../src/processor-kit/load-processors.ts';
import type { SwitchConfig } from '../../src/processor-kit/switch-config.ts';
import { demoKeysFile } from '../../src/simulator/demo-hsm.ts';
import { type Simulator, startSimulator } from '../../src/simulator/start-simulator.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { type Database, openDatabase } from '../../src/store/postgres/open-database.ts';
import {
  saveAcquirer,
  saveIntegrator,
  saveIssuerKey,
  saveProcessor,
  saveRoute,
} from '../../src/store/settings/tenants.ts';
import { createBenchIssuer } from '../bench/bench-issuer.ts';
import { freePort } from '../bench/parts.ts';
import { eventually } from '../support/eventually.ts';
import { TEST_SWITCH_ACCESS, untilSignedOn } from '../support/installation.ts';

const TAPWIRE = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));
/** Type 1 counts STANs for each terminal, type 2 for the whole acquirer. */
const TYPES = ['type-1', 'type-2'] as const;
/** Short, so that what a failover leaves uncertain is decided soon. */
const PROFILE = { deadlineMs: 10_000, overtakingGuardSeconds: 5 };
/** Some taps are at the switch whenever a fault begins. */
const LATENCY = 'lognormal:20ms,p99=200ms';
const PROCESSES = '2';
/** A service manager starts a gateway again that has ended. */
const RESTART_AFTER_MS = 500;

/** The merchants of an acquirer, and the issuer of their tokens. */
export interface Merchants {
  readonly issuer: Profile['issuer'];
  readonly merchants: readonly Profile['merchant'][];
}

/** Gateway processes and simulated switches, on a database. */
export class Site {
  readonly port: number;
  readonly acquirers: readonly Merchants[];
  readonly simulator: Simulator;
  readonly folder: string;
  readonly #environment: NodeJS.ProcessEnv;
  #gateway: ChildProcess | undefined;
  #isClosed = false;
  #supervising: Promise<void> | undefined;

  private constructor(
    port: number,
    acquirers: readonly Merchants[],
    simulator: Simulator,
    folder: string,
    environment: NodeJS.ProcessEnv,
  ) {
    this.port = port;
    this.acquirers = acquirers;
    this.simulator = simulator;
    this.folder = folder;
    this.#environment = environment;
  }

  static async open(databaseUrl: string): Promise<Site> {
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-failover-'));
    const types = await loadProcessors();
    const processors = TYPES.map((type) => {
      const processor = types.get(type)!;
      const config: SwitchConfig = { ...processor.exampleConfig, profile: PROFILE };
      return { processor, config, port: 0 };
    });
    const simulator = await startSimulator({ processors, latency: LATENCY, ledgerPort: 0 });
    const configs = processors.map(({ config }, at) => {
      return { ...config, addresses: [{ host: '127.0.0.1', port: simulator.ports[at]! }] };
    });
    const keysFile = join(folder, 'hsm-keys.json');
    writeFileSync(keysFile, demoKeysFile(configs));
    const database = await openDatabase(databaseUrl, { maxConnections: 2 });
    try {
      await migrate(database);
      const acquirers: Merchants[] = [];
      for (const [at, type] of TYPES.entries())
        acquirers.push(await saveAcquirerWith(database, at + 1, type, configs[at]!));
      const port = await freePort();
      const environment = {
        ...{ DATABASE_URL: databaseUrl, TAPWIRE_DATA: folder, HSM_KEYS_FILE: keysFile, PORT: `${port}` },
        ...{ TAPWIRE_PROCESSES: PROCESSES, ...TEST_SWITCH_ACCESS },
      };
      const site = new Site(port, acquirers, simulator, folder, environment);
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
    await this.simulator.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Writes an acquirer with merchants for a load and one processor. */
export async function saveAcquirerWith(
  database: Database,
  id: number,
  type: string,
  config: object,
): Promise<Merchants> {
  await saveAcquirer(database, id, `Acquirer ${id}`);
  await saveIntegrator(database, id, id, `Integrator ${id}`);
  const merchants = await saveLoadMerchants(database, { acquirerId: id, integratorId: id });
  await saveProcessor(database, { acquirerId: id, id: 1, type, config });
  await saveRoute(database, { acquirerId: id, id, processorId: 1, priority: 1 });
  const issuer = createBenchIssuer(`https://failover-${id}.example`);
  const { iss, kid, algorithm, publicKey } = issuer;
  await saveIssuerKey(database, {
    ...{ issuer: iss, kid, acquirerId: id, integratorId: id },
    ...{ algorithms: [algorithm], publicKey },
  });
  return { issuer, merchants };
}
