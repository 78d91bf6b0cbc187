/** Every closed list of the interface with its meanings: what `GET /enums` answers. */
import { z } from 'zod';
import { ERROR_CODE_RANGES, ERROR_CODES } from './error-codes.ts';
import { RESPONSE_CODES } from './response-codes.ts';

/** 3.3, by transactionstatusId. */
export const STATUSES = [
  { id: 0, name: 'BadRequestReceived', meaning: "The device's request cannot be used" },
  { id: 1, name: 'RequestReceived', meaning: "The device's request is stored" },
  { id: 2, name: 'ErrorFindingConfig', meaning: 'Nothing is configured for it' },
  { id: 3, name: 'ReadyToSubmitToPaymentProcessor', meaning: 'A processor was chosen' },
  { id: 4, name: 'SubmittedToPaymentProcessor', meaning: 'From here on bytes may have left for the processor' },
  { id: 5, name: 'NoResponseFromPaymentProcessor', meaning: 'The processor did not answer in time' },
  { id: 6, name: 'BadResponseFromPaymentProcessor', meaning: 'The answer of the processor cannot be used' },
  { id: 7, name: 'ResponseReceivedFromPaymentProcessor', meaning: 'The processor has answered' },
  { id: 8, name: 'RespondedToPhone', meaning: 'The device was sent the outcome' },
  { id: 9, name: 'FailedToRespondToPhone', meaning: 'The device was gone before the outcome' },
  { id: 10, name: 'AcknowledgedByPhone', meaning: 'The device says that it has the outcome' },
] as const;

/** 3.1, by transactionDispositionId. */
export const DISPOSITION_TEXTS = [
  { id: 0, name: 'Approved', meaning: 'The processor approved' },
  { id: 1, name: 'Declined', meaning: 'The processor declined' },
  { id: 2, name: 'DeclinedOffline', meaning: 'The card itself declined; nobody else was asked' },
  { id: 3, name: 'UnableToGoOnline', meaning: 'No processor could be reached; nothing was sent' },
  { id: 4, name: 'Indeterminate', meaning: 'No usable answer: treat it as declined; it is being reversed' },
  { id: 5, name: 'Voided', meaning: 'It was reversed' },
] as const;

/** By transactionTypeId. */
export const TRANSACTION_TYPES = [
  { id: 1, name: 'Tap', meaning: 'A card was tapped on a phone' },
  { id: 2, name: 'TT3', meaning: 'A tap that authenticates a debit order mandate' },
  { id: 3, name: 'Secure card reader', meaning: 'A card was read by a secure reader' },
  { id: 4, name: 'Refund', meaning: 'Gives back a sale, in part or in whole' },
  { id: 5, name: 'Void', meaning: 'Takes back a sale before it is settled' },
] as const;

/** 3.2. */
export const QR_CODE_STATE_TEXTS = [
  { id: 0, name: 'QRCodeGenerated', meaning: 'The link or QR code was made' },
  { id: 1, name: 'QRCodeScanned', meaning: 'A device has fetched what is to be paid' },
  { id: 2, name: 'TransactionStarted', meaning: 'The device is ready to read a card' },
  { id: 3, name: 'TransactionCreated', meaning: 'The card was read and the transaction sent' },
  { id: 4, name: 'ResponseReceivedByPhone', meaning: 'The device says that it has the outcome' },
] as const;

const entry = z.object({
  id: z.int().describe('The number, where one is sent'),
  name: z.string().describe('The value'),
  meaning: z.string().describe('What it says'),
});
const code = z.object({
  code: z.int().describe('errorCode'),
  name: z.string().describe('Its name'),
  meaning: z.string().describe('What it says'),
});
const range = z.object({
  from: z.int().describe('The lowest code'),
  to: z.int().describe('The highest code'),
  name: z.string().describe('The name of the group'),
  meaning: z.string().describe('What it is about'),
});
const responseCode = z.object({
  code: z.string().describe('Two characters, which can be letters'),
  text: z.string().describe('What it says'),
});

export const enums = z
  .object({
    statuses: z.array(entry).describe('status and transactionstatusId'),
    dispositions: z.array(entry).describe('disposition, type of an outcome, and transactionDispositionId'),
    transactionTypes: z.array(entry).describe('type of a status document, and transactionTypeId'),
    qrCodeStates: z.array(entry).describe('qrCodeState'),
    errorCodes: z.array(code).describe('errorCode and result_transaction_error_code'),
    errorCodeRanges: z.array(range).describe('For codes without a name of their own'),
    responseCodes: z.array(responseCode).describe('ISO 8583 DE39: responseCode and isoResponseCode'),
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
