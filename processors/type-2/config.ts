import { institutionId, keyExchangeConfig, switchConfig, z } from '#processor-kit';

export const configSchema = switchConfig.extend({
  /** DE32: the acquirer's id at the switch. */
  acquirerId: institutionId,
  /** DE24: the network that the switch routes to. */
  networkId: z.string().regex(/^\d{3}$/),
  /** DE48, subelements 01 and 02: the application that submits, and its user at the acquirer. */
  appId: z.string().regex(/^[\x21-\x7e]{1,32}$/),
  userId: z
    .string()
    .regex(/^[\x21-\x7e]{1,64}$/)
    .optional(),
  /** This switch accepts no message without a MAC. */
  macKeys: switchConfig.shape.macKeys.unwrap(),
  /** Whether an approval posts only after a completion (0220), instead of automatically. */
  completion: z.boolean().default(false),
  /** This switch exchanges keys in TR-31 key blocks. */
  keyExchange: keyExchangeConfig.extend({ form: z.literal('keyBlock').default('keyBlock') }).optional(),
});

export type Type2Config = z.infer<typeof configSchema>;

export const exampleConfig: Type2Config = configSchema.parse({
  addresses: [{ host: '127.0.0.1', port: 8584 }],
  acquirerId: '50002',
  networkId: '001',
  appId: 'TAPWIRE-DEMO',
  macKeys: [{ number: 1, keyId: 'type-2-mac' }],
});
