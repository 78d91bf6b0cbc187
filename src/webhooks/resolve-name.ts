import { Resolver } from 'node:dns/promises';
import { OutboundError } from '../errors.ts';

/** The addresses of a name, IPv4 and IPv6 as text. @throws OutboundError NAME_NOT_FOUND, NAME_LOOKUP_FAILED */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Per server and try: well inside the time of a whole request. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** More say nothing new; a zone may have thousands. */
const MAX_ADDRESSES = 8;
/** RFC 6761 6.3: these names are the machine itself, whatever a server says. */
const LOCALHOST = /(^|\.)localhost\.?$/i;

export interface NameResolverOptions {
  /** Instead of the machine's own: `address` or `address:port`. */
  readonly servers?: readonly string[];
  /** Per server and try. */
  readonly timeoutMs?: number;
}

/**
 * Asks the name servers themselves, not the operating system: `getaddrinfo` takes a thread of the pool that checks
 * signatures, for as long as a slow name server likes.
 */
export function createNameResolver({ servers, timeoutMs = TIMEOUT_MS }: NameResolverOptions = {}): ResolveName {
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers) resolver.setServers(servers);
  return async (name) => {
    if (LOCALHOST.test(name)) return ['127.0.0.1', '::1'];
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses.slice(0, MAX_ADDRESSES);
    const isUnknown = answers.every((answer) => answer.status === 'rejected' && MISSING.includes(answer.reason?.code));
    throw new OutboundError(isUnknown ? 'NAME_NOT_FOUND' : 'NAME_LOOKUP_FAILED');
  };
}

/** No such name, or none of this kind under it. */
const MISSING: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'EBADNAME'];
