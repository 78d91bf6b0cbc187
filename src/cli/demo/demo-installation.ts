import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createApiKey } from '../../auth/api-key.ts';
import { hashPassword } from '../../auth/portal/log-in.ts';
import { INSTALLATION_OWNER } from '../../auth/portal/portal-user.ts';
import type { Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import { insertApiKey } from '../../store/credentials/api-keys.ts';
import type { Database } from '../../store/postgres/open-database.ts';
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
  readLoadProfile,
  saveLoadMerchants,
  writeLoadProfile,
} from '../../tools/load/load-profile.ts';
import { demoProfilePath, type Profile, readProfile, writeProfile } from '../../tools/phone/profile.ts';
import { type DemoType, demoHsmKeysPath, demoSwitchAccess, demoSwitchConfig, writeDemoKeys } from './demo-keys.ts';

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
  const place = {
    street: '1 Long Street',
    city: 'Cape Town',
    country: 'ZA',
    currency: 'ZAR',
    timeZone: 'Africa/Johannesburg',
  };
  const { id, name, mcc, xTid } = MERCHANT;
  await saveMerchants(database, [{ acquirerId: ACQUIRER, id, integratorId: INTEGRATOR, name, mcc, ...place }]);
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
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const issuer = {
    iss: 'https://demo-integrator.example',
    kid: 'demo-1',
    audience: 'tapwire',
    algorithm: 'ES256',
    privateKey,
    publicKey,
  } as const;
  return { url, apiKey: text.reveal(), login, merchant: MERCHANT, issuer };
}
