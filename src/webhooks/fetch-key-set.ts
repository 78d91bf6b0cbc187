import { OutboundError } from '../errors.ts';
import type { GuardedFetch } from './guarded-fetch.ts';

/** Somebody's tap waits for it when the set is not known yet. */
const TIMEOUT_MS = 3_000;
/** A hundred RSA keys of 4,096 bits. */
const MAX_BYTES = 128 * 1_024;
const ACCEPT = 'application/jwk-set+json, application/json';

/**
 * Fetches a key set (RFC 7517 5) from where its issuer publishes it, as any URL of a stranger's is fetched.
 *
 * @throws OutboundError when it is not answered with 200, whole, in time and within the limits
 */
export async function fetchKeySet(fetcher: Pick<GuardedFetch, 'request'>, url: string): Promise<string> {
  const parsed = URL.parse(url);
  if (!parsed) throw new OutboundError('URL_REFUSED');
  const limits = { timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_BYTES };
  const { status, body, isCut } = await fetcher.request({
    url: parsed,
    method: 'GET',
    headers: { accept: ACCEPT },
    ...limits,
  });
  if (status !== 200 || isCut) throw new OutboundError('ANSWER_BROKEN');
  return body.toString('utf8');
}
