import { isIP } from 'node:net';
import { type AddressPolicy, isAllowedAddress } from '../outbound/public-addresses.ts';

/** Rules for URLs from outside. */
export interface UrlPolicy extends AddressPolicy {
  /** Also allows `http:`, for receivers on a developer's own machine. */
  readonly allowHttp: boolean;
}

/** Only dev allows receivers on the developer's own machine. */
export function callbackPolicy(environment: 'dev' | 'qa' | 'prod'): UrlPolicy {
  return { allowHttp: environment === 'dev', allowLoopback: environment === 'dev' };
}

/** Browsers and proxies accept this length. */
const MAX_URL_CHARS = 2_048;
/** Lower ports belong to other protocols, whose servers may read a request as commands (for example SMTP). */
const FIRST_FREE_PORT = 1_024;
const OPEN_PORTS: readonly string[] = ['', '443'];

/** Why the gateway does not call a URL. */
export type UrlFault = keyof typeof URL_FAULTS;

export const URL_FAULTS = {
  MALFORMED: 'must be an absolute URL',
  SCHEME: 'must begin with https://',
  CREDENTIALS: 'must not contain a user name or password',
  FRAGMENT: 'must not have a fragment',
  PORT: 'must use port 443 or a port above 1023',
  ADDRESS: 'must lead to a public address',
} as const;

/** The URL in its normal form (`HTTPS://0x7f.1` is `https://127.0.0.1/`), or what is wrong with it. */
export function readCallbackUrl(text: string, policy: UrlPolicy): URL | UrlFault {
  const url = text.length <= MAX_URL_CHARS ? URL.parse(text) : null;
  if (!url?.hostname) return 'MALFORMED';
  const fault = urlFault(url, policy);
  return fault ?? url;
}

/** Undefined if nothing is wrong, as far as can be decided without a DNS lookup. */
export function urlFault(url: URL, policy: UrlPolicy): UrlFault | undefined {
  if (url.protocol !== 'https:' && !(policy.allowHttp && url.protocol === 'http:')) return 'SCHEME';
  if (url.username !== '' || url.password !== '') return 'CREDENTIALS';
  if (url.hash !== '') return 'FRAGMENT';
  if (!OPEN_PORTS.includes(url.port) && Number(url.port) < FIRST_FREE_PORT) return 'PORT';
  const host = hostOf(url);
  if (isIP(host) !== 0 && !isAllowedAddress(host, policy)) return 'ADDRESS';
  return undefined;
}

/** The name or address to connect to: IPv6 without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
