import { TapwireError } from './tapwire-error.ts';

/**
 * Why a sign-in with the identity provider failed. PROVIDER_UNAVAILABLE: no usable answer. PROVIDER_REFUSED: it answered
 * with an error. CANCELLED: the person refused, or cannot be signed in there. NOT_BEGUN: this browser has begun no sign-in,
 * or too long ago. INVALID: state, code or token are not those of the sign-in that it began. NO_ROLE: the person has no role in the console. BAD_SUBJECT: the id of the person
 * cannot be recorded.
 */
export type SignInErrorCode =
  | 'PROVIDER_UNAVAILABLE'
  | 'PROVIDER_REFUSED'
  | 'CANCELLED'
  | 'NOT_BEGUN'
  | 'INVALID'
  | 'NO_ROLE'
  | 'BAD_SUBJECT';

export class SignInError extends TapwireError<SignInErrorCode> {
  /** What failed, in the words of the protocol, for the log; never a value of the exchange. */
  readonly check: string | undefined;

  constructor(code: SignInErrorCode, check?: string, options?: ErrorOptions) {
    super(code, undefined, options);
    this.check = check;
  }
}
