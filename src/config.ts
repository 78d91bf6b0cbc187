import { z } from 'zod';
import { StartError } from './errors.ts';
import { FAILPOINTS, Failpoints } from './ops/failpoints.ts';
import { type SecretName, withSecretFiles } from './ops/secret-files.ts';
import { faultOfTrustedProxy } from './ops/trusted-proxies.ts';
import { type Grant, readGrant, readKeyGrant, readListenerGrant, readNetworkGrant } from './switches/access/grants.ts';

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  );

/** Lists grants of the operator to acquirers. */
const grants = <What>(example: string, read: (what: string) => What | undefined) =>
  list.transform((entries, context): readonly Grant<What>[] =>
    entries.flatMap((entry) => {
      const grant = readGrant(entry, read);
      if (grant === undefined)
        context.addIssue(`${JSON.stringify(entry)} is not ACQUIRER=VALUE; a value is ${example}`);
      return grant ?? [];
    }),
  );

/** Seven years, two of them leap years: the database refuses to delete younger audit rows. */
const AUDIT_DAYS = 2_557;
/**
 * A void is possible until the end of the longest business day (5 days), and its reversal is repeated for 72 hours.
 * Without the card data it could not be sent. Two more days cover time zones and a void that waits for a
 * completion.
 */
const CARD_DAYS = 10;
/** A number of days, limited so that a date computed from it stays in the common era. */
const days = (least: number, defaultValue: number) =>
  z.coerce.number().int().min(least).max(36_500).default(defaultValue);

