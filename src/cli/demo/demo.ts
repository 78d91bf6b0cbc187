import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { StartError } from '../../basics/errors.ts';
import { TAPWIRE_COMMAND } from '../../basics/module-extension.ts';
import { loadProcessors } from '../../kits/processor-kit/load-processors.ts';
import type { SwitchConfig } from '../../kits/processor-kit/switch-config.ts';
import { startGateway } from '../../main.ts';
import { createLog } from '../../observe/log.ts';
import { type Config, readConfig } from '../../start/config.ts';
import { openKeyRing } from '../../start/open-key-ring.ts';
import { connectDatabase, type PreparedDatabase } from '../../start/open-stores.ts';
import { chooseCount, openGroup } from '../../start/processes/open-group.ts';
import { migrate } from '../../store/postgres/migrate.ts';
import { demoProfilePath, type Profile } from '../../tools/phone/profile.ts';
import { type Behaviour, parseBehaviour } from '../../tools/simulator/behaviour/faulty-switch.ts';
import { TEST_CARDS } from '../../tools/simulator/issuer/chip-card.ts';
import { type Simulator, startSimulator } from '../../tools/simulator/start-simulator.ts';
import { flag, readOptions, text, texts } from '../arguments.ts';
import { untilAskedToStop } from '../command-end.ts';
import { createPayLink } from '../link.ts';
import { createDemoExamples } from './demo-examples.ts';
import {
  DEMO_TYPES,
  type DemoSwitch,
  demoSettings,
  demoSwitchConfig,
  installDemo,
  installLoadMerchants,
  lockDemo,
  nameProcesses,
  type ReleaseDemo,
} from './demo-installation.ts';
import { DemoReceiver, submitDemoTaps } from './demo-taps.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire demo [--stay] [--open] [--behaviour faulty|arbitrary [--seed NUMBER]]

  --stay       keep running after the demo taps
  --open       keep running, and open a payment link in the browser
  --behaviour  of the simulated switches: faulty or arbitrary
  --seed       the order of their faults`;

/** All cores are used. An hour is enough to read the output before the link expires. */
const DIFFERENCES = { TAPWIRE_PROCESSES: 'auto', LOG_LEVEL: 'warn', LINK_MINUTES: '60' };
/** A test waits for the end of the last reversal, so attempts end after minutes instead of days. */
const FAULTY_SWITCH_PROFILE: SwitchConfig['profile'] = {
  deadlineMs: 5_000,
  reversalDelaysSeconds: [6, 10, 20, 30],
  reversalGiveUpAfterSeconds: 180,
};
/** The simulated switches request a PIN for this amount. */
const AMOUNT_WITH_PIN = '50.05';

/**
 * `tapwire demo [--stay] [--open] [--behaviour faulty|arbitrary [--seed NUMBER]]`: runs everything on one machine: Postgres, two
 * simulated switches, a gateway process on each core, and a phone. The exit code is 1 when a tap does not end as
 * expected.
 */
export async function run(args: string[]): Promise<number> {
  const simulation = { behaviour: { ...text, default: 'correct' }, seed: { ...text, default: '1' } };
  const values = readOptions(args, { stay: flag, open: flag, ...simulation });
  const simulated = { behaviour: parseBehaviour(values.behaviour), seed: seedOf(values.seed) };
  const folder = process.env.TAPWIRE_DATA ?? '.tapwire';
  const reserved = await reservePort(process.env.PORT);
  const settings = { ...DIFFERENCES, ...demoSettings(folder), ...process.env, PORT: String(reserved.port) };
  const config = readConfig(settings);
  mkdirSync(config.TAPWIRE_DATA, { recursive: true });
  const prepared = await connectDatabase(config);
  let release: ReleaseDemo | undefined;
  try {
    release = await lockDemo(prepared.url, urlOf(config), config);
    await migrate(prepared.database);
    return await demonstrate({ config, prepared, environment: settings, reserved }, values, simulated);
  } finally {
    await reserved.release();
    await release?.();
    await prepared.stop();
  }
}

function urlOf({ HOST, PORT }: Config): string {
  return `http://${HOST}:${PORT}`;
}

function seedOf(digits: string): number {
  if (/^\d{1,9}$/.test(digits)) return Number(digits);
  throw new StartError('BAD_CONFIG', `--seed ${digits}: expected a whole number of at most 9 digits`);
}

