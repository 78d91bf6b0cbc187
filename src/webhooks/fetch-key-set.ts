import { OutboundError } from '../basics/errors.ts';
import type { GuardedFetch } from './guarded-fetch.ts';

/** A tap waits for the fetch if the set is not known yet. */
const TIMEOUT_MS = 3_000;
/** A hundred RSA keys of 4,096 bits. */
const MAX_BYTES = 128 * 1_024;
const ACCEPT = 'application/jwk-set+json, application/json';

/**
 * Fetches a key set (RFC 7517 5) from its issuer's URL, with the rules for all URLs from outside.
 *
 * @throws OutboundError unless the response is 200, complete, in time and within the limits
 */
export async function fetchKeySet(fetcher: Pick<GuardedFetch, 'request'>, url: string): Promise<string> {
  const parsed = URL.parse(url);
  if (!parsed) throw new OutboundError('URL_REFUSED');
  const limits = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_BYTES };
  const { status, body, isCut } = await fetcher.request({
    url: parsed,
    method: 'GET',
    headers: { accept: ACCEPT },
    ...limits,
  });
  if (status !== 200 || isCut) throw new OutboundError('RESPONSE_BROKEN');
  return body.toString('utf8');
}
