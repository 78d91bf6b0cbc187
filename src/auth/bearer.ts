import { AuthError } from '../basics/errors.ts';

/**
 * The token of an `Authorization: Bearer …` header (RFC 6750 2.1; the scheme in any case, RFC 9110 11.1).
 *
 * @throws {AuthError} UNAUTHORISED if it is missing
 */
export function bearerToken(authorization: string | undefined): string {
  const token = authorization === undefined ? undefined : /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(authorization)?.[1];
  if (token === undefined) throw new AuthError('UNAUTHORISED', 'bearer');
  return token;
}
