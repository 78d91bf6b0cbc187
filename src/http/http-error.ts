import type { ErrorCode } from '#schemas/problem';
import type { InvalidValue } from '../basics/errors.ts';
import { TapwireError } from '../basics/errors.ts';

/** A request that breaks a rule of HTTP or of this server. It does not reach a use case. */
export class HttpError extends TapwireError {
  readonly status: number;
  readonly errorCode: ErrorCode;
  readonly detail: string;
  readonly errors: readonly InvalidValue[] | undefined;
  /** Headers that the response needs; names in lower case. */
  readonly headers: Readonly<Record<string, string>> | undefined;

  constructor(
    status: number,
    errorCode: ErrorCode,
    detail: string,
    { errors, headers }: Partial<Pick<HttpError, 'errors' | 'headers'>> = {},
  ) {
    super('HTTP_ERROR', detail);
    this.status = status;
    this.errorCode = errorCode;
    this.detail = detail;
    this.errors = errors;
    this.headers = headers;
  }
}
