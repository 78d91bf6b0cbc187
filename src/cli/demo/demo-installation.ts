import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiKey } from '../../auth/api-key.ts';
import { hashPassword } from '../../auth/portal/log-in.ts';
import { INSTALLATION_OWNER } from '../../auth/portal/portal-user.ts';
import { StartError } from '../../basics/errors.ts';
import { type HsmKeysFile, parseHsmKeys } from '../../hsm-devices/open-hsm.ts';
import type { Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import type { Config } from '../../start/config.ts';
import { insertApiKey } from '../../store/credentials/api-keys.ts';
import { type Database, LimitedClient } from '../../store/postgres/open-database.ts';
import {
  saveAcquirer,
  saveIntegrator,
  saveIssuerKey,
  saveMerchants,
  saveProcessor,
  saveRoute,
  saveTerminals,
  saveUser,
} from '../../store/settings/tenants.ts';
import {
  type LoadProfile,
  PLACE,
  readLoadProfile,
  saveLoadMerchants,
  writeLoadProfile,
} from '../../tools/load/load-profile.ts';
import { createIssuer, demoProfilePath, type Profile, readProfile, writeProfile } from '../../tools/phone/profile.ts';
import { demoKeysOf } from '../../tools/simulator/demo-hsm.ts';

const ACQUIRER = 1;
const INTEGRATOR = 10;
const MERCHANT = { id: '1001', name: 'Corner Coffee', mcc: '5814', xTid: 'TERM0001', user: 'till@corner.example' };

const OPERATOR = 'ops@demo.example';

/**
 * The processor of this terminal has a deadline of two seconds, so that a demo shows a silent switch without a long
 * wait.
 */
export const SHORT_DEADLINE_TERMINAL = 'TERM0002';

/** Faulty switches close connections now and then; the others remain. */
const LINES_TO_FAULTY_SWITCHES = 4;

interface DemoLine {
  readonly type: DemoType;
  readonly processorId: number;
  readonly profile?: SwitchConfig['profile'];
  readonly route: { readonly id: number; readonly priority: number; readonly scheme?: string; readonly xTid?: string };
}

/**
 * The acquirer's processors with the taps that each receives. Of two routes with the same priority, the more
 * specific one is first.
 */
const LINES: readonly DemoLine[] = [
  { type: 'type-1', processorId: 1, route: { id: 100, priority: 1 } },
  { type: 'type-2', processorId: 2, route: { id: 200, priority: 1, scheme: 'Mastercard' } },
  {
    type: 'type-1',
    processorId: 3,
    profile: { deadlineMs: 2_000 },
    route: { id: 300, priority: 1, xTid: SHORT_DEADLINE_TERMINAL },
  },
  { type: 'type-1993', processorId: 4, route: { id: 400, priority: 1, scheme: 'Amex' } },
];

/** The settings with which a demo starts its gateway. Those of the environment take precedence. */
export function demoSettings(folder: string): NodeJS.ProcessEnv {
  return {
    HSM_KEYS_FILE: demoHsmKeysPath(folder),
    DOCS_PROFILE: demoProfilePath(folder),
    ...demoSwitchAccess(ACQUIRER),
  };
}

/** The processor type that a route of the demo leads to. */
export function demoTypeOf(routeId: number | null | undefined): DemoType | undefined {
  return LINES.find(({ route }) => route.id === routeId)?.type;
}

export interface DemoSwitch {
  readonly type: DemoType;
  readonly processor: Processor;
  readonly host: string;
  readonly port: number;
  /** Differences from the type's profile, for every processor of the type. */
  readonly profile?: SwitchConfig['profile'];
}

/** The file with all data that a load test of the demo needs, secrets included. */
export function loadProfilePath(folder: string): string {
  return join(folder, 'load.json');
}

/**
 * Creates merchants for load tests and writes the profile that `tapwire load` reads: credentials, database,
 * processes.
 */
export async function installLoadMerchants(
  database: Database,
  folder: string,
  { url, issuer, apiKey }: Profile,
  visible: Pick<LoadProfile, 'books' | 'processes'>,
): Promise<void> {
  const merchants = await saveLoadMerchants(database, { acquirerId: ACQUIRER, integratorId: INTEGRATOR });
  const own = { url, issuer, apiKey, merchants, shortDeadlineTerminal: SHORT_DEADLINE_TERMINAL };
  writeLoadProfile(loadProfilePath(folder), { ...own, ...visible });
}

/** Names the processes whose load a load test observes, when they are known. */
export function nameProcesses(folder: string, processes: LoadProfile['processes']): void {
  const path = loadProfilePath(folder);
  writeLoadProfile(path, { ...readLoadProfile(path), processes });
}

/**
 * Creates or updates the tenants of the demo: an acquirer with routes to the simulated switches, an integrator with
 * an issuer key, a merchant with a terminal and a user. Secrets are created once and kept in the profile. The keys
 * that gateway and switches share are in the same `folder`.
 */
export async function installDemo(
  database: Database,
  folder: string,
  url: string,
  switches: readonly DemoSwitch[],
): Promise<Profile> {
  await saveAcquirer(database, ACQUIRER, 'Demo Acquirer');
  await saveIntegrator(database, ACQUIRER, INTEGRATOR, 'Demo Integrator');
  const { id, name, mcc, xTid } = MERCHANT;
  await saveMerchants(database, [{ acquirerId: ACQUIRER, id, integratorId: INTEGRATOR, name, mcc, ...PLACE }]);
  const terminal = { acquirerId: ACQUIRER, mid: 'DEMO00000001001', canTakePin: true };
  await saveTerminals(database, [
    { ...terminal, xTid, tid: 'TW000001', merchantId: id },
    { ...terminal, xTid: SHORT_DEADLINE_TERMINAL, tid: 'TW000002' },
  ]);
  await saveSwitches(database, switches);
  writeDemoKeys(folder, new Map(switches.map(({ type, processor }) => [type, demoSwitchConfig(processor, type)])));

  const profilePath = demoProfilePath(folder);
  const known = existsSync(profilePath) ? readProfile(profilePath) : undefined;
  const profile = {
    ...(known && (await isCurrent(database, known)) ? known : await createSecrets(database, url)),
    acquirerId: ACQUIRER,
    operator: known?.operator ?? { username: OPERATOR, password: randomUUID().slice(0, 13) },
    url,
  };
  await saveOperator(database, profile.operator);
  await saveIssuerKey(database, {
    issuer: profile.issuer.iss,
    kid: profile.issuer.kid,
    acquirerId: ACQUIRER,
    integratorId: INTEGRATOR,
    algorithms: [profile.issuer.algorithm],
    publicKey: profile.issuer.publicKey,
  });
  writeProfile(profilePath, profile);
  return profile;
}

async function saveSwitches(database: Database, switches: readonly DemoSwitch[]): Promise<void> {
  for (const { type, processorId, profile, route } of LINES) {
    const demoSwitch = switches.find((each) => each.type === type);
    if (!demoSwitch) continue;
    const { processor, host, port } = demoSwitch;
    const numbers = demoSwitch.profile || profile ? { ...demoSwitch.profile, ...profile } : undefined;
    const config = { ...demoSwitchConfig(processor, type), addresses: [{ host, port }], profile: numbers };
    if (demoSwitch.profile) config.connectionsPerAddress = LINES_TO_FAULTY_SWITCHES;
    await saveProcessor(database, { acquirerId: ACQUIRER, id: processorId, type, config });
    await saveRoute(database, { acquirerId: ACQUIRER, processorId, ...route });
  }
}

/** The operator of the installation, who logs in to the console and acts there. */
async function saveOperator(database: Database, { username, password }: Profile['login']): Promise<void> {
  const owner = { acquirerId: INSTALLATION_OWNER, merchantId: null };
  const passwordHash = await hashPassword(password);
  await saveUser(database, { ...owner, id: randomUUID(), username, passwordHash, role: 'admin' });
}

/** A profile is out of date if the database was deleted and the profile was not. */
async function isCurrent(database: Database, { apiKey }: Profile): Promise<boolean> {
  const { rowCount } = await database.query('select from api_keys where id = $1', [apiKey.split('_')[2]]);
  return rowCount === 1;
}

async function createSecrets(database: Database, url: string): Promise<Profile> {
  const { text, record } = createApiKey({
    mode: 'test',
    owner: { acquirerId: ACQUIRER, integratorId: INTEGRATOR },
    scopes: ['transactions:read', 'transactions:refund', 'payments:create', 'devices:manage', 'webhooks:manage'],
    name: 'demo',
    expiresAtMs: null,
  });
  await insertApiKey(database, record);
  const login = { username: MERCHANT.user, password: randomUUID().slice(0, 13) };
  const passwordHash = await hashPassword(login.password);
  await saveUser(database, {
    acquirerId: ACQUIRER,
    id: randomUUID(),
    merchantId: MERCHANT.id,
    username: login.username,
    passwordHash,
    role: 'admin',
  });
  const issuer = createIssuer({ iss: 'https://demo-integrator.example', kid: 'demo-1', audience: 'tapwire' });
  return { url, apiKey: text.reveal(), login, merchant: MERCHANT, issuer };
}

/**
 * PIN keys of the demo's switches: two accept PINs under a zone key, the other as the acquirer's own devices would
 * send them.
 */
const PIN_KEYS = {
  'type-1': { keyId: 'demo-zone-pin', format: 0, derivation: 'zone' },
  'type-2': { keyId: 'demo-acquirer-bdk', format: 0, derivation: 'dukpt' },
  'type-1993': { keyId: 'demo-zone-pin-1993', format: 0, derivation: 'zone' },
} as const;

/** Key id in the example configuration of type 2. */
const TYPE_2_MAC = 'type-2-mac';

export type DemoType = keyof typeof PIN_KEYS;
export const DEMO_TYPES = Object.keys(PIN_KEYS) as DemoType[];

/** The example configuration, extended by PIN keys whose ids both gateway and switch know. */
export function demoSwitchConfig({ exampleConfig }: Processor, type: DemoType): SwitchConfig {
  return { ...exampleConfig, pinKey: PIN_KEYS[type] };
}

/** Settings by which the demo's operator grants its acquirer switches on this machine and their keys. */
function demoSwitchAccess(acquirerId: number): { SWITCH_NETWORKS: string; SWITCH_KEYS: string } {
  const keys = [...Object.values(PIN_KEYS).map(({ keyId }) => keyId), TYPE_2_MAC];
  return {
    SWITCH_NETWORKS: `${acquirerId}=127.0.0.1`,
    SWITCH_KEYS: keys.map((keyId) => `${acquirerId}=${keyId}`).join(),
  };
}

/** The key file of the demo's software HSM. */
export function demoHsmKeysPath(folder: string): string {
  return join(folder, 'hsm-keys.json');
}

/**
 * Writes the keys of switches and readers for the gateway's HSM (`HSM_KEYS_FILE`), and keeps keys that the user has
 * added to the file. For simulated switches in another process it writes their configuration (`tapwire simulate
 * --config`): `type-1.json` and so on.
 *
 * @throws StartError BAD_CONFIG if the existing file is invalid; it is then unchanged
 */
export function writeDemoKeys(folder: string, configs: ReadonlyMap<DemoType, SwitchConfig>): void {
  const path = demoHsmKeysPath(folder);
  const own = demoKeysOf([...configs.values()]);
  const added = keysIn(path).filter(({ keyId }) => !own.some((each) => each.keyId === keyId));
  replaceFile(path, `${JSON.stringify({ keys: [...own, ...added] } satisfies HsmKeysFile, null, 2)}\n`);
  for (const [type, { macKeys, pinKey }] of configs) {
    writeFileSync(join(folder, `${type}.json`), `${JSON.stringify({ macKeys, pinKey }, null, 2)}\n`);
  }
}

function keysIn(path: string): HsmKeysFile['keys'] {
  if (!existsSync(path)) return [];
  const parsed = parseHsmKeys(readFileSync(path, 'utf8'));
  if (parsed?.success) return parsed.data.keys;
  throw new StartError('BAD_CONFIG', `The key file ${path} is invalid. Correct it, or delete it to get a new one.`);
}

/** Replaces the file as a whole, because a start that is killed must not lose keys. */
function replaceFile(path: string, text: string): void {
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, text, { mode: 0o600 });
  renameSync(fresh, path);
}

