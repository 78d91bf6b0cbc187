import { z } from 'zod';

/** Backend error codes (interface 7.4; names from the contract). */
export const ERROR_CODE_NAMES = {
  100: 'Unauthorised',
  101: 'Forbidden',
  102: 'InvalidApiKey',
  103: 'InvalidJSON',
  104: 'InvalidRequest',
  105: 'BlockedUser',
  106: 'AttestationRequired',
  107: 'AttestationInvalid',
  108: 'AttestationExpired',
  109: 'DeviceNotTrusted',
  110: 'AppOutdated',
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

const fault = z
  .object({
    pointer: z
      .string()
      .describe('JSON pointer (RFC 6901) to the invalid part of the request')
      .meta({ examples: ['/merchantReference'] }),
    detail: z.string().describe('Rule that the part violates'),
  })
  .meta({ id: 'ProblemDetail' });

/** `application/problem+json` (RFC 9457) with the gateway's extension members. */
export const problem = z
  .object({
    type: z
      .string()
      .describe('URL of the description of the errorCode')
      .meta({ examples: ['/docs/errors#104'] }),
    title: z
      .string()
      .describe('Name of the HTTP status')
      .meta({ examples: ['Bad Request'] }),
    status: z
      .int()
      .describe('HTTP status code')
      .meta({ examples: [400] }),
    detail: z.string().describe('Description of the problem for developers; never contains input values'),
    instance: z
      .string()
      .describe('Path of the request')
      .meta({ examples: ['/transactions/mobile'] }),
    errorCode: z
      .int()
      .describe('Error code, see `errorCodes` of `GET /enums`')
      .meta({ examples: [104] }),
    message: z
      .string()
      .describe('Error code, name of the error code, and detail in one text')
      .meta({ examples: ['E104 (InvalidRequest): One or more values are invalid.'] }),
    httpStatusCode: z
      .int()
      .describe('HTTP status code')
      .meta({ examples: [400] }),
    errors: z
      .array(fault)
      .optional()
      .describe('Invalid parts of the request, each with a pointer; absent if no single part is invalid'),
    requestId: z.string().describe('Correlation id of the request, as in `X-Correlation-Id`'),
  })
  .meta({ id: 'Problem' });

export type Problem = z.infer<typeof problem>;
