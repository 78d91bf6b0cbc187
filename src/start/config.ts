import { faultsByName } from '../basics/errors/issue-texts.ts';
import { StartError } from '../basics/errors.ts';
import { withSecretFiles } from '../observe/secret-files.ts';
import { faultOfTrustedProxy } from '../observe/trusted-proxies.ts';
import { type Config, environment } from './config/environment.ts';
import { checkSignIn } from './config/sign-in-settings.ts';

export { type Config, type Setting, settings } from './config/environment.ts';

/** What single settings cannot say: which of them belong together, and which are only for development. */
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
  const ofToken = ['PKCS11_MODULE', 'PKCS11_TOKEN', 'PKCS11_PIN_FILE'] as const;
  for (const name of ofToken)
    if (settings[name] === undefined && ofToken.some((other) => settings[other] !== undefined))
      fault(name, `must be set with ${ofToken.filter((other) => other !== name).join(' and ')}`);
  if ((settings.TLS_CERT_FILE === undefined) !== (settings.TLS_KEY_FILE === undefined)) {
    fault('TLS_KEY_FILE', 'must be set if and only if TLS_CERT_FILE is set');
  }
  if (!isDev) checkPublicUrls(settings, fault);
  checkSignIn(settings, isDev, fault);
  for (const entry of settings.TRUSTED_PROXIES) {
    const wrong = faultOfTrustedProxy(entry);
    if (wrong !== undefined) fault('TRUSTED_PROXIES', wrong);
  }
  const hasHttp = settings.TAPWIRE_ROLE !== 'worker';
  if (!isDev && hasHttp && !settings.TLS_CERT_FILE && settings.TRUSTED_PROXIES.length === 0) {
    fault('TLS_CERT_FILE', 'is required with TLS_KEY_FILE unless TRUSTED_PROXIES is set; clients must use HTTPS');
  }
});

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

/** Reads only READERS, for commands that need no database. */
export function readReaderNames({ READERS }: NodeJS.ProcessEnv): string[] {
  return environment.shape.READERS.parse(READERS);
}

/** Reads only PROCESSORS, for commands that need no database. */
export function readProcessorNames({ PROCESSORS }: NodeJS.ProcessEnv): string[] {
  return environment.shape.PROCESSORS.parse(PROCESSORS);
}

/** Reads only CELLS_FILE, for commands that use the databases of the listed cells. */
export function readCellsFile({ CELLS_FILE }: NodeJS.ProcessEnv): string {
  return environment.shape.CELLS_FILE.parse(CELLS_FILE);
}

/** @throws StartError BAD_CONFIG naming all invalid settings */
export function readConfig(variables: NodeJS.ProcessEnv): Config {
  const read = withSecretFiles(variables);
  const result = checked.safeParse(read.variables);
  if (result.success && read.faults.length === 0) return result.data;
  const issues = result.error ? faultsByName(result.error) : [];
  const faults = [...read.faults, ...issues].map((fault) => `  ${fault}`);
  throw new StartError('BAD_CONFIG', `The configuration is invalid:\n${faults.join('\n')}`);
}
