/** What the pay page of a link asks of its own gateway, and its virtual phone in `dev`. No operations for integrators. */
import { z } from 'zod';
import { LINK_STATES, linkStatus, shownMandate } from './link.ts';

/** The page answers at any address of its kind, and says itself which it cannot show. */
export const payPagePath = z.object({ reference: z.string().describe('As it stands in the URL of the link') });

/** Messengers add words of their own to addresses that they pass on. */
export const payPageQuery = z.looseObject({}).describe('Taken as it is, and without effect');

export const payPageLink = z.object({ reference: z.uuid().describe('Reference of the link') });

/** What a customer reads of a debit order: neither his account nor his id number, which a bystander could read as well. */
const shownTerms = z
  .object({
    creditorABSN: shownMandate.creditorABSN,
    collectionDay: shownMandate.collectionDay,
    contractReference: shownMandate.contractReference,
    instalmentAmount: shownMandate.instalmentAmount.optional(),
    maxCollectionAmount: shownMandate.maxCollectionAmount.optional(),
  })
  .describe('Of a TT3; which amounts there are is the creditor’s to say');

export const payPageState = z.object({
  merchantName: z.string().describe('Whom the customer pays'),
  paymentReference: z.string().describe('As the merchant gave it'),
  type: z.enum(['Tap', 'TT3']).describe('TT3: the card authenticates a debit order, and no money is taken'),
  amount: z.string().describe('Decimal text in major units; what was approved, where that is less'),
  currency: z.string().describe('ISO 4217 code'),
  isConsumerApp: z.boolean().describe("false: for a merchant's own app, without a pay page"),
  qrCodeState: z.enum(LINK_STATES).describe('How far it has come on a phone'),
  disposition: linkStatus.shape.disposition,
  expired: z.boolean().describe('Nobody has paid in time, and nobody can any more'),
  secondsLeft: z
    .int()
    .nonnegative()
    .describe('In which a tap may begin; a page need not trust the clock of its device'),
  mandate: shownTerms.optional(),
});

export type PayPageState = z.infer<typeof payPageState>;

export const payPageQrCode = z.object({
  qrCode: z.string().describe('data:image/png;base64,… of the URL of the link'),
});

/** Virtual cards are the sample cards by their names. */
const card = z.enum(['visa', 'mastercard', 'maestro', 'amex']).describe('A published test card');

export const virtualTap = z.object({ card });
export const virtualPin = z.object({
  card,
  pin: z
    .string()
    .regex(/^\d{4,12}$/, 'not 4 to 12 digits')
    .describe('Enciphered at once, and kept nowhere'),
});

const hex = z.string().regex(/^(?:[0-9A-F]{2})+$/);
export const virtualReading = z.object({
  values: z.record(hex, hex).describe('What the reader read, or adds to it: values by tag, all in hex'),
});
