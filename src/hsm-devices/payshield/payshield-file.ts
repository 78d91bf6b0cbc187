import { z } from 'zod';
import { isKeyUnderLmk, KEY_TYPES, type KeyType } from './key-field.ts';

const MAX_KEYS = 1_000;
const MAX_DEVICES = 16;
const MAX_CONNECTIONS = 64;
/** The longest header that a device can be configured with. */
const MAX_HEADER = 255;
/** A switch gives its HSM 3 seconds (src/switching/hsm/hsm-calls.ts); longer is of no use. */
const MAX_TIME_LIMIT_MS = 3_000;

const file = z.string().min(1).max(4_096);

const device = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  host: z.string().min(1).max(255),
  port: z.int().min(1).max(65_535).default(1_500),
  connections: z.int().min(1).max(MAX_CONNECTIONS).default(2),
  /** PEM files, relative to this file. */
  tls: z
    .strictObject({
      serverName: z.string().min(1).max(255).optional(),
      caFile: file.optional(),
      certFile: file.optional(),
      keyFile: file.optional(),
    })
    .optional(),
});

const lmkKey = z.strictObject({
  keyId: z.string().min(1).max(64),
  usage: z.enum(['keyEncryption', 'keyBlockProtection', 'pin', 'mac', 'dukptBase']),
  /** Under a variant LMK, the key type that the key was stored as. */
  type: z.enum(['ZMK', 'ZPK', 'TPK', 'ZAK', 'TAK', 'BDK']).optional(),
  algorithm: z.enum(['tdes', 'aes']).default('tdes'),
  lengthBytes: z.union([z.literal(8), z.literal(16), z.literal(24), z.literal(32)]).default(16),
  key: z.string().max(9_999),
  kcv: z.string().regex(/^[0-9A-F]{6}$/),
});

/** The configuration of payShield devices: the file that HSM_MODULE names. It has no clear keys. */
export const payshieldFile = z
  .strictObject({
    kind: z.literal('payshield'),
    lmk: z.strictObject({
      form: z.enum(['variant', 'keyBlock']),
      id: z
        .string()
        .regex(/^\d{2}$/)
        .optional(),
      checkValue: z
        .string()
        .regex(/^[0-9A-F]{6,16}$/)
        .optional(),
    }),
    headerLength: z.int().min(0).max(MAX_HEADER).default(4),
    timeLimitMs: z.int().min(50).max(MAX_TIME_LIMIT_MS).default(2_000),
    ksnDescriptor: z
      .string()
      .regex(/^[0-9A-F]{3}$/)
      .default('A05'),
    devices: z.array(device).min(1).max(MAX_DEVICES),
    keys: z.array(lmkKey).max(MAX_KEYS),
  })
  .superRefine(({ lmk, devices, keys }, context) => {
    const fault = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (new Set(devices.map(({ name }) => name)).size < devices.length) fault(['devices'], 'has two equal names');
    if (new Set(keys.map(({ keyId }) => keyId)).size < keys.length) fault(['keys'], 'has two equal ids');
    for (const [at, { key, usage, type }] of keys.entries()) {
      if (!isKeyUnderLmk(lmk, key)) fault(['keys', at, 'key'], `is not a key under a ${lmk.form} LMK`);
      const types: readonly KeyType[] = KEY_TYPES[usage];
      if (type !== undefined && !types.includes(type)) fault(['keys', at, 'type'], `is not a type for ${usage}`);
    }
    for (const [at, { tls }] of devices.entries()) {
      const isWhole = (tls?.certFile === undefined) === (tls?.keyFile === undefined);
      if (!isWhole) fault(['devices', at, 'tls'], 'certFile and keyFile are required together');
    }
  });

export type PayshieldFile = z.infer<typeof payshieldFile>;
