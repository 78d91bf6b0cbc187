/**
 * For developers of apps that start the payment app by an intent: the meaning of its result extras (4.19). It imports
 * only zod and files of this folder, so that you can copy it.
 */
import { z } from 'zod';
import { type ErrorCodeText, errorCodeText } from './error-codes.ts';
import type { DISPOSITIONS } from './transaction.ts';

export const RESULT_TYPES = [
  'Approved',
  'Declined',
  'CardTapTimeOutExpired',
  'NetworkError',
  'ProcessingError',
  'Cancelled',
  'TryAnotherCard',
  'NFCDisabledError',
  'NotAuthenticated',
  'Indeterminate',
  'DuplicateMerchantTransactionReferenceSupplied',
  'InvalidJWT',
] as const;

export type ResultType = (typeof RESULT_TYPES)[number];
export type Disposition = (typeof DISPOSITIONS)[number];

/** The end of a payment as the payment app knows it: an outcome, or the code of the fault that prevented one. */
export interface Ending {
  readonly disposition?: Disposition | null | undefined;
  readonly errorCode?: number | null | undefined;
}

/** If there is an outcome, it decides, and the code is ignored. */
const BY_DISPOSITION: Readonly<Record<Disposition, ResultType>> = {
  Approved: 'Approved',
  Declined: 'Declined',
  // The card refused, and the issuer was not asked: another card may work.
  DeclinedOffline: 'TryAnotherCard',
  UnableToGoOnline: 'NetworkError',
  Indeterminate: 'Indeterminate',
  // The transaction was voided: nothing was paid.
  Voided: 'Declined',
};

/** For an end without an outcome. Every other code is a ProcessingError. */
const BY_ERROR_CODE: Readonly<Record<number, ResultType>> = {
  0: 'Approved',
  1: 'Declined',
  2: 'TryAnotherCard',
  65: 'Declined',
  100: 'NotAuthenticated',
  101: 'NotAuthenticated',
  102: 'NotAuthenticated',
  105: 'NotAuthenticated',
  106: 'NotAuthenticated',
  107: 'NotAuthenticated',
  108: 'NotAuthenticated',
  109: 'NotAuthenticated',
  110: 'NotAuthenticated',
  117: 'InvalidJWT',
  118: 'InvalidJWT',
  124: 'DuplicateMerchantTransactionReferenceSupplied',
  132: 'NotAuthenticated',
  139: 'NotAuthenticated',
  209: 'Declined',
  210: 'NetworkError',
  211: 'Declined',
  300: 'NFCDisabledError',
  304: 'InvalidJWT',
  305: 'NetworkError',
  317: 'Cancelled',
  318: 'CardTapTimeOutExpired',
};

/** The `result_transaction_type` of an end. */
export function resultTypeOf({ disposition, errorCode }: Ending): ResultType {
  if (disposition != null) return BY_DISPOSITION[disposition];
  return BY_ERROR_CODE[errorCode ?? -1] ?? 'ProcessingError';
}

/** The next step of an app. */
export type NextStep =
  /** Paid. Wait for the webhook before you fulfil an order. */
  | 'confirm'
  /** Not paid. Offer another card or another way to pay. */
  | 'offerAnotherWay'
  /** Not paid. The same request may succeed if it is repeated. */
  | 'tryAgain'
  /** Ask 4.6 or 4.8 for the outcome before any other attempt: the switch may have approved. */
  | 'checkStatus'
  /** A fault of the app or its backend: the request must change. */
  | 'fix';

const NEXT_STEPS: Readonly<Record<ResultType, NextStep>> = {
  Approved: 'confirm',
  Declined: 'offerAnotherWay',
  CardTapTimeOutExpired: 'tryAgain',
  NetworkError: 'tryAgain',
  ProcessingError: 'checkStatus',
  Cancelled: 'offerAnotherWay',
  TryAnotherCard: 'offerAnotherWay',
  NFCDisabledError: 'tryAgain',
  NotAuthenticated: 'fix',
  Indeterminate: 'checkStatus',
  DuplicateMerchantTransactionReferenceSupplied: 'fix',
  InvalidJWT: 'fix',
};

/** Length of the longest integer sent as a code. */
const MAX_CODE_CHARS = 6;

/** The extras of the result. Unknown extras are ignored. */
const intentResultExtras = z.object({
  result_transaction_id: z.uuid().nullish().describe('Id of the backend transaction; absent or null if none exists'),
  result_transaction_type: z.enum(RESULT_TYPES).describe('Result of the payment in the payment app'),
  result_transaction_error_code: z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .max(MAX_CODE_CHARS)
    .nullish()
    .describe('Error code as text; absent or null without an error'),
});

export interface IntentResult {
  readonly transactionId: string | undefined;
  readonly type: ResultType;
  /** Approved; the result code of the activity states the same. */
  readonly isSuccess: boolean;
  readonly next: NextStep;
  /** Meaning of the code; undefined without a code. An unknown code has its own text. */
  readonly error: ErrorCodeText | undefined;
}

/**
 * Reads the extras of a result.
 *
 * @throws z.ZodError for extras that no payment app sends
 */
export function readIntentResult(extras: unknown): IntentResult {
  const {
    result_transaction_id: transactionId,
    result_transaction_type: type,
    result_transaction_error_code: code,
  } = intentResultExtras.parse(extras);
  return {
    transactionId: transactionId ?? undefined,
    type,
    isSuccess: type === 'Approved',
    next: NEXT_STEPS[type],
    error: code == null ? undefined : errorOf(Number(code)),
  };
}

function errorOf(code: number): ErrorCodeText {
  return (
    errorCodeText(code) ?? { code, name: 'Unknown', meaning: 'Unknown error code; this version has no text for it' }
  );
}
