import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { limitedFetch } from '../../auth/oidc/oidc-provider.ts';
import { SignInError } from '../../basics/errors.ts';
import { isWideNetwork } from '../../observe/trusted-proxies.ts';
import { openPool } from '../../store/postgres/open-database.ts';
import { SESSION_LIMITS, serverSettings, TCP_SETTINGS } from '../../store/postgres/session-limits.ts';
import { type Finding, fault, good, warning } from './finding.ts';

/** The relevant settings, by environment variable. */
interface FrontConfig {
  readonly TAPWIRE_ENV: 'dev' | 'qa' | 'prod';
  readonly TLS_CERT_FILE?: string | undefined;
  readonly TRUSTED_PROXIES: readonly string[];
  readonly APP_URL?: string | undefined;
  readonly BASE_URL?: string | undefined;
  readonly METRICS_TOKEN?: string | undefined;
}

/**
 * How clients reach this installation, and what the public can read. Settings that qa and prod require are checked
 * at the start.
 */
export function frontFindings(config: FrontConfig): Finding[] {
  return [httpsFinding(config), addressFinding(config), figuresFinding(config)];
}

function httpsFinding({ TAPWIRE_ENV, TLS_CERT_FILE, TRUSTED_PROXIES: proxies }: FrontConfig): Finding {
  const wide = proxies.filter(isWideNetwork);
  if (wide.length > 0) {
    const advice =
      'list only the addresses of the proxies; every host there is trusted about HTTPS and client addresses';
    return warning('proxies', `TRUSTED_PROXIES has ${wide.join(', ')}`, advice);
  }
  const isDev = TAPWIRE_ENV === 'dev';
  if (TLS_CERT_FILE !== undefined) return good('https', 'is served by the gateway');
  if (proxies.length === 0)
    return good('https', isDev ? 'is not required in dev' : 'is not needed, because no HTTP is served');
  const who = `${proxies.join(', ')} must send X-Forwarded-Proto: https`;
  return good('https', isDev ? `is terminated by ${proxies.join(', ')}` : `${who}; other clients are refused`);
}

function addressFinding({ TAPWIRE_ENV, APP_URL, BASE_URL }: FrontConfig): Finding {
  if (APP_URL !== undefined && BASE_URL !== undefined) {
    return good('addresses', `links begin with ${APP_URL}, the API with ${BASE_URL}`);
  }
  const description = 'links or the API document begin with the listening address';
  return TAPWIRE_ENV === 'dev'
    ? good('addresses', description)
    : warning('addresses', description, 'set APP_URL and BASE_URL');
}

function figuresFinding({ TAPWIRE_ENV, METRICS_TOKEN }: FrontConfig): Finding {
  if (METRICS_TOKEN !== undefined) return good('figures', 'require METRICS_TOKEN');
  if (TAPWIRE_ENV === 'dev') return good('figures', 'are public in dev');
  return warning('figures', '/metrics and the switches in /healthz are not available', 'set METRICS_TOKEN');
}

const DAY_MS = 86_400_000;
/** Time to obtain a new certificate by hand when renewal is not automatic. */
const WARN_DAYS = 21;

/** Whether a certificate can be used with its key, and until when. */
export async function certificateFindings(
  part: string,
  files: { readonly certFile: string; readonly keyFile: string | undefined },
  nowMs: number,
): Promise<Finding[]> {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(await readFile(files.certFile));
    if (files.keyFile !== undefined && !certificate.checkPrivateKey(createPrivateKey(await readFile(files.keyFile)))) {
      return [
        fault(part, `${files.keyFile} is not the key of ${files.certFile}`, 'install a matching certificate and key'),
      ];
    }
  } catch {
    const names = [files.certFile, files.keyFile].filter(Boolean).join(' or ');
    return [fault(part, `${names} cannot be read, or is not PEM`, 'check path, rights and content')];
  }
  const days = Math.floor((certificate.validToDate.getTime() - nowMs) / DAY_MS);
  const until = `${files.certFile} is valid until ${certificate.validToDate.toISOString()}`;
  if (certificate.validFromDate.getTime() > nowMs)
    return [fault(part, `${files.certFile} is not valid yet`, 'wait, or check the clock')];
  if (days < 0)
    return [fault(part, `${until}: it has expired`, 'renew it; the gateway loads the new file automatically')];
  if (days < WARN_DAYS)
    return [warning(part, `${until}: ${days} days`, 'renew it; the gateway loads the new file automatically')];
  return [good(part, until)];
}

const SESSIONS = 'database sessions';
/** Introduced in Postgres 17. In older versions the other limits end the transactions of a dead client. */
const RECENT = 'transaction_timeout';

interface Seen {
  readonly name: string;
  readonly setting: string;
  /** Null on a Unix socket. */
  readonly port: number | null;
}

/**
 * Checks, in a session that is opened as a gateway opens it, whether the limits took effect with which the server
 * ends the sessions of a dead gateway.
 */
export async function sessionFindings(url: string): Promise<Finding[]> {
  const wanted = serverSettings(SESSION_LIMITS.tap);
  const pool = openPool(url, { maxConnections: 1, limits: SESSION_LIMITS.tap });
  try {
    const { rows } = await pool.query<Seen>(
      'select name, setting, inet_server_port() as port from pg_settings where name = any($1)',
      [Object.keys(wanted)],
    );
    return judge(wanted, rows);
  } finally {
    await pool.end();
  }
}

