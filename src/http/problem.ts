import { ERROR_CODE_NAMES, type ErrorCode, type Problem } from '#schemas/problem';
import { isStoreCondition } from '../basics/errors/system-error.ts';
import {
  type AttestationCode,
  AttestationRefused,
  AuthError,
  DuplicateReference,
  Forbidden,
  HeldAfterRestore,
  HsmUnavailable,
  type InvalidValue,
  NoConfiguration,
  NotFound,
  Overloaded,
  PinNotAwaited,
  RequestRejected,
  ResponseOverdue,
  StoreUnavailable,
  StoreUnread,
  TAP_REFUSALS,
  TapRefused,
  TapwireError,
  Throttled,
} from '../basics/errors.ts';
import { REJECTIONS } from './rejections.ts';

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

/** The response to an error, without the ids of the request. */
export interface ProblemResponse {
  readonly status: number;
  readonly errorCode: ErrorCode;
  readonly detail: string;
  readonly errors?: readonly InvalidValue[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A full queue drains within this time. If not, the caller should use another gateway. */
const RETRY_AFTER = { 'retry-after': '2' };

/** The response to an error of a use case or an adapter; undefined for an unexpected error. */
export function problemOf(error: unknown): ProblemResponse | undefined {
  if (error instanceof HttpError) {
    const { status, errorCode, detail, errors, headers } = error;
    return { status, errorCode, detail, errors, headers };
  }
  if (error instanceof RequestRejected) return { ...REJECTIONS[error.code], errors: error.errors };
  if (error instanceof AuthError) return error.check === 'acquirer' ? AMBIGUOUS_ACQUIRER : AUTHENTICATION[error.code];
  if (error instanceof TapRefused) return refusedTap(error);
  if (error instanceof NotFound) return NOT_FOUND;
  if (error instanceof Forbidden) return FORBIDDEN[error.code];
  if (error instanceof AttestationRefused) return ATTESTATION[error.code];
  if (error instanceof DuplicateReference) return DUPLICATE_REFERENCE;
  if (error instanceof PinNotAwaited) return PIN_NOT_AWAITED;
  if (error instanceof NoConfiguration) return { status: 500, errorCode: 208, detail: NO_CONFIGURATION[error.code] };
  if (error instanceof Overloaded) return OVERLOADED;
  if (error instanceof HsmUnavailable) return HSM_UNAVAILABLE;
  if (error instanceof HeldAfterRestore) return HELD_AFTER_RESTORE;
  if (error instanceof Throttled) return throttled(error);
  if (error instanceof StoreUnavailable) return unavailable(error);
  if (error instanceof ResponseOverdue) return overdue(error);
  if (isStoreCondition(error)) return unavailable(new StoreUnread());
  return undefined;
}

const NOT_FOUND: ProblemResponse = { status: 404, errorCode: 122, detail: 'Resource not found.' };

const DUPLICATE_REFERENCE: ProblemResponse = {
  status: 409,
  errorCode: 124,
  detail: 'The merchantReference belongs to another transaction. Use a new one.',
};

const PIN_NOT_AWAITED: ProblemResponse = {
  status: 409,
  errorCode: 104,
  detail: 'This transaction is not awaiting a PIN.',
};

const OVERLOADED: ProblemResponse = {
  status: 503,
  errorCode: 203,
  detail:
    'Too many requests are in progress; this request stored nothing. Repeat it unchanged: if an earlier one was stored, you get its response.',
  headers: RETRY_AFTER,
};

/** A token of the gateway cannot be signed. The request may have been carried out. */
const HSM_UNAVAILABLE: ProblemResponse = {
  status: 503,
  errorCode: 203,
  detail: 'The security module does not respond. Repeat the request.',
  headers: RETRY_AFTER,
};

/** An operator compares the books meanwhile, which takes hours. */
const HELD_AFTER_RESTORE: ProblemResponse = {
  status: 503,
  errorCode: 203,
  detail:
    'The database was restored, and this request may repeat one whose record was lost. Nothing was sent. Repeat it later, or ask the acquirer.',
  headers: { 'retry-after': '60' },
};

const OUTCOME_UNKNOWN: ProblemResponse = {
  status: 500,
  errorCode: 201,
  detail: 'The outcome is not known yet. Repeat the request to get it.',
};

function overdue({ waitsForSwitch }: ResponseOverdue): ProblemResponse {
  if (waitsForSwitch) return OUTCOME_UNKNOWN;
  const detail = 'The request received no response in time and may have been carried out.';
  return { status: 503, errorCode: 203, detail, headers: RETRY_AFTER };
}

/** The text is about this request only: an earlier, identical request may have been stored. */
function unavailable(error: StoreUnavailable): ProblemResponse {
  if (error.mayBeStored) return OUTCOME_UNKNOWN;
  const detail =
    error instanceof StoreUnread
      ? 'The database is unavailable and could not be read. Repeat the request.'
      : 'The database is unavailable; this request stored nothing. Repeat it unchanged: if an earlier one was stored, you get its response.';
  return { status: 503, errorCode: 201, detail, headers: RETRY_AFTER };
}

const FORBIDDEN: Readonly<Record<Forbidden['code'], ProblemResponse>> = {
  FORBIDDEN: { status: 403, errorCode: 101, detail: 'The credential does not permit this.' },
  BLOCKED_USER: { status: 403, errorCode: 105, detail: 'The user is blocked.' },
  BLOCKED_DEVICE: { status: 403, errorCode: 139, detail: 'The device is blocked.' },
};

const ATTESTATION: Readonly<Record<AttestationCode, ProblemResponse>> = {
  ATTESTATION_MISSING: {
    status: 403,
    errorCode: 106,
    detail: 'An attestation of the device is required in X-Device-Attestation. Nothing was stored.',
  },
  ATTESTATION_INVALID: {
    status: 403,
    errorCode: 107,
    detail: 'The attestation is not signed by an attester of the acquirer, or it is for another device.',
  },
  ATTESTATION_EXPIRED: {
    status: 403,
    errorCode: 108,
    detail: 'The attestation is too old. Repeat the request with a new one.',
  },
  DEVICE_UNTRUSTED: { status: 403, errorCode: 109, detail: 'The attestation states that the device is not trusted.' },
  APP_OUTDATED: { status: 403, errorCode: 110, detail: 'The version of the app is too low.' },
};

const NO_CONFIGURATION: Readonly<Record<NoConfiguration['code'], string>> = {
  NO_TERMINAL: 'No terminal is configured for this merchant and the x-tid of the token.',
  NO_PROFILE: 'The token or the terminal names a terminal profile that does not exist.',
  OUTSIDE_PROFILE: 'The terminal profile does not allow this application, transaction type, currency or country.',
  NO_READER: 'The terminal profile names a reader format that is not installed, or settings that it may not have.',
  NO_ROUTE: 'No processor is configured for this tap.',
};

const NO_CREDENTIAL = 'The credential is missing or was rejected.';

/** Only the holder of the private key gets it. It names no acquirer, because tenants must not learn of each other. */
const AMBIGUOUS_ACQUIRER: ProblemResponse = {
  status: 401,
  errorCode: 117,
  detail:
    'Several acquirers have registered the issuer of the token (iss), so it does not decide who gets the payment. Add the ' +
    'claim acquirerId with the id of your acquirer.',
};

/** A missing credential and a wrong one are 401; a valid one without the right is 403. */
const AUTHENTICATION: Readonly<Record<AuthError['code'], ProblemResponse>> = {
  UNAUTHORISED: { status: 401, errorCode: 100, detail: NO_CREDENTIAL },
  API_KEY_INVALID: { status: 401, errorCode: 102, detail: NO_CREDENTIAL },
  JWT_INVALID: { status: 401, errorCode: 117, detail: NO_CREDENTIAL },
  JWT_EXPIRED: { status: 401, errorCode: 118, detail: NO_CREDENTIAL },
  FORBIDDEN: FORBIDDEN.FORBIDDEN,
};

const THROTTLED: Readonly<Record<Throttled['code'], Pick<ProblemResponse, 'errorCode' | 'detail'>>> = {
  TOO_MANY_LOGINS: { errorCode: 132, detail: 'Too many login attempts.' },
  TOO_MANY_REQUESTS: { errorCode: 203, detail: 'The rate limit was exceeded.' },
};

/** With the quota in the headers of draft-ietf-httpapi-ratelimit-headers. */
function throttled({ code, quota, retryAfterSeconds }: Throttled): ProblemResponse {
  const { name, most, windowSeconds } = quota;
  return {
    status: 429,
    ...THROTTLED[code],
    headers: {
      'retry-after': String(retryAfterSeconds),
      'ratelimit-policy': `"${name}";q=${most};w=${windowSeconds}`,
      ratelimit: `"${name}";r=0;t=${retryAfterSeconds}`,
    },
  };
}

/** Names the blob at fault, and a cause only where it cannot serve as an oracle. */
function refusedTap({ pointer, code, source }: TapRefused): ProblemResponse {
  return {
    status: 400,
    errorCode: source === 'card' ? 202 : 104,
    // The merchant's app can correct this one: nothing is wrong with the card data.
    detail:
      code === 'AMOUNT_NOT_OF_LINK'
        ? 'The amount or currency of the tap differs from the link.'
        : 'The card data cannot be used.',
    errors: [{ pointer, detail: TAP_REFUSALS[code] }],
  };
}

/** The title of every status that a response can have (RFC 9110 15). */
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
export function problemBody(response: ProblemResponse, instance: string, requestId: string): Problem {
  const { status, errorCode, detail, errors } = response;
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

/** A value that a schema refuses, as the validator reports it. */
interface ValidationIssue {
  /** The kind of fault, such as `unrecognized_keys`. */
  readonly keyword?: string;
  readonly instancePath: string;
  readonly message?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

export interface ValidationFailure {
  readonly validation: readonly ValidationIssue[];
  readonly validationContext?: string;
}

/**
 * The response to values that a schema refuses, with a pointer to each. Names that the caller chose are not repeated, except
 * those of unknown query parameters that can only be names.
 */
export function invalidValuesProblem({ validation, validationContext }: ValidationFailure): ProblemResponse {
  const isBody = validationContext === undefined || validationContext === 'body';
  const where = isBody ? '' : `/${validationContext}`;
  return {
    status: 400,
    errorCode: 104,
    detail: REJECTIONS.INVALID_VALUES.detail,
    errors: validation.flatMap((issue) =>
      (validationContext === 'querystring' ? unknownNames(issue) : ['']).map((name) => ({
        pointer: `${where}${pointerOf(issue)}${name && `/${name}`}`,
        detail: name ? 'is an unknown parameter' : detailOf(issue, isBody ? 'property' : 'parameter'),
      })),
    ),
  };
}

/** Letters alone are neither a card number nor a key. */
const PLAIN_NAME = /^[A-Za-z][A-Za-z_-]{0,31}$/;

/** The unknown names that may be repeated, and an empty one for all others. */
function unknownNames({ keyword, params }: ValidationIssue): string[] {
  if (keyword !== 'unrecognized_keys' || !Array.isArray(params?.keys)) return [''];
  const names = params.keys.map(String);
  return [...new Set(names.map((name) => (PLAIN_NAME.test(name) ? name : '')))];
}

function pointerOf({ keyword, instancePath }: ValidationIssue): string {
  // The last segment is the refused name itself.
  if (keyword === 'invalid_key') return instancePath.slice(0, instancePath.lastIndexOf('/'));
  // The validator writes the whole body as `/`. As a JSON pointer (RFC 6901) it is the empty string.
  return instancePath === '/' ? '' : instancePath;
}

/** The validator's own text for an unknown name contains the name. */
function detailOf({ keyword, message = 'is invalid' }: ValidationIssue, noun: 'property' | 'parameter'): string {
  return keyword === 'unrecognized_keys' ? `contains an unknown ${noun}` : message;
}
