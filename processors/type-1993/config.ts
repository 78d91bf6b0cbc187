import { institutionId, keyExchangeConfig, switchConfig, z } from '#processor-kit';

export const configSchema = switchConfig.extend({
  /** DE32: the acquirer's id at the switch. It also identifies the acquirer in DE56. */
  acquirerId: institutionId,
  /** DE33: the id of the forwarding institution, if there is one. */
  forwarderId: institutionId.optional(),
  /** Whether a sale is an authorization (1100) that posts after a completion (1220), instead of a financial request (1200). */
  completion: z.boolean().default(false),
  /** This switch exchanges keys in TR-31 key blocks. */
  keyExchange: keyExchangeConfig.extend({ form: z.literal('keyBlock').default('keyBlock') }).optional(),
});

export type Type1993Config = z.infer<typeof configSchema>;

export const exampleConfig: Type1993Config = configSchema.parse({
  addresses: [{ host: '127.0.0.1', port: 8585 }],
  acquirerId: '50093',
});
