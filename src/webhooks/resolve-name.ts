import { Resolver } from 'node:dns/promises';
import { OutboundError } from '../basics/errors.ts';

/** The addresses of a name, IPv4 and IPv6 as text. @throws OutboundError NAME_NOT_FOUND, NAME_LOOKUP_FAILED */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Per server and try: well within the time of a whole request. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** A zone may have thousands; more than these add no information. */
const MAX_ADDRESSES = 8;
/** RFC 6761 6.3: these names always mean this machine, regardless of DNS. */
const LOCALHOST = /(^|\.)localhost\.?$/i;

export interface NameResolverOptions {
  /** Replaces the machine's own name servers: `address` or `address:port`. */
  readonly servers?: readonly string[];
  /** Per server and try. */
  readonly timeoutMs?: number;
}

/**
 * Queries the name servers directly. The system's `getaddrinfo` would occupy a thread of the pool that verifies
 * signatures for as long as a slow name server takes.
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

/** The name does not exist, or has no address of this kind. */
const MISSING: readonly unknown[] = ['ENOTFOUND', 'ENODATA', 'EBADNAME'];
