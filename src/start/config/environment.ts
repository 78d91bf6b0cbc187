import { z } from 'zod';
import { FAILPOINTS, Failpoints } from '../../observe/failpoints.ts';
import { readKeyGrant, readListenerGrant, readNetworkGrant } from '../../switching/switches/access/grants.ts';
import {
  androidName,
  days,
  flag,
  grants,
  list,
  loginDomains,
  publicUrl,
  secretFile,
  signInSettings,
  tapRate,
} from './sign-in-settings.ts';

/** The console shows as many processes. */
const MAX_PROCESSES = 64;
/** Seven years, two of them leap years: the database refuses to delete younger audit rows. */
const AUDIT_DAYS = 2_557;
/**
 * A void is possible until the end of the longest business day (5 days), and its reversal is repeated for 72 hours.
 * Without the card data it could not be sent. Two more days cover time zones and a void that waits for a
 * completion.
 */
const CARD_DAYS = 10;

/** All settings, by environment variable. The descriptions are the documentation. */
export const environment = z.object({
  TAPWIRE_ENV: z
    .enum(['dev', 'qa', 'prod'])
    .default('dev')
    .describe('Environment; prod and qa refuse settings that are only for development'),
  TAPWIRE_ROLE: z
    .enum(['all', 'api', 'worker'])
    .default('all')
    .describe('Role of this process. api: HTTP without switches. worker: switches and jobs. all: both'),
  TAPWIRE_PROCESSES: z
    .union([z.literal('auto'), z.coerce.number().int().min(1).max(MAX_PROCESSES)], {
      error: `must be auto or a number from 1 to ${MAX_PROCESSES}`,
    })
    .default(1)
    .describe(
      'Gateway processes behind one port. auto: one per core, at most 8, and no more than the database has connections for',
    ),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080).describe('Port to listen on; 0 selects a free one'),
  DATABASE_URL: z
    .string()
    .min(1)
    .optional()
    .describe('URL of a Postgres database (15 or newer); if not set, an embedded Postgres is started'),
  DATABASE_URL_FILE: secretFile('DATABASE_URL'),
  CELL_NAME: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,30}$/, 'must be at most 31 small letters, digits and hyphens, beginning with a letter')
    .optional()
    .describe(
      'Name of the cell to which this installation belongs, if there are several; the same in all its processes',
    ),
  CELLS_FILE: z
    .string()
    .min(1)
    .default('cells.json')
    .describe('File with the cells of the operator, which `tapwire cell` reads and writes (src/tools/cells/README.md)'),
  JOB_MONITOR_SECONDS: z.coerce
    .number()
    .int()
    .min(1)
    .max(60)
    .default(10)
    .describe(
      'Seconds between searches for jobs of processes that have died. A search takes a small database about 20 ms of processor time',
    ),
  TAPWIRE_DATA: z.string().min(1).default('.tapwire').describe('Folder for keys and the embedded Postgres'),
  TAPWIRE_KEYS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('Key ring file; if not set, <TAPWIRE_DATA>/keys.json. In dev it is created when missing'),
  PKCS11_MODULE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'PKCS #11 library of a token with keys of the installation (src/hsm-devices/pkcs11/README.md); requires the next two',
    ),
  PKCS11_TOKEN: z.string().min(1).max(32).optional().describe('Label of the token'),
  PKCS11_PIN_FILE: z.string().min(1).optional().describe('File with the PIN of the token, readable for its owner only'),
  TAPWIRE_AUDIENCE: z.string().min(1).default('tapwire').describe('Required value of `aud` in a merchant JWT'),
  HSM_KEYS_FILE: z
    .string()
    .min(1)
    .optional()
    .describe('Only in dev and qa: JSON file with the keys of a software HSM (src/hsm-devices/open-hsm.ts)'),
  HSM_MODULE: z
    .string()
    .min(1)
    .optional()
    .describe(
      'HSM with the keys of switches: JSON file with payShield devices or keys in AWS Payment Cryptography (src/hsm-devices/README.md), or path or package with openHsm() (src/codecs/crypto/hsm.ts)',
    ),
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
  LOGIN_DOMAINS: loginDomains.describe(
    'Domains of the names of portal users: ACQUIRER=DOMAIN, comma-separated. An acquirer creates names in its domains only, ' +
      'so no response reveals a name of another one. List every acquirer if there are several',
  ),
  PROCESSORS: list.describe('Processors besides those in processors/: folders or packages, comma-separated'),
  READERS: list.describe('Reader formats besides those in readers/: folders or packages, comma-separated'),
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
  RETENTION_LINK_DAYS: days(1, 180).describe(
    'Days for which links and intents are kept that no tap holds, and all mandates of TT3',
  ),
  MESSAGES_KEPT: z
    .enum(['all', 'exceptions', 'none'])
    .default('all')
    .describe('Which ISO 8583 messages are kept, masked, for the console: all, all but ordinary approvals, or none'),
  RETENTION_MESSAGE_DAYS: days(1, 30).describe('Days for which the masked messages are kept for the console'),
  RETENTION_WEBHOOK_DAYS: days(1, 30).describe('Days for which webhook events and their delivery attempts are kept'),
  RESOLUTION_NEEDS_TWO: flag
    .default(false)
    .describe('A second person must confirm in the console what resolves a transaction that needs review'),
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
      'Only in dev: points at which this process kills or freezes itself, for crash tests (src/observe/failpoints.ts)',
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
    .describe(
      'Collector that receives spans (OTLP over HTTP); if not set, no spans are created. Its headers are in OTEL_EXPORTER_OTLP_HEADERS, which the OpenTelemetry packages read.',
    ),
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
    .describe('Requests per second per credential in one process, without taps; bursts of ten seconds; 0 for no limit'),
  RATE_PER_APP_TOKEN: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(20)
    .describe(
      'The same per token of a link, of an intent session or of a reader; a pay page sends a request every two seconds',
    ),
  RATE_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(500)
    .describe(
      'Requests per second in one process per address without a credential, or with a new or invalid one; 0 for no limit',
    ),
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
  ...signInSettings,
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
    .describe(
      'Database connections per process for taps and jobs; at most five more serve the configuration, reports, masked messages and notifications',
    ),
});

export type Config = z.output<typeof environment>;

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
