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

/** Lists what the operator gives to acquirers. */
const grants = <What>(example: string, read: (what: string) => What | undefined) =>
  list.transform((entries, context): readonly Grant<What>[] =>
    entries.flatMap((entry) => {
      const grant = readGrant(entry, read);
      if (grant === undefined) context.addIssue(`${JSON.stringify(entry)} is not ACQUIRER=WHAT, with ${example}`);
      return grant ?? [];
    }),
  );

/** Seven years, two of them leap years: the database refuses to delete younger audit rows. */
const AUDIT_DAYS = 2_557;
/**
 * A void may be asked for until the end of the longest business day (5 days), and its reversal is repeated for 72 h: without the
 * card it could not be sent. Two more days cover time zones and a void that waits for a completion.
 */
const CARD_DAYS = 10;
/** A setting of days, never so many that a date before our era comes of it. */
const days = (least: number, defaultValue: number) =>
  z.coerce.number().int().min(least).max(36_500).default(defaultValue);

/** Without a query or fragment, since paths are appended; given back without a slash at its end. */
const publicUrl = z
  .url({ protocol: /^https?$/, error: 'is no http or https URL' })
  .regex(/^[^?#@]*$/, 'has a query, a fragment or a password')
  .transform((url) => url.replace(/\/+$/, ''))
  .optional();

/** A name as Android's own are: of an action, or of a package. */
const androidName = z
  .string()
  .max(255)
  .regex(/^[A-Za-z]\w*(\.\w+)*$/, 'is no name like com.example.pay')
  .optional();

const tapRate = (defaultValue: number) => z.coerce.number().int().min(0).max(1_000_000).default(defaultValue);

const flag = z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0', ''] });

/** Of a setting that is a secret: for orchestrators that hand those over as files, and for whoever can list a process's environment. */
const secretFile = (name: SecretName) =>
  z.string().min(1).optional().describe(`A file that holds ${name} and nothing else, in its place`);

/** Every setting, by its environment variable. The descriptions are the documentation. */
const environment = z.object({
  TAPWIRE_ENV: z
    .enum(['dev', 'qa', 'prod'])
    .default('dev')
    .describe('What is allowed: prod and qa refuse what is only for development'),
  TAPWIRE_ROLE: z
    .enum(['all', 'api', 'worker'])
    .default('all')
    .describe('api: HTTP, no switch. worker: switches and jobs. all: both'),
  HOST: z.string().min(1).default('127.0.0.1').describe('The address to listen on'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080).describe('The port to listen on; 0 takes a free one'),
  DATABASE_URL: z.string().min(1).optional().describe('Postgres 15 or newer; without it an embedded one is started'),
  DATABASE_URL_FILE: secretFile('DATABASE_URL'),
  DATABASE_BACKEND: z
    .enum(['postgres', 'citus', 'yugabytedb'])
    .default('postgres')
    .describe('What Postgres it is: the job queue leaves out what a distributed one lacks (src/ops/README.md)'),
  TAPWIRE_DATA: z.string().min(1).default('.tapwire').describe('Where keys and the embedded Postgres live'),
  TAPWIRE_KEYS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('The key ring; <TAPWIRE_DATA>/keys.json when not set, made in dev'),
  TAPWIRE_AUDIENCE: z.string().min(1).default('tapwire').describe('What `aud` of a merchant JWT must be'),
  HSM_KEYS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('dev and qa alone: JSON with the keys of a software HSM (src/switches/open-hsm.ts)'),
  HSM_MODULE: z
    .string()
    .min(1)
    .optional()
    .describe('A path or package whose openHsm() gives the HSM with the keys of switches (src/crypto/hsm.ts)'),
  TLS_FILES_DIR: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Where the PEM files of switches lie, in a folder for each acquirer by its number; <TAPWIRE_DATA>/tls when not set',
    ),
  SWITCH_NETWORKS: grants('10.1.0.0/16, 10.1.0.5:9101 or [fd00::/8]:9000-9099', readNetworkGrant).describe(
    'Whose the addresses of switches are: ACQUIRER=NETWORK[:PORTS] by comma, * for every acquirer. Others cannot dial them; ' +
      'private, loopback and link-local addresses that are not listed are refused',
  ),
  SWITCH_LISTENERS: grants('0.0.0.0:9101 or [::]:9101-9110', readListenerGrant).describe(
    'Where switches may connect to us: ACQUIRER=ADDRESS:PORTS by comma, * for every acquirer; nowhere when not set',
  ),
  SWITCH_KEYS: grants('zone-pin or bank-1-*', readKeyGrant).describe(
    'Whose keys of the HSM are that are not named acquirer/<id>/...: ACQUIRER=KEY by comma, * for every acquirer',
  ),
  PROCESSORS: list.describe('More processors than those in processors/: folders or packages, by comma'),
  TRUSTED_PROXIES: list.describe(
    'Addresses or networks of the TLS-terminating proxies in front, by comma; in qa and prod each must send ' +
      'X-Forwarded-Proto: https, and everyone else is refused without TLS',
  ),
  TLS_CERT_FILE: z.string().min(1).optional().describe('PEM: serve HTTPS with it'),
  TLS_KEY_FILE: z.string().min(1).optional().describe('PEM: the private key of TLS_CERT_FILE'),
  ALLOW_BARE_CARD_DATA: flag.default(false).describe('dev alone: take card data that is not encrypted'),
  DOCS_PROFILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      "dev alone: a client's profile whose credentials make the examples of /docs work, for callers on this machine",
    ),
  RETENTION_CARD_DAYS: days(CARD_DAYS, 180).describe(
    'How long PANs are kept, sealed, for refunds and disputes: ten days or more. Open reversals keep theirs until they end',
  ),
  RETENTION_AUDIT_DAYS: days(AUDIT_DAYS, AUDIT_DAYS).describe(
    'How long the audit trail and the record of changes are kept: seven years or more',
  ),
  RETENTION_LINK_DAYS: days(1, 180).describe('How long links and intents are kept, and the mandates of TT3 with them'),
  MESSAGES_KEPT: z
    .enum(['all', 'exceptions', 'none'])
    .default('all')
    .describe('Which messages of attempts are kept, masked, for the console: all, all but ordinary approvals, or none'),
  RETENTION_MESSAGE_DAYS: days(1, 30).describe('How long the masked messages of attempts are kept, for the console'),
  RETENTION_WEBHOOK_DAYS: days(1, 30).describe('How long webhook events and their attempts are kept'),
  TAPWIRE_FAILPOINTS: z
    .string()
    .optional()
    .transform((text, context) => {
      const failpoints = text ? Failpoints.parse(text) : undefined;
      if (text && !failpoints)
        context.addIssue(`is a list of NAME:kill or NAME:freeze@TIMES of ${FAILPOINTS.join(', ')}`);
      return failpoints;
    })
    .describe('dev alone: where this process ends itself, for crash tests (src/ops/failpoints.ts)'),
  READER_PIN_KEY: z
    .string()
    .min(1)
    .default('reader-bdk')
    .describe('The base derivation key of the readers in the HSM, by its id'),
  READER_PIN_FORMAT: z.coerce
    .number()
    .pipe(z.literal([0, 1, 3]))
    .default(0)
    .describe('ISO 9564-1 format of PIN blocks of 8 bytes; those of 16 are format 4'),
  PIN_SECONDS: z.coerce
    .number()
    .min(1)
    .max(600)
    .default(90)
    .describe('How long a phone may take to submit a PIN that was asked for'),
  BASE_URL: publicUrl.describe(
    'Where integrators reach transactions and payments; the listening address when not set, which is for dev alone',
  ),
  AUTH_URL: publicUrl.describe('And logins and tokens; BASE_URL when not set'),
  APP_URL: publicUrl.describe('And callbacks; links begin with it, so phones must reach it. Required in qa and prod'),
  LINK_MINUTES: z.coerce
    .number()
    .min(1)
    .max(1_440)
    .default(15)
    .describe('How long a link or intent can be paid, and its token is good; a day at most'),
  INTENT_ACTION: androidName.describe(
    'The action of the Android intent by which pay pages open the payment app; without it they show a QR code alone',
  ),
  INTENT_PACKAGE: androidName.describe('And the package of that app, so that no other one is given the token'),
  FCM_SERVICE_ACCOUNT_FILE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Key file of the Google service account that pushes payments; without it dev logs them, and links stand in',
    ),
  FCM_URL: z
    .url({ protocol: /^https?$/ })
    .default('https://fcm.googleapis.com')
    .describe('Firebase Cloud Messaging, or what stands for it in tests'),
  METRICS_TOKEN: z
    .string()
    .min(16)
    .optional()
    .describe(
      'What a scraper of /metrics shows as Bearer, and who wants to see the switches in /readyz and /healthz; without it they are open in dev and absent elsewhere',
    ),
  METRICS_TOKEN_FILE: secretFile('METRICS_TOKEN'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'is no http or https URL' })
    .optional()
    .describe('The collector that spans are sent to (OTLP over HTTP); without it none are made'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe("Which share of the traces that begin here is recorded; a caller's decision about its own goes first"),
  RATE_PER_CREDENTIAL: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(5_000)
    .describe('Requests per second of one credential and process, taps aside; bursts of ten seconds; 0 for no limit'),
  RATE_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(500)
    .describe('And of one address without a credential, or with one that is new or no good'),
  TAPS_PER_LINK: tapRate(2).describe(
    'Taps, PINs and acknowledgements per second by the token of one link or intent, in one process; bursts of ten seconds; ' +
      '0 for no limit. A customer needs five for a payment with PIN',
  ),
  TAPS_PER_TOKEN: tapRate(200).describe(
    "And by one token of a merchant's backend: 1,000 tills that share it and sell every ten seconds, with acknowledgements",
  ),
  TAPS_PER_MERCHANT: tapRate(1_000).describe(
    'And of one merchant; those by tokens of its links have a quota of the same size of their own',
  ),
  LOGIN_TOKEN_MINUTES: z.coerce
    .number()
    .min(1)
    .max(720)
    .default(60)
    .describe('How long a portal user stays logged in; half a day at most'),
  PROXIMITY_TOKEN_HOURS: z.coerce
    .number()
    .min(1)
    .max(168)
    .default(48)
    .describe('How long the token of a reader is good; a week at most'),
  LOGIN_TRIES_PER_USER: z.coerce
    .number()
    .int()
    .min(1)
    .max(10)
    .default(10)
    .describe('How often a password may be tried for one username within LOGIN_WINDOW_MINUTES'),
  LOGIN_TRIES_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000)
    .default(100)
    .describe('And from one address, whose users may be many; those that succeed do not count'),
  LOGIN_WINDOW_MINUTES: z.coerce
    .number()
    .min(30)
    .max(1_440)
    .default(30)
    .describe('How long tries are counted, and a user who has none left is kept out'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('debug tells of each request; nothing of a card is on any level'),
  DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(4)
    .max(100)
    .default(12)
    .describe('Database clients of a process for taps and jobs; at most three more read reports and listen'),
});

