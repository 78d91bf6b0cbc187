import { z } from 'zod';

/** Backend error codes (interface 7.4; names by the contract). */
export const ERROR_CODE_NAMES = {
  100: 'Unauthorised',
  101: 'Forbidden',
  102: 'InvalidApiKey',
  103: 'InvalidJSON',
  104: 'InvalidRequest',
  105: 'BlockedUser',
  117: 'JWTInvalid',
  118: 'JWTExpired',
  119: 'IdAlreadyExists',
  122: 'DataNotFound',
  123: 'TransactionDoesNotBelongToMerchant',
  124: 'DuplicateMerchantReference',
  132: 'MaxLoginRetriesExceeded',
  134: 'DataError',
  136: 'UnknownDeviceInstallationId',
  139: 'BlockedDevice',
  201: 'DatabaseError',
  202: 'DecryptRequestError',
  203: 'UnknownError',
  208: 'InvalidPaymentProvider',
  209: 'DeclinedByPaymentProvider',
  210: 'FailedToSubmitToAllProviders',
  211: 'InvalidPinData',
  212: 'RefundTooLate',
  213: 'RefundAlreadyProcessed',
} as const;

export type ErrorCode = keyof typeof ERROR_CODE_NAMES;

/** `application/problem+json` (RFC 9457) with our extension members. */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    errorCode: z.int(),
    message: z.string(),
    httpStatusCode: z.int(),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
    requestId: z.string(),
  })
  .meta({ id: 'Problem' });

export type Problem = z.infer<typeof problem>;
