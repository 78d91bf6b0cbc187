import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoExamples } from '../../src/cli/demo/demo-examples.ts';
import type { KnownRoute, RouteTable } from '../../src/http/route-table.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { SwitchConfig } from '../../src/kits/processor-kit/switch-config.ts';
import { startGateway } from '../../src/main.ts';
import type { Tenant } from '../../src/payments/ports/store-ports.ts';
import type { Config } from '../../src/start/config.ts';
import { readConfig } from '../../src/start/config.ts';
import { switchAccessOf } from '../../src/start/open-hsm-and-readers.ts';
import { prepareDatabase } from '../../src/start/open-stores.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import type { SwitchStats } from '../../src/switching/switches/acquirer-switch.ts';
import { Phone } from '../../src/tools/phone/phone.ts';
import type { Profile } from '../../src/tools/phone/profile.ts';
import type { Behaviour } from '../../src/tools/simulator/behaviour/faulty-switch.ts';
import { demoKeysOf } from '../../src/tools/simulator/demo-hsm.ts';
import type { CardProfile } from '../../src/tools/simulator/issuer/chip-card.ts';
import type { LedgerEntry } from '../../src/tools/simulator/ledger.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { documentedFetch } from './documented.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { type LogLine, logTo } from './log-lines.ts';
import { outcomeOf } from './responses.ts';
import { type MerchantName, saveTenants, type Tenants } from './tenants.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

export interface InstallationOptions {
  /** The processor type of the switch; default: type 1. */
  readonly type?: string;
  /** The role of the gateway that is started with it; `none` starts none. */
  readonly role?: Config['TAPWIRE_ROLE'] | 'none';
  /** Differences from the type's profile; the deadline is `DEADLINE_MS` by default. */
  readonly profile?: SwitchConfig['profile'];
  /** Other differences from the type's example configuration. */
  readonly config?: Partial<SwitchConfig>;
  /** Scales the times of the switch's scenarios: 10.10 responds after 10 s times this factor. */
  readonly timeScale?: number;
  /** How many connections the switch accepts at a time; default: any number. */
  readonly maxSessions?: number;
  /** How the switch behaves, and the seed for it; default: it follows the protocol. */
  readonly behaviour?: Behaviour;
  readonly seed?: number;
  /** Cards whose issuer verifies their chip data; default: none. */
  readonly chipCards?: readonly CardProfile[];
  /** The port to which gateways connect, from the port of the switch: for a relay between the two. */
  readonly connectTo?: (switchPort: number) => Promise<number>;
  /** Instead of a new database in the cluster of all tests; it is dropped with the installation, too. */
  readonly testDatabase?: TestDatabase | undefined;
  /** Further settings for every gateway, as environment variables. */
  readonly settings?: NodeJS.ProcessEnv;
}

export interface StartedGateway {
  readonly role: Config['TAPWIRE_ROLE'];
  readonly url: string;
  readonly routes: RouteTable;
  stop(): Promise<void>;
}

/** The requests that the switch received since its start. */
export interface AskedOfSwitch {
  readonly authorizations: number;
  readonly reversals: number;
}

/** The PIN keys of each type's switch. */
const PIN_KEYS: Readonly<Record<string, SwitchConfig['pinKey']>> = {
  'type-1': { keyId: 'zone-pin', format: 0, derivation: 'zone' },
  'type-2': { keyId: 'acquirer-bdk', format: 0, derivation: 'dukpt' },
  'type-1993': { keyId: 'zone-pin', format: 0, derivation: 'zone' },
};

/** As short as a busy machine allows: tests wait for it when the switch is silent. */
export const DEADLINE_MS = 2_500;
/**
 * Delay of reversals on another connection. Long enough for a test to see them wait on any machine; the test then lets
 * the time pass.
 */
export const GUARD_SECONDS = 60;
/** The switches of tests run on this machine, and the acquirers of an installation share them and their keys. */
export const TEST_SWITCH_ACCESS = {
  SWITCH_NETWORKS: '*=127.0.0.0/8',
  SWITCH_LISTENERS: '*=127.0.0.1:1-65535',
  SWITCH_KEYS: '*=*',
};
/** 10 s of the scenarios take half a second. */
const TIME_SCALE = 0.05;
/** Two gateways, a listener each and the test must fit into the cluster, three times over. */
const GATEWAY_CONNECTIONS = '5';

