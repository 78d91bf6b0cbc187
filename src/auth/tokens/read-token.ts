import {
  MAX_TOKEN_CHARS,
  type MerchantTokenClaims,
  merchantTokenClaims,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '#schemas/tokens';
import { AuthError } from '../../basics/errors.ts';
import { decodeBase64Url } from '../../codecs/bytes/hex.ts';

/**
 * Header parameters with which a token would bring its own key, or change how it is read (RFC 7515 4.1, RFC 7797).
 */
export const REFUSED_PARAMETERS: readonly string[] = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'enc', 'zip'];
const MAX_KID_CHARS = 255;
/**
 * Throws on bytes that are not UTF-8, as RFC 7519 7.2 step 10 requires. A name with U+FFFD would be a name that was
 * never registered.
 */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The content of a token before any verification. */
export interface UnverifiedToken {
  readonly algorithm: SigningAlgorithm;
  readonly kid: string | undefined;
  readonly claims: MerchantTokenClaims;
}

/**
 * Parses a compact JWS (RFC 7515 7.1) without verifying it.
 *
 * @throws {AuthError} JWT_INVALID with the check that it fails
 */
export function readToken(token: string): UnverifiedToken {
  if (token.length > MAX_TOKEN_CHARS) throw invalid('size');
  const parts = token.split('.', 4);
  if (parts.length !== 3) throw invalid('shape');
  const header = parseObject(parts[0]!);
  const payload = parseObject(parts[1]!);
  if (header === undefined || payload === undefined || !decodeBase64Url(parts[2]!)?.length) throw invalid('shape');

  const { alg, kid, typ } = header;
  if (REFUSED_PARAMETERS.some((name) => Object.hasOwn(header, name))) throw invalid('header');
  if (kid !== undefined && !isKid(kid)) throw invalid('header');
  // Tokens of other kinds have another type (RFC 8725 3.11): an access token or a logout token of the same key is
  // refused.
  if (typ !== undefined && (typeof typ !== 'string' || typ.toUpperCase() !== 'JWT')) throw invalid('header');
  const algorithm = SIGNING_ALGORITHMS.find((allowed) => allowed === alg);
  if (algorithm === undefined) throw invalid('algorithm');
  const claims = merchantTokenClaims.safeParse(payload);
  if (!claims.success) throw invalid('claims');
  return { algorithm, kid, claims: claims.data };
}

function invalid(check: string): AuthError {
  return new AuthError('JWT_INVALID', check);
}

function parseObject(part: string): Record<string, unknown> | undefined {
  const bytes = decodeBase64Url(part);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isKid(kid: unknown): kid is string {
  return typeof kid === 'string' && kid.length > 0 && kid.length <= MAX_KID_CHARS && !/\p{Cc}/u.test(kid);
}

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
