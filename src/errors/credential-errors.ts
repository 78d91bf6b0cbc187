import { TapwireError } from './tapwire-error.ts';

/** Why a credential was refused; each has its HTTP status and errorCode in `AUTH_ANSWERS`. */
export type AuthErrorCode = 'UNAUTHORISED' | 'API_KEY_INVALID' | 'JWT_INVALID' | 'JWT_EXPIRED' | 'FORBIDDEN';

/** What a caller is answered. A missing credential and a wrong one are 401, a good one without the right is 403. */
const AUTH_ANSWERS = {
  UNAUTHORISED: { httpStatus: 401, errorCode: 100 },
  API_KEY_INVALID: { httpStatus: 401, errorCode: 102 },
  JWT_INVALID: { httpStatus: 401, errorCode: 117 },
  JWT_EXPIRED: { httpStatus: 401, errorCode: 118 },
  FORBIDDEN: { httpStatus: 403, errorCode: 101 },
} as const satisfies Record<AuthErrorCode, { httpStatus: number; errorCode: number }>;

export class AuthError extends TapwireError<AuthErrorCode> {
  readonly httpStatus: 401 | 403;
  readonly errorCode: number;
  /** The check that failed, for the owner of the credential (`POST /tokens/check`) and for metrics; never in an answer. */
  readonly check: string;

  constructor(code: AuthErrorCode, check: string) {
    super(code);
    this.httpStatus = AUTH_ANSWERS[code].httpStatus;
    this.errorCode = AUTH_ANSWERS[code].errorCode;
    this.check = check;
  }
}

/** A credential is good and yet may not do this: 403. */
export type ForbiddenCode = 'FORBIDDEN' | 'BLOCKED_USER' | 'BLOCKED_DEVICE';

export class Forbidden extends TapwireError<ForbiddenCode> {}