/** Without a query or fragment, because paths are appended. A trailing slash is removed. */
const publicUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .regex(/^[^?#@]*$/, 'must not have a query, a fragment or a password')
  .transform((url) => url.replace(/\/+$/, ''))
  .optional();

/** Name of an Android action or package. */
const androidName = z
  .string()
  .max(255)
  .regex(/^[A-Za-z]\w*(\.\w+)*$/, 'must be a name such as com.example.pay')
  .optional();

const tapRate = (defaultValue: number) => z.coerce.number().int().min(0).max(1_000_000).default(defaultValue);

const flag = z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0', ''] });

/**
 * A setting with a secret can be given as a file: orchestrators provide files, and a process's environment is easy
 * to read.
 */
const secretFile = (name: SecretName) =>
  z.string().min(1).optional().describe(`File that contains only the value of ${name}; replaces that setting`);

/** All settings, by environment variable. The descriptions are the documentation. */
const environment = z.object({
  TAPWIRE_ENV: z
    .enum(['dev', 'qa', 'prod'])
    .default('dev')
    .describe('Environment; prod and qa refuse settings that are only for development'),
  TAPWIRE_ROLE: z
    .enum(['all', 'api', 'worker'])
    .default('all')
    .describe('Role of this process. api: HTTP without switches. worker: switches and jobs. all: both'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080).describe('Port to listen on; 0 selects a free one'),
  DATABASE_URL: z
    .string()
    .min(1)
    .optional()
    .describe('URL of a Postgres database (15 or newer); if not set, an embedded Postgres is started'),
  DATABASE_URL_FILE: secretFile('DATABASE_URL'),
  DATABASE_BACKEND: z
    .enum(['postgres', 'citus', 'yugabytedb'])
    .default('postgres')
    .describe('Kind of Postgres; the job queue avoids features that distributed ones lack (src/ops/README.md)'),
  TAPWIRE_DATA: z.string().min(1).default('.tapwire').describe('Folder for keys and the embedded Postgres'),
  TAPWIRE_KEYS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('Key ring file; if not set, <TAPWIRE_DATA>/keys.json. In dev it is created when missing'),
  TAPWIRE_AUDIENCE: z.string().min(1).default('tapwire').describe('Required value of `aud` in a merchant JWT'),
  HSM_KEYS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('Only in dev and qa: JSON file with the keys of a software HSM (src/switches/open-hsm.ts)'),
  HSM_MODULE: z
    .string()
    .min(1)
    .optional()
    .describe('Path or package whose openHsm() returns the HSM with the keys of switches (src/crypto/hsm.ts)'),
  TLS_FILES_DIR: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of the PEM files for switches, with a subfolder per acquirer id; if not set, <TAPWIRE_DATA>/tls'),
  SWITCH_NETWORKS: grants('10.1.0.0/16, 10.1.0.5:9101 or [fd00::/8]:9000-9099', readNetworkGrant).describe(
    'Networks granted to acquirers for their switches: ACQUIRER=NETWORK[:PORTS], comma-separated, * for all acquirers. Others cannot connect to them; ' +
      'unlisted private, loopback and link-local addresses are refused',
  ),
  SWITCH_LISTENERS: grants('0.0.0.0:9101 or [::]:9101-9110', readListenerGrant).describe(
    'Addresses on which the gateway accepts connections from switches: ACQUIRER=ADDRESS:PORTS, comma-separated, * for all acquirers; if not set, none',
  ),
  SWITCH_KEYS: grants('zone-pin or bank-1-*', readKeyGrant).describe(
    'HSM keys granted to acquirers, besides those named acquirer/<id>/...: ACQUIRER=KEY, comma-separated, * for all acquirers',
  ),
  PROCESSORS: list.describe('Processors besides those in processors/: folders or packages, comma-separated'),
  TRUSTED_PROXIES: list.describe(
    'Addresses or networks of the TLS-terminating proxies in front, comma-separated. In qa and prod each must send ' +
      'X-Forwarded-Proto: https, and other clients are refused without TLS',
  ),
  TLS_CERT_FILE: z.string().min(1).optional().describe('PEM file of the certificate for HTTPS'),
  TLS_KEY_FILE: z.string().min(1).optional().describe('PEM file of the private key for TLS_CERT_FILE'),
  ALLOW_BARE_CARD_DATA: flag.default(false).describe('Only in dev: accept card data that is not encrypted'),
  DOCS_PROFILE: z
    .string()
    .min(1)
    .optional()
    .describe('Only in dev: client profile whose credentials fill the examples of /docs, for callers on this machine'),
  RETENTION_CARD_DAYS: days(CARD_DAYS, 180).describe(
    'Days for which sealed PANs are kept for refunds and disputes, at least 10. Open reversals keep theirs until they end',
  ),
  RETENTION_AUDIT_DAYS: days(AUDIT_DAYS, AUDIT_DAYS).describe(
    'Days for which the audit trail and admin events are kept, at least seven years',
  ),
  RETENTION_LINK_DAYS: days(1, 180).describe('Days for which links and intents are kept, with the mandates of TT3'),
  MESSAGES_KEPT: z
    .enum(['all', 'exceptions', 'none'])
    .default('all')
    .describe('Which ISO 8583 messages are kept, masked, for the console: all, all but ordinary approvals, or none'),
  RETENTION_MESSAGE_DAYS: days(1, 30).describe('Days for which the masked messages are kept for the console'),
  RETENTION_WEBHOOK_DAYS: days(1, 30).describe('Days for which webhook events and their delivery attempts are kept'),
  TAPWIRE_FAILPOINTS: z
    .string()
    .optional()
    .transform((text, context) => {
      const failpoints = text ? Failpoints.parse(text) : undefined;
      if (text && !failpoints)
        context.addIssue(`must be a list of NAME:kill or NAME:freeze@TIMES of ${FAILPOINTS.join(', ')}`);
      return failpoints;
    })
    .describe(
      'Only in dev: points at which this process kills or freezes itself, for crash tests (src/ops/failpoints.ts)',
    ),
  READER_PIN_KEY: z
    .string()
    .min(1)
    .default('reader-bdk')
    .describe('Id of the base derivation key of the readers in the HSM'),
  READER_PIN_FORMAT: z.coerce
    .number()
    .pipe(z.literal([0, 1, 3]))
    .default(0)
    .describe('ISO 9564-1 format of 8-byte PIN blocks; 16-byte blocks have format 4'),
  PIN_SECONDS: z.coerce
    .number()
    .min(1)
    .max(600)
    .default(90)
    .describe('Seconds in which a phone can submit a requested PIN'),
  BASE_URL: publicUrl.describe(
    'URL at which integrators reach transactions and payments; if not set, the listening address (only in dev)',
  ),
  AUTH_URL: publicUrl.describe('URL for logins and tokens; if not set, BASE_URL'),
  APP_URL: publicUrl.describe('URL for callbacks and prefix of links; phones must reach it. Required in qa and prod'),
  LINK_MINUTES: z.coerce
    .number()
    .min(1)
    .max(1_440)
    .default(15)
    .describe('Minutes for which a link or intent can be paid and its token is valid, at most a day'),
  INTENT_ACTION: androidName.describe(
    'Action of the Android intent with which pay pages open the payment app; if not set, they show only a QR code',
  ),
  INTENT_PACKAGE: androidName.describe('Package of the payment app, so that no other app receives the token'),
  FCM_SERVICE_ACCOUNT_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Key file of the Google service account that pushes payments; if not set, dev logs them and links are the alternative',
    ),
  FCM_URL: z
    .url({ protocol: /^https?$/ })
    .default('https://fcm.googleapis.com')
    .describe('URL of Firebase Cloud Messaging, or of its substitute in tests'),
  METRICS_TOKEN: z
    .string()
    .min(16)
    .optional()
    .describe(
      'Bearer token required for /metrics and for the switches in /readyz and /healthz; if not set, both are open in dev and absent elsewhere',
    ),
  METRICS_TOKEN_FILE: secretFile('METRICS_TOKEN'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional()
    .describe('Collector that receives spans (OTLP over HTTP); if not set, no spans are created'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe("Share of traces recorded that begin here, 0 to 1; a caller's own decision takes precedence"),
  RATE_PER_CREDENTIAL: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(5_000)
    .describe('Requests per second per credential and process, without taps; bursts of ten seconds; 0 for no limit'),
  RATE_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(500)
    .describe('Requests per second per address without a credential, or with a new or invalid one; 0 for no limit'),
  TAPS_PER_LINK: tapRate(2).describe(
    'Taps, PINs and acknowledgements per second per token of a link or intent, in one process; bursts of ten seconds; ' +
      '0 for no limit. A payment with PIN needs five requests',
  ),
  TAPS_PER_TOKEN: tapRate(200).describe(
    "The same per token of a merchant's backend; 200 is 1,000 tills that share it and sell every ten seconds, with acknowledgements",
  ),
  TAPS_PER_MERCHANT: tapRate(1_000).describe(
    'The same per merchant; requests with tokens of its links have a separate limit of the same size',
  ),
  LOGIN_TOKEN_MINUTES: z.coerce
    .number()
    .min(1)
    .max(720)
    .default(60)
    .describe('Minutes for which a portal user stays logged in, at most half a day'),
  PROXIMITY_TOKEN_HOURS: z.coerce
    .number()
    .min(1)
    .max(168)
    .default(48)
    .describe('Hours for which the token of a reader is valid, at most a week'),
  LOGIN_TRIES_PER_USER: z.coerce
    .number()
    .int()
    .min(1)
    .max(10)
    .default(10)
    .describe('Login attempts per username within LOGIN_WINDOW_MINUTES'),
  LOGIN_TRIES_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(100)
    .describe('Failed login attempts per address, which many users can share, within LOGIN_WINDOW_MINUTES'),
  LOGIN_WINDOW_MINUTES: z.coerce
    .number()
    .min(30)
    .max(1_440)
    .default(30)
    .describe('Minutes for which login attempts are counted, and a user without attempts left is locked out'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Log level; debug logs each request. No level contains card data'),
  DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(4)
    .max(100)
    .default(12)
    .describe('Database connections per process for taps and jobs; at most three more serve reports and notifications'),
});

const checked = environment.superRefine((settings, context) => {
  const fault = (path: keyof typeof settings, message: string) =>
    context.addIssue({ code: 'custom', path: [path], message });
  const isDev = settings.TAPWIRE_ENV === 'dev';
  if (settings.ALLOW_BARE_CARD_DATA && !isDev) fault('ALLOW_BARE_CARD_DATA', 'is allowed only in dev');
  if (settings.TAPWIRE_FAILPOINTS && !isDev) fault('TAPWIRE_FAILPOINTS', 'is allowed only in dev');
  if (settings.DOCS_PROFILE && !isDev) fault('DOCS_PROFILE', 'is allowed only in dev');
  if (!settings.DATABASE_URL && !isDev) fault('DATABASE_URL', 'is required; the embedded Postgres is only for dev');
  if (!isDev && !settings.FCM_URL.startsWith('https:')) fault('FCM_URL', 'must begin with https://');
  if (settings.HSM_KEYS_FILE && settings.TAPWIRE_ENV === 'prod') {
    fault('HSM_KEYS_FILE', 'is allowed only in dev and qa; set HSM_MODULE');
  }
  if (settings.HSM_KEYS_FILE && settings.HSM_MODULE)
    fault('HSM_KEYS_FILE', 'must not be set with HSM_MODULE; only one HSM is possible');
  if ((settings.TLS_CERT_FILE === undefined) !== (settings.TLS_KEY_FILE === undefined)) {
    fault('TLS_KEY_FILE', 'must be set if and only if TLS_CERT_FILE is set');
  }
  if (!isDev) checkPublicUrls(settings, fault);
  for (const entry of settings.TRUSTED_PROXIES) {
    const wrong = faultOfTrustedProxy(entry);
    if (wrong !== undefined) fault('TRUSTED_PROXIES', wrong);
  }
  const hasHttp = settings.TAPWIRE_ROLE !== 'worker';
  if (!isDev && hasHttp && !settings.TLS_CERT_FILE && settings.TRUSTED_PROXIES.length === 0) {
    fault('TLS_CERT_FILE', 'is required with TLS_KEY_FILE unless TRUSTED_PROXIES is set; clients must use HTTPS');
  }
});

export type Config = z.output<typeof environment>;

/** Customers and readers receive these URLs from api processes, and from workers that repeat a push. */
const REQUIRED_URLS = ['BASE_URL', 'APP_URL'] as const;
const PUBLIC_URLS = [...REQUIRED_URLS, 'AUTH_URL'] as const;

function checkPublicUrls(settings: Config, fault: (path: keyof Config, message: string) => void): void {
  for (const name of REQUIRED_URLS) {
    if (settings[name] === undefined) fault(name, 'is required; clients cannot reach the listening address');
  }
  for (const name of PUBLIC_URLS) {
    if (settings[name]?.startsWith('http:')) fault(name, 'must begin with https://');
  }
}

/** Reads only PROCESSORS, for commands that need no database. */
export function readProcessorNames({ PROCESSORS }: NodeJS.ProcessEnv): string[] {
  return environment.shape.PROCESSORS.parse(PROCESSORS);
}

/** Reads only DATABASE_BACKEND, for commands whose arguments name a database. */
export function readDatabaseBackend({ DATABASE_BACKEND }: NodeJS.ProcessEnv): Config['DATABASE_BACKEND'] {
  return environment.shape.DATABASE_BACKEND.parse(DATABASE_BACKEND);
}

/** @throws StartError BAD_CONFIG naming all invalid settings */
export function readConfig(variables: NodeJS.ProcessEnv): Config {
  const read = withSecretFiles(variables);
  const result = checked.safeParse(read.variables);
  if (result.success && read.faults.length === 0) return result.data;
  const issues = result.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
  const faults = [...read.faults, ...issues].map((fault) => `  ${fault}`);
  throw new StartError('BAD_CONFIG', `The configuration is invalid:\n${faults.join('\n')}`);
}

/** A setting, described for a person. */
export interface Setting {
  /** Name of the environment variable. */
  readonly name: string;
  readonly description: string;
  /** Default value as it would be written; undefined when the setting has none or an empty one. */
  readonly defaultValue: string | undefined;
}

/** All settings, in the order of the schema above. */
export function settings(): readonly Setting[] {
  return Object.entries(environment.shape).map(([name, schema]) => {
    const defaultValue: unknown = schema.safeParse(undefined).data;
    const text = Array.isArray(defaultValue)
      ? defaultValue.join(',')
      : defaultValue === undefined
        ? ''
        : String(defaultValue);
    return { name, description: schema.description ?? '', defaultValue: text === '' ? undefined : text };
  });
}
