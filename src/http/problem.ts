import { ERROR_CODE_NAMES, type ErrorCode, type Problem } from '#schemas/problem';
import { isStoreCondition } from '../errors/store-conditions.ts';
import {
  AnswerOverdue,
  AuthError,
  DuplicateReference,
  Forbidden,
  NoConfiguration,
  NotFound,
  Overloaded,
  PinNotAwaited,
  RequestRefused,
  StoreUnavailable,
  StoreUnread,
  TapRefused,
  Throttled,
} from '../errors.ts';

/** What an error is answered with, apart from the request's own ids. */
export interface ProblemAnswer {
  readonly status: number;
  readonly errorCode: ErrorCode;
  readonly detail: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A queue that is full now drains within this time, or the caller should go elsewhere. */
const RETRY_AFTER = { 'retry-after': '2' };

/** The answer of an error that a use case or an adapter throws; undefined for what nobody foresaw. */
export function problemOf(error: unknown): ProblemAnswer | undefined {
  if (error instanceof AuthError) return refusedCredential(error);
  if (error instanceof TapRefused) return refusedTap(error);
  if (error instanceof RequestRefused) {
    return {
      status: error.status,
      errorCode: error.errorCode as ErrorCode,
      detail: error.detail,
      errors: error.errors,
      headers: error.headers,
    };
  }
  if (error instanceof NotFound)
    return { status: 404, errorCode: 122, detail: 'There is nothing under this address for you.' };
  if (error instanceof Forbidden) return FORBIDDEN[error.code];
  if (error instanceof DuplicateReference) {
    return { status: 409, errorCode: 124, detail: 'The merchantReference was used for another transaction.' };
  }
  if (error instanceof PinNotAwaited)
    return { status: 409, errorCode: 104, detail: 'No PIN is awaited for this transaction, or no more.' };
  if (error instanceof NoConfiguration) return NO_CONFIGURATION[error.code];
  if (error instanceof Overloaded) {
    return {
      status: 503,
      errorCode: 203,
      detail: 'Too many requests are under way; nothing was stored.',
      headers: RETRY_AFTER,
    };
  }
  if (error instanceof Throttled) return throttled(error);
  if (error instanceof StoreUnavailable) return unavailable(error);
  if (error instanceof AnswerOverdue) return overdue(error);
  if (isStoreCondition(error)) return unavailable(new StoreUnread());
  return undefined;
}

const OUTCOME_UNKNOWN: ProblemAnswer = {
  status: 500,
  errorCode: 201,
  detail: 'The outcome is not known yet; repeat the request to learn it.',
};

function overdue({ waitsForSwitch }: AnswerOverdue): ProblemAnswer {
  if (waitsForSwitch) return OUTCOME_UNKNOWN;
  const detail = 'The request could not be answered in time, and may have been carried out.';
  return { status: 503, errorCode: 203, detail, headers: RETRY_AFTER };
}

/** True of what was asked for, not of the request alone: an earlier request for the same may have been stored. */
function unavailable(error: StoreUnavailable): ProblemAnswer {
  if (error.mayBeStored) return OUTCOME_UNKNOWN;
  const detail =
    error instanceof StoreUnread
      ? 'The database is unavailable: what is stored could not be read. Repeat the request.'
      : 'The database is unavailable: this request stored nothing. Repeat it; an earlier one may be stored.';
  return { status: 503, errorCode: 201, detail, headers: RETRY_AFTER };
}

const FORBIDDEN: Readonly<Record<Forbidden['code'], ProblemAnswer>> = {
  FORBIDDEN: { status: 403, errorCode: 101, detail: 'The credential may not do this.' },
  BLOCKED_USER: { status: 403, errorCode: 105, detail: 'The user is blocked.' },
  BLOCKED_DEVICE: { status: 403, errorCode: 139, detail: 'The device is blocked.' },
};

const NO_CONFIGURATION: Readonly<Record<NoConfiguration['code'], ProblemAnswer>> = {
  NO_TERMINAL: { status: 500, errorCode: 208, detail: 'No terminal is configured for the x-tid of the token.' },
  NO_PROFILE: {
    status: 500,
    errorCode: 208,
    detail: 'There is no terminal profile of the name that the token or the terminal gives.',
  },
  OUTSIDE_PROFILE: {
    status: 500,
    errorCode: 208,
    detail: 'The terminal profile does not take this application, transaction type, currency or country.',
  },
  NO_ROUTE: { status: 500, errorCode: 208, detail: 'No processor is configured for this tap.' },
};

function refusedCredential({ httpStatus, errorCode }: AuthError): ProblemAnswer {
  return {
    status: httpStatus,
    errorCode: errorCode as ErrorCode,
    detail: httpStatus === 401 ? 'The credential is missing or was refused.' : 'The credential may not do this.',
  };
}

/** With the quota, as draft-ietf-httpapi-ratelimit-headers has it. */
function throttled({ quota, retryAfterSeconds, errorCode }: Throttled): ProblemAnswer {
  const { name, most, windowSeconds } = quota;
  return {
    status: 429,
    errorCode,
    detail: errorCode === 132 ? 'Too many logins were tried.' : 'More requests than are allowed in this time.',
    headers: {
      'retry-after': String(retryAfterSeconds),
      'ratelimit-policy': `"${name}";q=${most};w=${windowSeconds}`,
      ratelimit: `"${name}";r=0;t=${retryAfterSeconds}`,
    },
  };
}

/** What the reader is told of card data: which blob, and a cause only where it cannot serve as an oracle. */
function refusedTap({ pointer, code, errorCode }: TapRefused): ProblemAnswer {
  return {
    status: 400,
    errorCode: errorCode as ErrorCode,
    detail: 'The card data cannot be used.',
    errors: [{ pointer, detail: code }],
  };
}

/** Of every status that we answer with (RFC 9110 15). */
export const STATUS_TITLES: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  304: 'Not Modified',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  505: 'HTTP Version Not Supported',
};

/** The body (RFC 9457). */
export function problemBody(answer: ProblemAnswer, instance: string, requestId: string): Problem {
  const { status, errorCode, detail, errors } = answer;
  return {
    type: `/docs/errors#${errorCode}`,
    title: STATUS_TITLES[status] ?? 'Error',
    status,
    detail,
    instance,
    errorCode,
    message: `E${errorCode} (${ERROR_CODE_NAMES[errorCode]}): ${detail}`,
    httpStatusCode: status,
    ...(errors && { errors: [...errors] }),
    requestId,
  };
}