/** A gateway in the process of the test cannot die, and leaves no jobs behind. */
const MONITOR_SECONDS = '60';

/** A fourth of the usual interval: many tests change settings and wait until they take effect. */
const SETTINGS_EVERY_MS = 500;
/** Many tests bring jobs forward in the database, of which no process knows. */
const OTHERS_JOBS_EVERY_MS = 250;

/** A database with tenants, a simulated switch, and any number of gateways, all in this process, on free ports. */
export async function startInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const installation = await Installation.open(options);
  const { role = 'all' } = options;
  if (role !== 'none') await installation.startGateway({ TAPWIRE_ROLE: role });
  return installation;
}

export class Installation {
  /** Every line that the gateways logged. */
  readonly logLines: LogLine[] = [];
  readonly simulator: Simulator;
  readonly tenants: Tenants;
  readonly #testDatabase: TestDatabase;
  readonly #folder: string;
  readonly #settings: NodeJS.ProcessEnv;
  readonly #gateways = new Set<StartedGateway>();

  private constructor(
    testDatabase: TestDatabase,
    folder: string,
    simulator: Simulator,
    tenants: Tenants,
    settings: NodeJS.ProcessEnv,
  ) {
    this.#testDatabase = testDatabase;
    this.#folder = folder;
    this.simulator = simulator;
    this.tenants = tenants;
    this.#settings = settings;
  }

  static async open({
    type = 'type-1',
    profile,
    config: differences,
    timeScale = TIME_SCALE,
    behaviour,
    seed,
    chipCards,
    maxSessions,
    connectTo,
    testDatabase: given,
    settings = {},
  }: InstallationOptions): Promise<Installation> {
    const testDatabase = given ?? (await createTestDatabase());
    const processor = (await loadProcessors()).get(type)!;
    const dialect: SwitchConfig = {
      ...processor.exampleConfig,
      pinKey: PIN_KEYS[type],
      ...differences,
      profile: { deadlineMs: DEADLINE_MS, overtakingGuardSeconds: GUARD_SECONDS, ...profile },
    };
    const processors = [{ processor, config: dialect, port: await freePort() }];
    const simulator = await startSimulator({
      processors,
      timeScale,
      areOutagesKept: true,
      behaviour,
      seed,
      chipCards,
      maxSessions,
    });
    const switchPort = simulator.ports[0]!;
    const port = (await connectTo?.(switchPort)) ?? switchPort;
    const config = { ...dialect, addresses: differences?.addresses ?? [{ host: '127.0.0.1', port }] };
    const tenants = await saveTenants(testDatabase.database, { type: processor.type, config });
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-installation-'));
    const keysFile = join(folder, 'hsm-keys.json');
    writeFileSync(keysFile, JSON.stringify({ keys: demoKeysOf([config]) }), { mode: 0o600 });
    return new Installation(testDatabase, folder, simulator, tenants, { HSM_KEYS_FILE: keysFile, ...settings });
  }

  /** The test's own connections to the database. */
  get database(): Database {
    return this.#testDatabase.database;
  }

  /** Of the first started gateway that takes taps. */
  get url(): string {
    return this.#first.url;
  }

