import { z } from 'zod';

const MAX_KEYS = 1_000;
/** A switch gives its HSM 3 seconds (src/switching/hsm/hsm-calls.ts); longer is of no use. */
const MAX_TIME_LIMIT_MS = 3_000;
const MAX_REQUESTS = 512;

const ARN =
  /^arn:aws[a-z-]*:payment-cryptography:[a-z0-9-]+:[0-9]{12}:(key\/[0-9a-zA-Z]{16,64}|alias\/[a-zA-Z0-9/_-]+)$/;
const ALIAS = /^alias\/[a-zA-Z0-9/_-]+$/;

const awsKey = z.strictObject({
  keyId: z.string().min(1).max(64),
  usage: z.enum(['keyBlockProtection', 'pin', 'mac', 'dukptBase']),
  algorithm: z.enum(['tdes', 'aes']).default('tdes'),
  lengthBytes: z.union([z.literal(16), z.literal(24), z.literal(32)]).default(16),
  key: z
    .string()
    .max(322)
    .refine((text) => ARN.test(text) || ALIAS.test(text), 'must be the ARN or the alias of a key'),
  kcv: z.string().regex(/^[0-9A-F]{6}$/),
});

/** The configuration of AWS Payment Cryptography: the file that HSM_MODULE names. It has no keys, only their names. */
export const awsFile = z.strictObject({
  kind: z.literal('aws-payment-cryptography'),
  region: z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d$/),
  /** Instead of those of the region, such as VPC endpoints. */
  endpoints: z.strictObject({ data: z.url(), control: z.url() }).optional(),
  timeLimitMs: z.int().min(50).max(MAX_TIME_LIMIT_MS).default(2_000),
  /** Outstanding at once, in this process. */
  requests: z.int().min(1).max(MAX_REQUESTS).default(128),
  keys: z
    .array(awsKey)
    .max(MAX_KEYS)
    .refine((keys) => new Set(keys.map(({ keyId }) => keyId)).size === keys.length, 'must have different keyIds'),
});

export type AwsFile = z.infer<typeof awsFile>;
export type AwsKey = z.infer<typeof awsKey>;