const checked = environment.superRefine((settings, context) => {
  const fault = (path: keyof typeof settings, message: string) =>
    context.addIssue({ code: 'custom', path: [path], message });
  const isDev = settings.TAPWIRE_ENV === 'dev';
  if (settings.ALLOW_BARE_CARD_DATA && !isDev) fault('ALLOW_BARE_CARD_DATA', 'is for dev alone');
  if (settings.TAPWIRE_FAILPOINTS && !isDev) fault('TAPWIRE_FAILPOINTS', 'is for dev alone');
  if (settings.DOCS_PROFILE && !isDev) fault('DOCS_PROFILE', 'is for dev alone');
  if (!settings.DATABASE_URL && !isDev) fault('DATABASE_URL', 'is required: the embedded Postgres is for dev alone');
  if (!isDev && !settings.FCM_URL.startsWith('https:')) fault('FCM_URL', 'must begin with https://');
  if (settings.HSM_KEYS_FILE && settings.TAPWIRE_ENV === 'prod') {
    fault('HSM_KEYS_FILE', 'is for dev and qa alone: set HSM_MODULE');
  }
  if (settings.HSM_KEYS_FILE && settings.HSM_MODULE) fault('HSM_KEYS_FILE', 'HSM_MODULE is set: there is one HSM');
  if ((settings.TLS_CERT_FILE === undefined) !== (settings.TLS_KEY_FILE === undefined)) {
    fault('TLS_KEY_FILE', 'TLS_CERT_FILE and TLS_KEY_FILE go together');
  }
  if (!isDev) checkPublicUrls(settings, fault);
  for (const entry of settings.TRUSTED_PROXIES) {
    const wrong = faultOfTrustedProxy(entry);
    if (wrong !== undefined) fault('TRUSTED_PROXIES', wrong);
  }
  const hasHttp = settings.TAPWIRE_ROLE !== 'worker';
  if (!isDev && hasHttp && !settings.TLS_CERT_FILE && settings.TRUSTED_PROXIES.length === 0) {
    fault('TLS_CERT_FILE', 'HTTPS is required: set it and TLS_KEY_FILE, or TRUSTED_PROXIES');
  }
});

