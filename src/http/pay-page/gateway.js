// What the page asks of the gateway that it comes from. Wherever that is: parts lie under pay/assets/.

const GATEWAY = new URL('../../', import.meta.url);
/** What asks nobody else is answered within milliseconds; on a bad line, within this. */
const PATIENCE_MS = 10_000;
/** A tap is held for the deadline of the switch (30 s unless configured) and 5 s more. */
export const PATIENCE_WITH_SWITCH_MS = 45_000;

/** There was no answer, or none that says anything. */
export class NoAnswer extends Error {}

/**
 * @param {object} request
 * @param {string} [request.method]
 * @param {string} request.path from the root of the gateway, without a slash in front
 * @param {string} [request.token] shown as Bearer
 * @param {Record<string, string>} [request.headers]
 * @param {object} [request.body] sent as JSON
 * @param {number} [request.patienceMs]
 * @returns {Promise<{ status: number, body: any }>}
 * @throws {NoAnswer}
 */
export async function ask({ method = 'GET', path, token, headers, body, patienceMs = PATIENCE_MS }) {
  const sent = {
    ...headers,
    accept: 'application/json',
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  try {
    const response = await fetch(new URL(path, GATEWAY), {
      method,
      headers: sent,
      ...(body && { body: JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(patienceMs),
    });
    return { status: response.status, body: await response.json() };
  } catch (cause) {
    throw new NoAnswer('there was no answer', { cause });
  }
}
