import { z } from 'zod';
import { deviceInstallationId, generalCardData, merchantReference, paymentCardData } from './card-data.ts';

/** The body of 4.4, `MobileTransaction`. Unknown fields are ignored. */
export const mobileTransaction = z
  .object({ merchantReference, generalCardData, paymentCardData })
  .meta({ id: 'MobileTransaction' });

export const mobileHeaders = z.object({ 'x-device-installation-id': deviceInstallationId });

const tagValue = z.object({ tag: z.string(), value: z.string() });

/** 2.12. `errorCode` is left out when approved; optional fields are left out when unknown. */
export const onlineAuthorization = z.object({
  serviceReference: z.uuid(),
  type: z.enum(['Approved', 'Declined', 'DeclinedOffline', 'UnableToGoOnline', 'Indeterminate', 'Voided']),
  authorizationCode: z.string(),
  tags: z.array(tagValue),
  isSingleTapAndPin: z.boolean(),
  pinToken: z.string().optional(),
  cardReaderId: z.string(),
  cardReaderTransactionId: z.string(),
  amount: z.int().describe('Minor units'),
  currency: z.string(),
  merchantReference: z.string(),
  cardScheme: z.string(),
  cardType: z.string(),
  maskedPAN: z.string(),
  isoResponseCode: z.string(),
  association: z.string().optional(),
  expiryDate: z.string().optional(),
  paymentProviderReference: z.string().optional(),
  errorCode: z.int().optional(),
  errorMessage: z.string().optional(),
});

export type OnlineAuthorization = z.infer<typeof onlineAuthorization>;

/** The answer of 4.4 and 4.5. */
export const onlineAuthorizationAnswer = z
  .object({ onlineAuthorizationResponse: onlineAuthorization })
  .meta({ id: 'OnlineAuthorizationAnswer' });