export type Config = z.output<typeof environment>;

/** Customers and readers get them from api processes, and from workers that try a push again. */
const REQUIRED_URLS = ['BASE_URL', 'APP_URL'] as const;
const PUBLIC_URLS = [...REQUIRED_URLS, 'AUTH_URL'] as const;

function checkPublicUrls(settings: Config, fault: (path: keyof Config, message: string) => void): void {
  for (const name of REQUIRED_URLS) {
    if (settings[name] === undefined) fault(name, 'is required: clients cannot reach the listening address');
  }
  for (const name of PUBLIC_URLS) {
    if (settings[name]?.startsWith('http:')) fault(name, 'must begin with https://');
  }
}

/** PROCESSORS alone, for commands that need no database. */
export function readProcessorNames({ PROCESSORS }: NodeJS.ProcessEnv): string[] {
  return environment.shape.PROCESSORS.parse(PROCESSORS);
}

/** DATABASE_BACKEND alone, for commands that are given a database. */
export function readDatabaseBackend({ DATABASE_BACKEND }: NodeJS.ProcessEnv): Config['DATABASE_BACKEND'] {
  return environment.shape.DATABASE_BACKEND.parse(DATABASE_BACKEND);
}

/** @throws StartError BAD_CONFIG naming every setting that is wrong, all at once */
export function readConfig(variables: NodeJS.ProcessEnv): Config {
  const read = withSecretFiles(variables);
  const result = checked.safeParse(read.variables);
  if (result.success && read.faults.length === 0) return result.data;
  const issues = result.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
  const faults = [...read.faults, ...issues].map((fault) => `  ${fault}`);
  throw new StartError('BAD_CONFIG', `The configuration is wrong:\n${faults.join('\n')}`);
}

/** A setting as a person reads of it. */
export interface Setting {
  /** Of the environment variable. */
  readonly name: string;
  readonly description: string;
  /** What holds without it, as it would be written; undefined where that is nothing. */
  readonly defaultValue: string | undefined;
}

/** Every setting there is, in the order of the table above. */
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
