// What the page asks of the gateway that it comes from. Wherever that is: parts lie under pay/assets/.

const GATEWAY = new URL('../../', import.meta.url);
/** A tap is held for the deadline of the switch (30 s unless configured) and 5 s more. */
const PATIENCE_MS = 45_000;

/** There was no answer, or none that says anything. */
export class NoAnswer extends Error {}

/**
 * @param {{ method?: string, path: string, token?: string, headers?: Record<string, string>, body?: object }} request
 * @returns {Promise<{ status: number, body: any }>}
 * @throws {NoAnswer}
 */
export async function ask({ method = 'GET', path, token, headers, body }) {
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
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: response.status, body: await response.json() };
  } catch (cause) {
    throw new NoAnswer('there was no answer', { cause });
  }
}
