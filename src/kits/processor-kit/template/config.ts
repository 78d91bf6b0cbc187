import { switchConfig, z } from '#processor-kit';

// EDIT: the settings of your switch besides addresses, TLS and keys, which `switchConfig` has.
export const configSchema = switchConfig.extend({
  /** DE25 of every tap. */
  posCondition: z
    .string()
    .regex(/^\d{2}$/)
    .default('00'),
});

export type AcmeConfig = z.infer<typeof configSchema>;

/** Used by the conformance suite, the samples and the simulator. */
export const exampleConfig: AcmeConfig = configSchema.parse({ addresses: [{ host: '127.0.0.1', port: 8585 }] });
