import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isWideNetwork } from '../../observe/trusted-proxies.ts';
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
