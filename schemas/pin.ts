/** The PIN step (4.5): its path, its body, and the claims of a pinToken. */
import { z } from 'zod';
import { mobileTransaction } from './mobile-transaction.ts';
import { MAX_TOKEN_CHARS } from './tokens.ts';

export const pinParams = z.object({
  transactionId: z.uuid().describe('Backend transaction id, from `serviceReference` of the tap response'),
});

/** 8 bytes, or 16 in ISO format 4 (ISO 9564-1:2017 9.3 and 9.4). */
const pinBlock = z.string().regex(/^(?:[0-9A-Fa-f]{16}|[0-9A-Fa-f]{32})$/, 'must be 8 or 16 bytes in hexadecimal');
/** 10 bytes with TDES (ANSI X9.24-1), 12 with AES (X9.24-3). */
const ksn = z.string().regex(/^(?:[0-9A-Fa-f]{20}|[0-9A-Fa-f]{24})$/, 'must be 10 or 12 bytes in hexadecimal');

/** The body of 4.5: that of 4.4 with the token, and the PIN block unless the sealed blob contains it. */
export const mobilePin = mobileTransaction
  .extend({
    pinToken: z.string().min(1).max(MAX_TOKEN_CHARS).describe('Token from the response that required the PIN'),
    pinBlock: pinBlock
      .optional()
      .describe('Encrypted PIN block, 8 or 16 bytes in hexadecimal; required if paymentCardData contains none'),
    ksn: ksn
      .optional()
      .describe('Key serial number of the PIN block, 10 or 12 bytes in hexadecimal; required with pinBlock'),
  })
  .refine(({ pinBlock, ksn }) => pinBlock === undefined || ksn !== undefined, {
    path: ['ksn'],
    message: 'is required with pinBlock',
  })
  .meta({ id: 'MobilePin' });

/** Claims in addition to those of all tokens of the gateway. */
export const pinTokenClaims = z.object({
  /** The transaction. */
  txn: z.uuid(),
  /** The attempt that asked for the PIN; the next attempt uses up the token. */
  attempt: z.int().positive(),
  /** The device installation that may submit it. */
  device: z.string(),
});

export type PinTokenClaims = z.infer<typeof pinTokenClaims>;