/** @param wanted limits by name; those of TCP do not apply to a Unix socket */
export function judge(wanted: Readonly<Record<string, number>>, seen: readonly Seen[]): Finding[] {
  const settings = new Map(seen.map(({ name, setting }) => [name, Number(setting)]));
  const isOnSocket = seen[0]?.port == null;
  const expected = Object.entries(wanted).filter(([name]) => !(isOnSocket && name in TCP_SETTINGS) && name !== RECENT);
  const ineffective = expected.filter(([name, value]) => settings.get(name) !== value);
  const findings: Finding[] = [];
  if (ineffective.length > 0) {
    const found = ineffective.map(
      ([name, value]) => `${name} is ${settings.get(name) ?? 'unknown'} instead of ${value}`,
    );
    const description = `${found.join(', ')}: a gateway whose host loses power keeps its locks`;
    const advice = 'a pooler must give each client its own session (pool_mode = session)';
    findings.push(fault(SESSIONS, description, advice));
  } else
    findings.push(good(SESSIONS, 'limits are in effect; the server ends the sessions of a dead gateway within 10 s'));
  if (settings.get(RECENT) === undefined) {
    const description = `the server has no ${RECENT}, so the total duration of a transaction is not limited`;
    findings.push(warning(SESSIONS, description, 'use Postgres 17 or newer'));
  } else if (settings.get(RECENT) !== wanted[RECENT])
    findings.push(fault(SESSIONS, `${RECENT} is ${settings.get(RECENT)} instead of ${wanted[RECENT]}`, 'see above'));
  return findings;
}

/** How far the times of an ID token may be from the clock of the gateway: what openid-client tolerates. */
const MAX_CLOCK_DIFFERENCE_SECONDS = 30;
/** What the sign-in needs of the discovery document (OpenID Connect Discovery 1.0, 3). */
const NEEDED = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;
const PROVIDER = 'identity provider';

type Metadata = Readonly<Record<string, unknown>>;

/**
 * Whether people can sign in with the identity provider: it responds, its document is of this issuer and complete, it has
 * keys, and its clock agrees. No person and no secret is involved.
 *
 * @param issuer undefined if people sign in only with passwords
 */
export async function providerFindings(issuer: string | undefined, nowMs: () => number): Promise<Finding[]> {
  if (issuer === undefined) return [];
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  try {
    const { document, clockDifferenceSeconds } = await read(address, nowMs);
    const finding = faultOfDocument(document, issuer) ?? (await faultOfKeys(String(document.jwks_uri), nowMs));
    const ofClock = faultOfClock(clockDifferenceSeconds);
    return finding || ofClock
      ? [finding, ofClock].flatMap((each) => each ?? [])
      : [good(PROVIDER, `${issuer} responds`)];
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    const reason = `${address} gives no usable response (${error.check})`;
    return [fault(PROVIDER, reason, 'check OIDC_ISSUER and the network; until then people sign in with passwords')];
  }
}

/** @throws SignInError PROVIDER_UNAVAILABLE */
async function read(address: string, nowMs: () => number) {
  const headers = { accept: 'application/json' };
  const response = await limitedFetch(address, { headers, method: 'GET', body: undefined, redirect: 'manual' });
  const date = Date.parse(response.headers.get('date') ?? '');
  if (response.status !== 200) throw new SignInError('PROVIDER_UNAVAILABLE', `status ${response.status}`);
  const document: unknown = await response.json().catch(() => undefined);
  if (typeof document !== 'object' || document === null) throw new SignInError('PROVIDER_UNAVAILABLE', 'no JSON');
  return { document: document as Metadata, clockDifferenceSeconds: Math.round((date - nowMs()) / 1_000) };
}

function faultOfDocument(document: Metadata, issuer: string): Finding | undefined {
  if (document.issuer !== issuer) {
    const advice = 'set OIDC_ISSUER to the issuer in its document, character by character';
    return fault(PROVIDER, `the document at ${issuer} is of another issuer`, advice);
  }
  const missing = NEEDED.filter((name) => typeof document[name] !== 'string');
  if (missing.length === 0) return undefined;
  return fault(PROVIDER, `its document lacks ${missing.join(', ')}`, 'use a provider with the authorization code flow');
}

async function faultOfKeys(address: string, nowMs: () => number): Promise<Finding | undefined> {
  const { keys } = (await read(address, nowMs)).document;
  if (Array.isArray(keys) && keys.length > 0) return undefined;
  return fault(PROVIDER, 'it publishes no keys, so no ID token can be verified', 'add a signing key at the provider');
}

/** A provider without a Date header gives no clock to compare. */
function faultOfClock(seconds: number): Finding | undefined {
  if (Number.isNaN(seconds) || Math.abs(seconds) <= MAX_CLOCK_DIFFERENCE_SECONDS) return undefined;
  const direction = seconds > 0 ? 'ahead of' : 'behind';
  const advice = 'synchronize the clock of this machine; ID tokens of the provider are refused';
  return fault(PROVIDER, `its clock is ${Math.abs(seconds)} s ${direction} the clock of this machine`, advice);
}