interface DemoParts {
  readonly config: Config;
  readonly prepared: PreparedDatabase;
  /** The environment variables of gateway processes. */
  readonly environment: NodeJS.ProcessEnv;
  readonly reserved: ReservedPort;
}

interface SwitchSettings {
  readonly behaviour: Behaviour;
  readonly seed: number;
}

async function demonstrate(
  { config, prepared, environment, reserved }: DemoParts,
  { stay, open }: { readonly stay: boolean; readonly open: boolean },
  simulated: SwitchSettings,
): Promise<number> {
  const stopping = untilAskedToStop();
  const since = new Date().toISOString();
  const { simulator, switches } = await startSwitches(simulated);
  const receiver = await new DemoReceiver().open();
  try {
    const url = urlOf(config);
    const profile = await installDemo(prepared.database, config.TAPWIRE_DATA, url, switches);
    const ledgerUrl = `http://127.0.0.1:${simulator.ledgerPort}/ledger`;
    await installLoadMerchants(prepared.database, config.TAPWIRE_DATA, profile, {
      books: { ledgerUrls: [ledgerUrl], databaseUrl: prepared.url, since },
      processes: { 'gateway and switches': process.pid, ...embeddedPostgresPid(config) },
    });
    await reserved.release();
    const gateway = await startProcesses({ config, prepared, environment });
    try {
      introduce(profile, config);
      const isAsExpected = await showTaps(profile, receiver, simulated);
      if (stay || open) {
        const link = await inviteToPay(profile, config);
        if (open) openInBrowser(link);
        await stopping;
        console.log('\nstopping ...');
      }
      return isAsExpected ? 0 : 1;
    } finally {
      await gateway.stop();
    }
  } finally {
    receiver.close();
    await simulator.close();
  }
}

/**
 * One process contains everything. With several, each gateway process is its own, and this one has the switches and
 * passes connections on.
 */
async function startProcesses({
  config,
  prepared,
  environment,
}: Omit<DemoParts, 'reserved'>): Promise<{ stop(): Promise<void> }> {
  const log = createLog(config.LOG_LEVEL);
  const count = await chooseCount(config, prepared, log);
  if (count === 1) return startGateway(config, prepared, log, { examplesOf: createDemoExamples });
  const group = await openGroup(config, prepared, { count, environment, log });
  process.once('exit', () => group.kill()); // after a second signal; otherwise none is left
  await group.start(1); // the others follow while the first payments are shown
  const gateways = Object.fromEntries(group.pids.map((pid, index) => [`gateway ${index + 1}`, pid]));
  const processes = { ...gateways, switches: process.pid, ...embeddedPostgresPid(config) };
  nameProcesses(config.TAPWIRE_DATA, processes);
  return group;
}

/** A faulty switch responds arbitrarily, so no result is expected; the demo only receives webhooks. */
async function showTaps(profile: Profile, receiver: DemoReceiver, { behaviour }: SwitchSettings): Promise<boolean> {
  if (behaviour !== 'correct') {
    await receiver.listen(profile);
    return true;
  }
  return (await submitDemoTaps(profile)) && (await receiver.demonstrate(profile));
}

/** Prints the next steps, above all a link that the virtual phone on its page can pay in a browser. @returns the link */
async function inviteToPay(profile: Profile, { LINK_MINUTES }: Config): Promise<string> {
  const url = await createPayLink(profile, { amount: AMOUNT_WITH_PIN, currency: 'ZAR' });
  console.log(`
Tapwire stays up (stop it with Ctrl-C). Open this payment link within ${LINK_MINUTES} minutes. Its page has a test phone; the PIN is 12345.

${url}

Also try:    ${TAPWIRE_COMMAND} link --amount 10.51      a link whose payment is declined
             ${TAPWIRE_COMMAND} tap --amount 10.00 --currency ZAR
             ${TAPWIRE_COMMAND} load`);
  return url;
}

/** Empty when the database is not the embedded one. */
function embeddedPostgresPid({ DATABASE_URL, TAPWIRE_DATA }: Config): { readonly Postgres?: number } {
  if (DATABASE_URL !== undefined) return {};
  const [pid] = readFileSync(join(TAPWIRE_DATA, 'postgres', 'postmaster.pid'), 'utf8').split('\n', 1);
  return { Postgres: Number(pid) };
}

