// Calls the gateway that served this page. Its address is derived from pay/assets/, where parts of the page are.

import { createClient, NoResponseError, ResponseError } from './client.ts';
import { link } from './link.js';

/** A request that involves no other system receives a response within milliseconds. This allows for a slow connection. */
const TIMEOUT_MS = 10_000;

/**
 * The client has the operations that this page is served (page-files.ts), not those of the API.
 *
 * @type {Record<string, (parts: any, options?: object) => Promise<any>>}
 */
export const gateway = createClient({
  baseUrl: new URL('../..', import.meta.url).href,
  credentials: { token: link?.token },
  timeoutMs: TIMEOUT_MS,
  // Until the next poll the page shows that it is offline.
  repeats: 0,
  fetch: (url, request) =>
    fetch(url, { ...request, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer' }),
});

/**
 * Whether the gateway did not respond: there was no response, or one from an intermediary.
 *
 * @param {unknown} error
 */
export function isSilence(error) {
  return error instanceof NoResponseError || error instanceof ResponseError;
}
