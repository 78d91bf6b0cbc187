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

const fault = z
  .object({
    pointer: z
      .string()
      .describe('JSON pointer (RFC 6901) of what is at fault')
      .meta({ examples: ['/merchantReference'] }),
    detail: z.string().describe('What is wrong with it'),
  })
  .meta({ id: 'ProblemDetail' });

/** `application/problem+json` (RFC 9457) with our extension members. */
export const problem = z
  .object({
    type: z
      .string()
      .describe('Where the errorCode is explained')
      .meta({ examples: ['/docs/errors#104'] }),
    title: z
      .string()
      .describe('The name of the status')
      .meta({ examples: ['Bad Request'] }),
    status: z
      .int()
      .describe('The HTTP status')
      .meta({ examples: [400] }),
    detail: z.string().describe('What is wrong, for people'),
    instance: z
      .string()
      .describe('The address that was asked')
      .meta({ examples: ['/transactions/mobile'] }),
    errorCode: z
      .int()
      .describe('`GET /enums`, errorCodes')
      .meta({ examples: [104] }),
    message: z
      .string()
      .describe('errorCode, its name and the detail')
      .meta({ examples: ['E104 (InvalidRequest): One or more values are invalid.'] }),
    httpStatusCode: z
      .int()
      .describe('The HTTP status')
      .meta({ examples: [400] }),
    errors: z.array(fault).optional().describe('What is at fault in the request, each with a pointer'),
    requestId: z.string().describe('The correlation id'),
  })
  .meta({ id: 'Problem' });

export type Problem = z.infer<typeof problem>;
