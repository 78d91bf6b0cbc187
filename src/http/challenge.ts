import type { RouteFacts } from './route-facts.ts';

/** RFC 9110 has no scheme for keys in a dedicated header. This names the header, as OpenAPI's `apiKey` does. */
const API_KEY = 'ApiKey header="x-api-key"';
/** errorCodes of a refused token (RFC 6750 3.1): 117 is invalid, 118 expired. */
const REFUSED_TOKEN: ReadonlySet<number> = new Set([117, 118]);

/** `WWW-Authenticate` of a 401: every kind of credential that the route accepts, and no other (RFC 9110 11.6.1). */
export function challengeOf(takes: RouteFacts['takes'] = [], errorCode: number): string {
  const takesKey = takes.some((credential) => credential.endsWith('Key'));
  const takesToken = takes.length === 0 || takes.some((credential) => credential.endsWith('Token'));
  const bearer = REFUSED_TOKEN.has(errorCode) ? 'Bearer error="invalid_token"' : 'Bearer';
  return [...(takesToken ? [bearer] : []), ...(takesKey ? [API_KEY] : [])].join(', ');
}
