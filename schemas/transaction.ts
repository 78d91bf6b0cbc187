import { z } from 'zod';
import { merchantReference } from './card-data.ts';

const tagValue = z.object({ tag: z.string(), value: z.string() });

/** 2.2; empty before an outcome. */
const receiptData = z
  .object({
    effectiveDate: z.string(),
    expiryDate: z.string().nullable(),
    authorizationCode: z.string(),
    tid: z.string(),
    transactionReference: z.string(),
    merchantName: z.string(),
    formattedMerchantAddress: z.string(),
    transactionType: z.string(),
    approvalText: z.string(),
    aid: z.string(),
    amount: z.string(),
    currency: z.string(),
    applicationLabel: z.string(),
    applicationPreferredName: z.string().nullable(),
    association: z.string(),
    isoResponseCode: z.string(),
    cryptogram: z.string(),
    cryptogramType: z.string(),
    tvr: z.string(),
    date: z.string(),
    time: z.string(),
    maskedPan: z.string(),
  })
  .partial();

/** 2.1, spelled as the interface spells it. */
export const transaction = z
  .object({
    id: z.uuid(),
    passthroughUserId: z.string().nullable(),
    merchantTransactionReference: z.string(),
    details: z.array(
      z.object({ tags: z.array(tagValue), maskedPAN: z.string(), paymentProviderId: z.number().nullable() }),
    ),
    latitude: z.string(),
    longitude: z.string(),
    deviceinstallationId: z.string(),
    transactionstatusId: z.int(),
    transactionDispositionId: z.int().nullable(),
    amount: z.string(),
    currency: z.string(),
    responseCode: z.number().nullable(),
    transactionTypeId: z.int(),
    originalTransactionId: z.string().nullable(),
    acquirerId: z.int(),
    userId: z.string(),
    transactionFeesConfigId: z.number().nullable(),
    transactionFee: z.number().nullable(),
    authorisationCode: z.string().nullable(),
    createdAt: z.string(),
    updatedAt: z.string(),
    receiptData,
  })
  .meta({ id: 'Transaction' });

export type TransactionView = z.infer<typeof transaction>;
export type ReceiptData = z.infer<typeof receiptData>;

export const DISPOSITIONS = [
  'Approved',
  'Declined',
  'DeclinedOffline',
  'UnableToGoOnline',
  'Indeterminate',
  'Voided',
] as const;

/** A page is read in one statement; 500 rows are about 1 MB of JSON. */
const MAX_LIMIT = 500;
const DEFAULT_LIMIT = 100;
/** Pages beyond it are reached by `after`: the database reads what it skips. */
const MAX_OFFSET = 100_000;
/** Major units of twelve digits. */
const MAX_AMOUNT = 999_999_999_999;

/** Query text is decimal digits and nothing else: `1e3`, ` 5` and `0x10` are no numbers here. */
const decimal = (max: number) =>
  z
    .string()
    .regex(/^\d{1,12}(\.\d{1,3})?$/, 'not a decimal number')
    .transform(Number)
    .pipe(z.number().max(max));
const count = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'not a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));
const id = z.string().min(1).max(64);

/** 4.1. Unknown parameters are refused: a misspelt filter must not widen a list. */
export const transactionQuery = z
  .strictObject({
    integrator: id.optional(),
    merchant: id.optional(),
    user: z.string().min(1).max(255).optional(),
    startDate: z.iso.date().optional(),
    endDate: z.iso.date().optional(),
    limit: count(1, MAX_LIMIT).default(DEFAULT_LIMIT),
    offset: count(0, MAX_OFFSET).default(0),
    minAmount: decimal(MAX_AMOUNT).optional(),
    maxAmount: decimal(MAX_AMOUNT).optional(),
    merchantReference: merchantReference.optional(),
    transactionDisposition: z
      .union([
        z.enum(DISPOSITIONS),
        z
          .string()
          .regex(/^[0-5]$/)
          .transform((digit) => DISPOSITIONS[Number(digit)]!),
      ])
      .optional(),
    needsReview: z.stringbool({ truthy: ['true'], falsy: ['false'] }).optional(),
    after: z.uuid().optional(),
  })
  .refine(({ startDate, endDate }) => !startDate || !endDate || startDate <= endDate, {
    path: ['endDate'],
    message: 'is before startDate',
  });

export const transactionId = z.object({ id: z.uuid() });

/** The audit trail of one transaction (extension): an entry per move, oldest first. */
export const transactionEvents = z.array(
  z.object({
    attempt: z.int(),
    at: z.string(),
    from: z.string().nullable().optional(),
    to: z.string().optional(),
    reversal: z.string().optional(),
    void: z.uuid().optional(),
    pin: z.string().optional(),
  }),
);
