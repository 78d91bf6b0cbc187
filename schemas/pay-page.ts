/**
 * Requests of a link's pay page to its gateway, and of its virtual phone in `dev`. They are not operations for
 * integrators.
 */
import { z } from 'zod';
import { LINK_STATES, linkStatus, shownMandate } from './link.ts';
import { get, type Operation, post } from './operation.ts';

/** The page is served at any path of this form, and itself reports a link that it cannot show. */
export const payPagePath = z.object({ reference: z.string().describe('Reference of the link, from its URL') });

/** Messengers append their own parameters to URLs. */
export const payPageQuery = z.looseObject({}).describe('Any parameters; the page ignores them');

export const payPageLink = z.object({ reference: z.uuid().describe('Reference of the link') });

/** Terms of a debit order for the customer, without account and id number, which a bystander could also read. */
const shownTerms = z
  .object({
    creditorABSN: shownMandate.creditorABSN,
    collectionDay: shownMandate.collectionDay,
    contractReference: shownMandate.contractReference,
    instalmentAmount: shownMandate.instalmentAmount.optional(),
    maxCollectionAmount: shownMandate.maxCollectionAmount.optional(),
  })
  .describe('Terms of the debit order mandate (TT3); instalmentVisibility decides which amounts are present');

export const payPageState = z.object({
  merchantName: z.string().describe('Name of the merchant that the customer pays'),
  paymentReference: z.string().describe('Reference of the payment, from the merchant'),
  type: z
    .enum(['Tap', 'TT3'])
    .describe('Type of payment: Tap, or TT3, where the tap authenticates a debit order mandate and takes no money'),
  amount: z.string().describe('Amount as decimal text in major units; the approved amount if that is less'),
  currency: z.string().describe('ISO 4217 alphabetic currency code'),
  isConsumerApp: z
    .boolean()
    .describe(
      "Whether a consumer app takes the payment; false for the merchant's own reader app, which has no pay page",
    ),
  qrCodeState: z.enum(LINK_STATES).describe('Progress of the payment on the phone'),
  disposition: linkStatus.shape.disposition,
  expired: z.boolean().describe('Whether the link expired without payment'),
  cancelled: z.boolean().describe('Whether the merchant voided the paid sale: the link cannot be paid again'),
  secondsLeft: z.int().nonnegative().describe('Seconds during which a tap may begin, by the clock of the gateway'),
  awaitsPin: z.boolean().describe('Whether the bank requires a PIN, which the customer enters on the phone'),
  waitedSeconds: z.int().nonnegative().describe('Seconds since the bank was asked; 0 before that and with an outcome'),
  mandate: shownTerms.optional(),
});

export type PayPageState = z.infer<typeof payPageState>;

export const payPageQrCode = z.object({
  qrCode: z.string().describe('QR code of the URL of the link as a data URL (PNG in Base64)'),
});

/** Virtual cards are named after the sample cards. */
const card = z.enum(['visa', 'mastercard', 'maestro', 'amex']).describe('Name of a published test card');

export const virtualTap = z.object({ card });
export const virtualPin = z.object({
  card,
  pin: z
    .string()
    .regex(/^\d{4,12}$/, 'must be 4 to 12 digits')
    .describe('PIN of the test card; encrypted at once and not stored'),
});

const hex = z.string().regex(/^(?:[0-9A-F]{2})+$/);
export const virtualReading = z.object({
  values: z
    .record(hex, hex)
    .describe('Values that the virtual reader read or added, by tag; tags and values in hexadecimal'),
});

/** Rows like those of `operations.ts`. */
export const PAY_PAGE_OPERATIONS = {
  getPayPageState: get('/pay/{reference}/state', 'token', { params: payPageLink, response: payPageState }),
  getPayPageQrCode: get('/pay/{reference}/qr-code', 'token', { params: payPageLink, response: payPageQrCode }),
} as const satisfies Record<string, Operation>;

/** Requests of its virtual phone in `dev`. */
export const VIRTUAL_READER_OPERATIONS = {
  readTestCard: post('/dev/virtual-reader/tap', 'token', { body: virtualTap, response: virtualReading }),
  enterTestPin: post('/dev/virtual-reader/pin', 'token', { body: virtualPin, response: virtualReading }),
} as const satisfies Record<string, Operation>;
