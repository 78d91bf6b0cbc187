import { AuthorizationResponseError, ClientError, ResponseBodyError } from 'openid-client';
import { SignInError } from '../../basics/errors.ts';

/** Codes of openid-client for answers that never came, or are none of a provider. */
const UNAVAILABLE = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);
/** Errors in the callback that a person or the provider's policy caused (OpenID Connect Core 1.0, 3.1.2.6). */
const CANCELLED = new Set(['access_denied', 'login_required', 'interaction_required', 'consent_required']);
/** Errors of the token endpoint for a code that was used, or belongs to another sign-in (RFC 6749 5.2). */
const OF_CODE = new Set(['invalid_grant']);
const ERROR_NAME = /^[\w-]{1,64}$/;

/** What a failed exchange with the provider means. Texts of the provider are not repeated. */
export function toSignInError(error: unknown): SignInError {
  if (error instanceof SignInError) return error;
  // openid-client wraps errors of fetch.
  if (error instanceof Error && error.cause instanceof SignInError) return error.cause;
  const options = { cause: error };
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const name = ERROR_NAME.test(error.error) ? error.error : 'unnamed error';
    if (CANCELLED.has(name)) return new SignInError('CANCELLED', name, options);
    return new SignInError(OF_CODE.has(name) ? 'INVALID' : 'PROVIDER_REFUSED', name, options);
  }
  if (error instanceof ClientError) {
    const code = error.code ?? 'unnamed error';
    return new SignInError(UNAVAILABLE.has(code) ? 'PROVIDER_UNAVAILABLE' : 'INVALID', code, options);
  }
  return new SignInError('INVALID', 'malformed callback', options);
}
