// The gateway that this page comes from, wherever that is: parts of the page lie under pay/assets/.

import { AnswerError, createClient, NoAnswerError } from './client.ts';
import { link } from './link.js';

/** What asks nobody else is answered within milliseconds; on a bad line, within this. */
const PATIENCE_MS = 10_000;

export const gateway = createClient({
  baseUrl: new URL('../..', import.meta.url).href,
  credentials: { token: link?.token },
  timeoutMs: PATIENCE_MS,
  // Until it is asked again the page says that there is no connection.
  repeats: 0,
  fetch: (url, request) =>
    fetch(url, { ...request, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer' }),
});

/** Whether the gateway has said nothing: there was no answer, or one of something on the way. */
export function isSilence(error) {
  return error instanceof NoAnswerError || error instanceof AnswerError;
}
