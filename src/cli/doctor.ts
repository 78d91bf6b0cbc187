import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HsmUnavailable, PlugInError, StartError } from '../basics/errors.ts';
import { readKeyRing } from '../card/key-ring.ts';
import { TokenKeys } from '../card/key-ring-file.ts';
import { openHsm } from '../hsm-devices/open-hsm.ts';
import type { Token } from '../hsm-devices/pkcs11/token.ts';
import { loadProcessors } from '../kits/processor-kit/load-processors.ts';
import { switchConfig } from '../kits/processor-kit/switch-config.ts';
import { loadReaders } from '../kits/reader-kit/load-readers.ts';
import { type Config, readConfig } from '../start/config.ts';
import { readerRulesOf, switchAccessOf } from '../start/open-hsm-and-readers.ts';
import { keyRingPath, openKeyToken } from '../start/open-key-ring.ts';
import { connectDatabase, connectionsOfProcess } from '../start/open-stores.ts';
import { migrationsOf } from '../store/postgres/migrate.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { listRegisteredKeys } from '../store/switches/hsm-keys.ts';
import { keysNamedBy } from '../switching/switches/access/switch-access.ts';
import type { StoredProcessor } from '../switching/switches/acquirer-switches.ts';
import {
  backlogFindings,
  databaseFindings,
  partitionFindings,
  restoreFindings,
} from '../tools/doctor/database-findings.ts';
import { type Finding, fault, good } from '../tools/doctor/finding.ts';
import {
  certificateFindings,
  frontFindings,
  providerFindings,
  sessionFindings,
} from '../tools/doctor/front-findings.ts';
import {
  hsmFindings,
  hsmKeyFindings,
  issuerFindings,
  keyFindings,
  type NamedKey,
  namedKeyFindings,
  type ProfileWithReader,
  readerFindings,
  tokenFinding,
  userNameFindings,
} from '../tools/doctor/key-findings.ts';
import { askAvailabilities, switchFindings } from '../tools/doctor/switch-findings.ts';
import { demoProfilePath, readProfile } from '../tools/phone/profile.ts';
import { flag, readOptions } from './arguments.ts';
import { demoSettings } from './demo/demo-installation.ts';
import * as style from './output.ts';
import { wrapTo } from './output.ts';

/** What `--help` prints. */
export const USAGE = `usage: tapwire doctor [--json]        exit code 1 if there is a fault`;

const STYLES = { good: style.good, warning: style.poor, fault: style.bad };
const SIGNS = { good: 'ok   ', warning: 'WARN ', fault: 'FAULT' } as const;

/**
 * `tapwire doctor [--json]`: shows the faults of this installation and how to correct each. Exit code 1 when there
 * is one.
 */
export async function run(args: string[]): Promise<number> {
  const values = readOptions(args, { json: flag });
  const findings = await examine(readConfig({ ...settingsOfDemo(process.env), ...process.env }), Date.now());
  if (!values.json) return printFindings(findings);
  console.log(JSON.stringify(findings, null, 2));
  return exitCodeOf(findings);
}

/** @returns the exit code */
export function printFindings(findings: readonly Finding[]): number {
  console.log(findings.map(lineOf).join('\n'));
  return exitCodeOf(findings);
}

function exitCodeOf(findings: readonly Finding[]): number {
  return findings.some(({ verdict }) => verdict === 'fault') ? 1 : 0;
}

/**
 * The settings of the demo that uses this data folder, if there is one. The demo gives them to its gateway directly, so
 * the environment of this command does not contain them.
 */
function settingsOfDemo({ TAPWIRE_ENV = 'dev', TAPWIRE_DATA = '.tapwire' }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isDemo = TAPWIRE_ENV === 'dev' && existsSync(demoProfilePath(TAPWIRE_DATA));
  return isDemo ? demoSettings(TAPWIRE_DATA) : {};
}

/**
 * Examines as much as is reachable and changes nothing.
 *
 * @param url of the running gateway
 */