async function startSwitches(simulated: SwitchSettings): Promise<{ simulator: Simulator; switches: DemoSwitch[] }> {
  const types = await loadProcessors();
  const profile = simulated.behaviour === 'correct' ? undefined : FAULTY_SWITCH_PROFILE;
  const processors = DEMO_TYPES.map((type) => {
    const processor = types.get(type)!;
    return { type, processor, config: { ...demoSwitchConfig(processor, type), profile }, port: 0 };
  });
  const simulator = await startSimulator({
    processors,
    ledgerPort: 0,
    cutOverAtMinute: 0,
    chipCards: TEST_CARDS,
    ...simulated,
  });
  const switches = processors.map((each, at) => ({ ...each, profile, host: '127.0.0.1', port: simulator.ports[at]! }));
  return { simulator, switches };
}

function introduce({ url, operator }: Profile, { TAPWIRE_DATA }: Config): void {
  console.log(`Tapwire is up, with ${DEMO_TYPES.length} simulated switches.

  gateway    ${url}
  reference  ${url}/docs
  console    ${url}/ops  as ${operator?.username}  ${operator?.password}
  secrets    ${demoProfilePath(TAPWIRE_DATA)}: API key, login of the merchant, key that signs its tokens
`);
}

/** Opens an address in the browser of this machine. It was printed before, for a machine without one. */
function openInBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  spawn(program, [url], { detached: true, stdio: 'ignore' })
    .once('error', () => console.error(`No browser was opened, because ${program} is missing.`))
    .unref();
}

interface ReservedPort {
  readonly port: number | string;
  /** Lets the gateway listen on the port. */
  release(): Promise<void>;
}

/**
 * PORT as configured, 0 for a free port. Without PORT: 8080, or a free port when 8080 is in use. A port that is chosen
 * here stays in use until it is released: otherwise one of the simulated switches could get it before the gateway.
 */
async function reservePort(wanted: string | undefined): Promise<ReservedPort> {
  if (wanted === '0') return (await listenOn(0))!;
  if (wanted !== undefined && wanted !== '') return { port: wanted, release: async () => {} };
  return (await listenOn(8080)) ?? (await listenOn(0))!;
}

/** Undefined if the port is in use. */
function listenOn(port: number): Promise<ReservedPort | undefined> {
  return new Promise((resolve) => {
    const server = createServer((connection) => connection.destroy()).unref();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const closed = new Promise<void>((done) => server.once('close', done));
      const release = () => {
        server.close();
        return closed;
      };
      resolve({ port: (server.address() as AddressInfo).port, release });
    });
  });
}

const TENANTS_USAGE = `usage: tapwire demo-tenants [--url http://127.0.0.1:8080] [--switch type-1=HOST:PORT ...]

  --url     the gateway's address
  --switch  a processor type and the address of its switch`;

/**
 * `tapwire demo-tenants --url http://api:8080 --switch type-1=HOST:PORT [--switch type-2=HOST:PORT]`:
 * docker-compose.yml runs it before api and worker.
 */
async function createTenants(args: string[]): Promise<void> {
  const values = readOptions(args, {
    url: { ...text, default: 'http://127.0.0.1:8080' },
    switch: { ...texts, default: ['type-1=127.0.0.1:9101'] },
  });
  const switches = await readSwitches(values.switch);
  const config = readConfig(process.env);
  mkdirSync(config.TAPWIRE_DATA, { recursive: true });
  const prepared = await connectDatabase(config);
  let release: ReleaseDemo | undefined;
  try {
    release = await lockDemo(prepared.url, values.url, config);
    await migrate(prepared.database);
    await openKeyRing(config);
    const profile = await installDemo(prepared.database, config.TAPWIRE_DATA, values.url, switches);
    await installLoadMerchants(prepared.database, config.TAPWIRE_DATA, profile, {});
    console.log(`The demo tenants are ready. Their secrets are in ${demoProfilePath(config.TAPWIRE_DATA)}.`);
  } finally {
    await release?.();
    await prepared.stop();
  }
}

async function readSwitches(words: readonly string[]): Promise<DemoSwitch[]> {
  const types = await loadProcessors();
  return words.map((word) => {
    const [, type, host, port] = /^([^=]+)=(.+):(\d{1,5})$/.exec(word) ?? [];
    const known = DEMO_TYPES.find((each) => each === type);
    if (known === undefined || host === undefined) {
      throw new StartError('BAD_CONFIG', `--switch ${word}: expected TYPE=HOST:PORT with ${DEMO_TYPES.join(' or ')}`);
    }
    return { type: known, processor: types.get(known)!, host, port: Number(port) };
  });
}

export const tenants = { USAGE: TENANTS_USAGE, run: createTenants };