/** Postgres cuts longer names of sessions. */
const MAX_NAME_BYTES = 63;
const NAME = 'tapwire demo';
const KEY = 'hashtext($1)::bigint';

const FIND_HOLDER = `select application_name as name from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and granted and objsubid = 1
    and pg_locks.database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32 | objid::bigint) = ${KEY}`;

/** Ends the lock of a running demo. */
export type ReleaseDemo = () => Promise<void>;

/**
 * Makes this process the only demo of its database. A second demo would point the stored processors at its own switches.
 * The lock belongs to a session, so Postgres releases it when the process dies, even by kill -9. The session's name
 * says where the demo runs.
 *
 * @throws StartError ALREADY_RUNNING
 */
export async function lockDemo(databaseUrl: string, gatewayUrl: string, config: Config): Promise<ReleaseDemo> {
  const name = `${NAME} ${process.pid} ${gatewayUrl}`.slice(0, MAX_NAME_BYTES);
  const session = new LimitedClient({ connectionString: databaseUrl, application_name: name });
  session.on('error', () => {}); // the lock is lost with the database, which the gateway notices itself
  await session.connect();
  const { rows } = await session.query(`select pg_try_advisory_lock(${KEY}) as "isOurs"`, [NAME]);
  if (rows[0].isOurs) return () => session.end();
  const holder = await session.query<{ name: string }>(FIND_HOLDER, [NAME]);
  await session.end();
  throw new StartError('ALREADY_RUNNING', describeHolder(holder.rows[0]?.name, config));
}

function describeHolder(name: string | undefined, { DATABASE_URL }: Config): string {
  const [pid, url] = name?.slice(NAME.length + 1).split(' ') ?? [];
  const place = pid !== undefined && url !== undefined ? ` at ${url}, pid ${pid}` : '';
  const kill = pid === undefined ? '' : ` or kill ${pid}`;
  const other = DATABASE_URL === undefined ? 'TAPWIRE_DATA to another folder' : 'DATABASE_URL to another database';
  return `Tapwire is already running${place}. Stop it with Ctrl-C${kill}, or set ${other} to run a second installation.`;
}