export async function examine(config: Config, nowMs: number, url: string = gatewayUrlOf(config)): Promise<Finding[]> {
  const findings = await findingsOfKeys(config, nowMs);
  findings.push(...frontFindings(config));
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = config;
  if (certFile !== undefined) findings.push(...(await certificateFindings('https', { certFile, keyFile }, nowMs)));
  findings.push(...(await findingsOfHsm(config)), ...(await providerFindings(config.OIDC_ISSUER, () => Date.now())));
  if (config.DATABASE_URL === undefined && !existsSync(join(config.TAPWIRE_DATA, 'postgres'))) {
    return [
      ...findings,
      fault(
        'database',
        `no database in ${config.TAPWIRE_DATA} yet`,
        'run tapwire start, which creates it, or set DATABASE_URL',
      ),
    ];
  }
  try {
    const { url: databaseUrl, database, stop } = await connectDatabase(config);
    try {
      findings.push(...(await sessionFindings(databaseUrl)));
      findings.push(...(await behindTheDatabase(config, database, nowMs, url)));
    } finally {
      await stop();
    }
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    findings.push(fault('database', error.reason, 'check DATABASE_URL, and that the server is running'));
  }
  return findings;
}

async function behindTheDatabase(config: Config, database: Database, nowMs: number, url: string): Promise<Finding[]> {
  const connections = connectionsOfProcess(config.DATABASE_CONNECTIONS, config.CELL_NAME !== undefined);
  const findings = await databaseFindings(database, config.TAPWIRE_ENV === 'prod', connections);
  const { pending, unknown } = await migrationsOf(database);
  if (pending.length + unknown.length > 0) return findings; // the other checks read tables of this version
  findings.push(...(await restoreFindings(database)));
  findings.push(...(await processorFindings(config, database, nowMs, url)), ...(await issuerFindings(database)));
  findings.push(...(await userNameFindings(database, config.LOGIN_DOMAINS)));
  findings.push(...(await findingsOfReaders(config, database)), ...(await findingsOfHsmKeys(config, database, nowMs)));
  const retention = { auditDays: config.RETENTION_AUDIT_DAYS, messageDays: config.RETENTION_MESSAGE_DAYS };
  findings.push(...(await backlogFindings(database)), ...(await partitionFindings(database, retention)));
  return findings;
}

async function processorFindings(config: Config, database: Database, nowMs: number, url: string): Promise<Finding[]> {
  try {
    const types = await loadProcessors({ external: config.PROCESSORS });
    const stored = await database.query<StoredProcessor>(STORED);
    const unrouted = await database.query<{ id: number }>(WITHOUT_ROUTE);
    const withoutRoute = unrouted.rows.map(({ id }) => id);
    const availabilities = await askAvailabilities(url, config.METRICS_TOKEN);
    const access = switchAccessOf(config);
    return switchFindings({ types, stored: stored.rows, withoutRoute, access, availabilities, nowMs });
  } catch (error) {
    if (!(error instanceof PlugInError)) throw error;
    return [fault('processors', error.reason, 'correct the processor, or remove it from PROCESSORS')];
  }
}

async function findingsOfReaders(config: Config, database: Database): Promise<Finding[]> {
  try {
    const formats = await loadReaders({ external: config.READERS });
    const { rows } = await database.query<ProfileWithReader>(WITH_READER);
    return readerFindings(readerRulesOf(config, formats), rows);
  } catch (error) {
    if (!(error instanceof PlugInError)) throw error;
    return [fault('readers', error.reason, 'correct the reader format, or remove it from READERS')];
  }
}

/** A demo may listen on another port than PORT; its profile names it. */
function gatewayUrlOf({ DOCS_PROFILE, HOST, PORT, TLS_CERT_FILE }: Config): string {
  if (DOCS_PROFILE !== undefined && existsSync(DOCS_PROFILE)) return readProfile(DOCS_PROFILE).url;
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return `${TLS_CERT_FILE === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${PORT}`;
}

