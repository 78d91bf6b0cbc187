import { TapwireError } from './tapwire-error.ts';

/**
 * Why a credential was rejected. A missing or wrong credential must be replaced; `FORBIDDEN` is a valid credential
 * without the permission.
 */
export type AuthErrorCode = 'UNAUTHORISED' | 'API_KEY_INVALID' | 'JWT_INVALID' | 'JWT_EXPIRED' | 'FORBIDDEN';

export class AuthError extends TapwireError<AuthErrorCode> {
  /** The check that failed, for the owner of the credential (`POST /tokens/check`) and for metrics. A response shows only `acquirer`. */
  readonly check: string;

  constructor(code: AuthErrorCode, check: string) {
    super(code);
    this.check = check;
  }
}

/** A valid credential whose user or device may not do this. */
export type ForbiddenCode = 'FORBIDDEN' | 'BLOCKED_USER' | 'BLOCKED_DEVICE';

export class Forbidden extends TapwireError<ForbiddenCode> {}

/** Why the attestation of a device was refused; the app can act on each. */
export type AttestationCode =
  | 'ATTESTATION_MISSING'
  | 'ATTESTATION_INVALID'
  | 'ATTESTATION_EXPIRED'
  | 'DEVICE_UNTRUSTED'
  | 'APP_OUTDATED';

export class AttestationRefused extends TapwireError<AttestationCode> {}
