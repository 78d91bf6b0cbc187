import { institutionId, switchConfig, z } from '#processor-kit';

export const configSchema = switchConfig.extend({
  /** DE32: the acquirer's id at the switch. */
  acquirerId: institutionId,
  /** DE33: the id of the forwarding institution, if there is one. */
  forwarderId: institutionId.optional(),
  /** How 127.25 carries the chip data. */
  iccForm: z.enum(['bitmap', 'xml']).default('bitmap'),
});

export type Type1Config = z.infer<typeof configSchema>;

export const exampleConfig: Type1Config = configSchema.parse({
  addresses: [{ host: '127.0.0.1', port: 8583 }],
  acquirerId: '50001',
});
