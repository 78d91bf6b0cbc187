import { z } from 'zod';
import { deviceInstallationId, generalCardData, merchantReference, paymentCardData } from './card-data.ts';
import { DISPOSITIONS, tagValue } from './transaction.ts';

/** The body of 4.4, `MobileTransaction`. Unknown fields are ignored. */
export const mobileTransaction = z
  .object({ merchantReference, generalCardData, paymentCardData })
  .meta({ id: 'MobileTransaction' });

export const mobileHeaders = z.object({ 'x-device-installation-id': deviceInstallationId });

/** 2.12. `errorCode` is left out when approved; optional fields are left out when unknown. */
const onlineAuthorization = z
  .object({
    serviceReference: z.uuid().describe('Transaction id: for the PIN, refunds, voids and receipts'),
    type: z.enum(DISPOSITIONS).describe('What became of it; Declined while a PIN is wanted'),
    authorizationCode: z
      .string()
      .describe('Of the issuer; empty without one')
      .meta({ examples: ['123456'] }),
    tags: z.array(tagValue).describe('What the switch sent for the card'),
    isSingleTapAndPin: z.boolean().describe('A PIN is wanted: submit it with pinToken'),
    pinToken: z.string().optional().describe('For the PIN, within 90 s; there when one is wanted'),
    cardReaderId: z.string().describe("The proximity reader's id; empty when it gave none"),
    cardReaderTransactionId: z.string().describe("The reader's id of the transaction; empty when it gave none"),
    amount: z
      .int()
      .describe('Minor units; what was approved, where that is less')
      .meta({ examples: [10000] }),
    currency: z
      .string()
      .describe('ISO 4217 code')
      .meta({ examples: ['ZAR'] }),
    merchantReference: z.string().describe('As it was submitted'),
    cardScheme: z
      .string()
      .describe('Visa, Mastercard, Maestro, Amex, JCB, UnionPay, Discover, or the name of a domestic scheme')
      .meta({ examples: ['Visa'] }),
    cardType: z.string().describe('credit or debit, where the switch says so'),
    maskedPAN: z
      .string()
      .describe('First six and last four digits')
      .meta({ examples: ['411111******1111'] }),
    isoResponseCode: z
      .string()
      .describe('DE39, two characters; empty when no usable answer came')
      .meta({ examples: ['00'] }),
    association: z.string().optional().describe('The application label, else the scheme'),
    expiryDate: z
      .string()
      .optional()
      .describe('MM/YY')
      .meta({ examples: ['12/28'] }),
    paymentProviderReference: z.string().optional().describe("The processor's reference"),
    customValues: z.record(z.string(), z.unknown()).optional().describe('More that an acquirer or processor gives'),
    errorCode: z.int().optional().describe('Left out when approved: `GET /enums`, errorCodes'),
    errorMessage: z.string().optional().describe('The text of isoResponseCode, or why there is none'),
  })
  .meta({ id: 'OnlineAuthorizationResponse' });

export type OnlineAuthorization = z.infer<typeof onlineAuthorization>;

/** The answer of 4.4 and 4.5. */
export const onlineAuthorizationAnswer = z
  .object({ onlineAuthorizationResponse: onlineAuthorization })
  .meta({ id: 'OnlineAuthorizationAnswer' });
