import type { IncomingHttpHeaders } from 'node:http';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** The caller's correlation id, if it is a UUID. */
export function correlationIdOf(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-correlation-id'];
  return typeof given === 'string' && UUID.test(given) ? given : undefined;
}