  /** Every route of that gateway. */
  get routes(): KnownRoute[] {
    return [...this.#first.routes];
  }

  get #first(): StartedGateway {
    const first = [...this.#gateways].find(({ role }) => role !== 'worker');
    if (!first) throw new Error('No gateway that takes taps runs');
    return first;
  }

  /** The environment variables of a gateway of this installation, in any process. */
  environment(settings: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return {
      DATABASE_URL: this.#testDatabase.url,
      DATABASE_CONNECTIONS: GATEWAY_CONNECTIONS,
      TAPWIRE_DATA: this.#folder,
      PORT: '0',
      ...TEST_SWITCH_ACCESS,
      ...this.#settings,
      ...settings,
    };
  }

  /**
   * Resolves when the gateway is ready and, unless `isSwitchDown`, signed on to the switch. It reads changed settings every
   * `settingsEveryMs`.
   */
  async startGateway(
    settings: NodeJS.ProcessEnv = {},
    { isSwitchDown = false, settingsEveryMs = SETTINGS_EVERY_MS } = {},
  ): Promise<StartedGateway> {
    const config = readConfig({ JOB_MONITOR_SECONDS: MONITOR_SECONDS, ...this.environment(settings) });
    const prepared = await prepareDatabase(config);
    const gateway = await startGateway(config, prepared, logTo(this.logLines, config.LOG_LEVEL), {
      examplesOf: createDemoExamples,
      settingsEveryMs,
      othersJobsEveryMs: OTHERS_JOBS_EVERY_MS,
    }).catch(async (error) => {
      await prepared.stop();
      throw error;
    });
    const started: StartedGateway = {
      role: config.TAPWIRE_ROLE,
      url: gateway.url,
      routes: gateway.routes,
      stop: async () => {
        if (!this.#gateways.delete(started)) return;
        await gateway.stop();
        await prepared.stop();
      },
    };
    this.#gateways.add(started);
    if (!isSwitchDown) await eventually(() => untilSignedOn(gateway.url));
    return started;
  }

  profile(merchant: MerchantName = 'coffee', url = this.url): Profile {
    return this.tenants.profile(merchant, url);
  }

  /** A phone of a merchant, on a new device unless one is named. */
  phone(merchant: MerchantName = 'coffee', device?: string): Phone {
    return new Phone(this.profile(merchant), device, documentedFetch);
  }

  /** As `phone`, at one of several gateways. */
  phoneAt(url: string): Phone {
    return new Phone(this.profile('coffee', url));
  }

  /**
   * Statistics of a gateway's connections to a switch: that of the first acquirer, unless another acquirer and
   * processor are named.
   */
  async switchStats(url = this.url, name = '1 1'): Promise<SwitchStats> {
    const { switches } = (await (await fetch(new URL('/healthz', url))).json()) as {
      switches: Record<string, SwitchStats>;
    };
    return switches[name]!;
  }

  apiKey(owner: Tenant = { acquirerId: 1, integratorId: 10 }): Promise<string> {
    return this.tenants.apiKey(owner);
  }

  /**
   * Stops the switch, and waits until the gateway at this URL has lost every connection. `simulator.endOutages` starts
   * it again.
   */
  async startOutage(url = this.url): Promise<void> {
    const response = outcomeOf(await this.phone().tap({ amount: '503.00', currency: 'ZAR' }));
    if (response.type !== 'Approved') throw new Error(`the tap that starts an outage is ${response.type}`);
    await eventually(async () => {
      if ((await this.switchStats(url)).ready > 0) throw new Error('a connection to the switch still exists');
    });
  }

  get asked(): AskedOfSwitch {
    const { requests, network, reversals } = this.simulator.counters()[0]!;
    return { authorizations: requests - network - reversals, reversals };
  }

  /** What the switch has booked, oldest first. */
  get ledger(): LedgerEntry[] {
    return [...this.simulator.ledger.entries()];
  }

  async stop(): Promise<void> {
    for (const gateway of [...this.#gateways].reverse()) await gateway.stop();
    await this.simulator.close();
    await this.#testDatabase.drop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The access that such an installation grants its acquirers. */
export function testSwitchAccess() {
  return switchAccessOf(readConfig(TEST_SWITCH_ACCESS));
}

/** Every switch of the gateway is ready; role `api` has none. @throws while one is not */
export async function untilSignedOn(url: string): Promise<void> {
  const response = await fetch(new URL('/readyz', url));
  const { status, switches } = (await response.json()) as { status: string; switches?: Record<string, string> };
  const waiting = Object.entries(switches ?? {}).filter(([, availability]) => availability !== 'ready');
  if (status !== 'ok' || waiting.length > 0) throw new Error(`not ready: ${JSON.stringify({ status, switches })}`);
}