/** The key file, and the token of the keys that it only names. */
async function findingsOfKeys(config: Config, nowMs: number): Promise<Finding[]> {
  let token: Token | undefined;
  try {
    token = await openKeyToken(config);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return [fault('token', error.reason, 'check PKCS11_MODULE, PKCS11_TOKEN and PKCS11_PIN_FILE')];
  }
  const keys = token && new TokenKeys(token);
  try {
    await token?.check().catch(() => {}); // its state says why
    const ofToken = token?.deviceStates().map(tokenFinding) ?? [];
    return [...ofToken, ...(await keyFindings(keyRingPath(config), (path) => readKeyRing(path, keys), nowMs))];
  } finally {
    await token?.close();
  }
}

async function findingsOfHsm({ TAPWIRE_ENV, HSM_KEYS_FILE, HSM_MODULE }: Config): Promise<Finding[]> {
  try {
    const hsm = await openHsm({ environment: TAPWIRE_ENV, keysFile: HSM_KEYS_FILE, module: HSM_MODULE });
    const states = hsm?.deviceStates?.();
    await hsm?.close?.();
    if (states) return hsmFindings(states);
    return [good('hsm', hsm ? 'opens' : 'no HSM is configured; only switches without MAC and PIN can be used')];
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return [fault('hsm', error.reason, 'check HSM_MODULE or HSM_KEYS_FILE')];
  }
}

async function findingsOfHsmKeys(
  { TAPWIRE_ENV, HSM_KEYS_FILE, HSM_MODULE }: Config,
  database: Database,
  nowMs: number,
): Promise<Finding[]> {
  const keys = await listRegisteredKeys(database);
  const named = (await database.query<NamedConfig>(STORED)).rows.flatMap(keysOf);
  if (keys.length + named.length === 0) return [];
  if (HSM_KEYS_FILE === undefined && HSM_MODULE === undefined)
    return [fault('hsm', 'processors name keys, and no HSM is configured', 'set HSM_MODULE')];
  const hsm = await openHsm({ environment: TAPWIRE_ENV, keysFile: HSM_KEYS_FILE, module: HSM_MODULE }).catch(
    () => undefined,
  );
  try {
    const kcvOf = (keyId: string) => hsm?.kcv(keyId) ?? Promise.reject(new HsmUnavailable());
    return [...(await hsmKeyFindings(keys, kcvOf, nowMs)), ...(await namedKeyFindings(named, kcvOf))];
  } finally {
    await hsm?.close?.();
  }
}

type NamedConfig = Pick<StoredProcessor, 'acquirerId' | 'id' | 'config'>;

/** The settings that name keys. Those of a type are beside them. */
const NAMING_KEYS = switchConfig.pick({ macKeys: true, pinKey: true, keyExchange: true }).strip();

/** The findings of the processor state it if its settings are invalid. */
function keysOf({ acquirerId, id, config }: NamedConfig): NamedKey[] {
  const { data } = NAMING_KEYS.safeParse(config);
  if (data === undefined) return [];
  return keysNamedBy(data).map(({ path, keyId }) => ({
    keyId,
    namedBy: `processor ${id} of acquirer ${acquirerId} (${path.map(String).join('.')})`,
  }));
}

const WITH_READER = `select acquirer_id as "acquirerId", name, reader from terminal_profiles where reader is not null
  order by acquirer_id, name`;
const STORED = `select acquirer_id as "acquirerId", id, type, config from processors where removed_at is null
  order by acquirer_id, id`;
const WITHOUT_ROUTE = `select distinct acquirer_id as id from processors where removed_at is null
  and acquirer_id not in (select acquirer_id from routes where removed_at is null) order by id`;

function lineOf({ verdict, part, description, advice }: Finding): string {
  const sign = SIGNS[verdict];
  const line = wrapTo(process.stdout, `${sign} ${part}: ${description}`, sign.length + 1).slice(sign.length);
  const hint = advice === undefined ? '' : `\n${wrapTo(process.stdout, `        -> ${advice}`, 11)}`;
  return `${STYLES[verdict](sign)}${line}${hint}`;
}
