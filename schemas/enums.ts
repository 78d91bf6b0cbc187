/** Every closed list of the interface with its meanings, as returned by `GET /enums`. */
import { z } from 'zod';
import { ERROR_CODE_RANGES, ERROR_CODES } from './error-codes.ts';
import { RESPONSE_CODES } from './response-codes.ts';

/** Statuses of 3.3, by transactionstatusId. */
export const STATUSES = [
  { id: 0, name: 'BadRequestReceived', meaning: 'The card data of the device cannot be used' },
  { id: 1, name: 'RequestReceived', meaning: 'The request of the device is stored' },
  { id: 2, name: 'ErrorFindingConfig', meaning: 'No processor, terminal or profile is configured for the transaction' },
  {
    id: 3,
    name: 'ReadyToSubmitToPaymentProcessor',
    meaning: 'A processor was chosen; the transaction is about to be submitted',
  },
  { id: 4, name: 'SubmittedToPaymentProcessor', meaning: 'Submitted to the processor; the request may have been sent' },
  { id: 5, name: 'NoResponseFromPaymentProcessor', meaning: 'The processor did not respond in time' },
  { id: 6, name: 'BadResponseFromPaymentProcessor', meaning: 'The response of the processor is invalid' },
  { id: 7, name: 'ResponseReceivedFromPaymentProcessor', meaning: 'The processor responded' },
  { id: 8, name: 'RespondedToPhone', meaning: 'The outcome was returned to the device' },
  { id: 9, name: 'FailedToRespondToPhone', meaning: 'The outcome could not be returned to the device' },
  { id: 10, name: 'AcknowledgedByPhone', meaning: 'The device acknowledged the outcome' },
] as const;

/** 3.1, by transactionDispositionId. */
export const DISPOSITION_TEXTS = [
  { id: 0, name: 'Approved', meaning: 'The processor approved' },
  { id: 1, name: 'Declined', meaning: 'The processor declined' },
  { id: 2, name: 'DeclinedOffline', meaning: 'The card declined; nothing was sent to the processor' },
  { id: 3, name: 'UnableToGoOnline', meaning: 'No processor could be reached; nothing was sent' },
  {
    id: 4,
    name: 'Indeterminate',
    meaning: 'Outcome unknown: treat it as declined; the gateway reverses the transaction',
  },
  { id: 5, name: 'Voided', meaning: 'The transaction was reversed' },
] as const;

/** Transaction types by transactionTypeId. */
export const TRANSACTION_TYPES = [
  { id: 1, name: 'Tap', meaning: 'A card was tapped on a phone' },
  { id: 2, name: 'TT3', meaning: 'A tap that authenticates a debit order mandate' },
  { id: 3, name: 'Secure card reader', meaning: 'A card was read by a secure card reader' },
  { id: 4, name: 'Refund', meaning: 'Refunds a sale, in part or in full' },
  { id: 5, name: 'Void', meaning: 'Cancels a sale before settlement' },
] as const;

/** Texts of the QR code states of 3.2. */
export const QR_CODE_STATE_TEXTS = [
  { id: 0, name: 'QRCodeGenerated', meaning: 'The link or intent was created' },
  { id: 1, name: 'QRCodeScanned', meaning: 'A device fetched the payment details' },
  { id: 2, name: 'TransactionStarted', meaning: 'The device is ready to read a card' },
  { id: 3, name: 'TransactionCreated', meaning: 'The card was read and the transaction was sent to the gateway' },
  { id: 4, name: 'ResponseReceivedByPhone', meaning: 'The device acknowledged the response' },
] as const;

const entry = z.object({
  id: z.int().describe('Numeric id of the value'),
  name: z.string().describe('Name of the value'),
  meaning: z.string().describe('Meaning in words'),
});
const code = z.object({
  code: z.int().describe('Error code, as in errorCode'),
  name: z.string().describe('Name of the error code'),
  meaning: z.string().describe('Meaning in words'),
});
const range = z.object({
  from: z.int().describe('Lowest code of the range'),
  to: z.int().describe('Highest code of the range'),
  name: z.string().describe('Name of the range'),
  meaning: z.string().describe('Cause that the codes of the range have in common'),
});
const responseCode = z.object({
  code: z.string().describe('Response code, two characters; letters are possible'),
  text: z.string().describe('Meaning in words'),
});

export const enums = z
  .object({
    statuses: z.array(entry).describe('Values of status and transactionstatusId'),
    dispositions: z
      .array(entry)
      .describe('Values of disposition, of type in a tap response, and of transactionDispositionId'),
    transactionTypes: z.array(entry).describe('Values of type in a link status, and of transactionTypeId'),
    qrCodeStates: z.array(entry).describe('Values of qrCodeState'),
    errorCodes: z.array(code).describe('Values of errorCode and result_transaction_error_code'),
    errorCodeRanges: z.array(range).describe('Ranges of error codes that have no individual name'),
    responseCodes: z
      .array(responseCode)
      .describe('Response codes of the switch (ISO 8583 DE39), as in responseCode and isoResponseCode'),
  })
  .meta({ id: 'Enums' });

export const ENUMS: z.output<typeof enums> = {
  statuses: [...STATUSES],
  dispositions: [...DISPOSITION_TEXTS],
  transactionTypes: [...TRANSACTION_TYPES],
  qrCodeStates: [...QR_CODE_STATE_TEXTS],
  errorCodes: [...ERROR_CODES],
  errorCodeRanges: [...ERROR_CODE_RANGES],
  responseCodes: Object.entries(RESPONSE_CODES)
    .map(([code, text]) => ({ code, text }))
    .sort((one, other) => Number(one.code) - Number(other.code)),
};
