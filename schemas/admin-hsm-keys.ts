/** Facts about keys of the HSM that are registered with the gateway; never the keys. */
import { z } from 'zod';
import { numberedId, pageOf } from './admin.ts';
import { plainText } from './plain-text.ts';

const MAX_KEY_ID_CHARS = 64;

const keyId = z.string().describe('Name of the key in the HSM');
const day = (text: string) => z.string().nullable().describe(text);

export const hsmKeyPage = pageOf(plainText(MAX_KEY_ID_CHARS));

export const registeredKey = z
  .object({
    keyId: keyId.meta({ examples: ['zone-pin'] }),
    acquirerId: z.union([numberedId, z.literal(0)]).describe('Id of the owner; 0 for the installation'),
    usage: z.enum(['keyEncryption', 'keyBlockProtection', 'pin', 'mac', 'dukptBase']).describe('Use of the key'),
    kcv: z
      .string()
      .describe('Check value of the key at its registration, six hexadecimal digits')
      .meta({ examples: ['A1B2C3'] }),
    createdAt: z.string().describe('Time of the registration, ISO 8601 in UTC'),
    dueOn: z
      .string()
      .describe('Day on which the key should be replaced, ISO 8601')
      .meta({ examples: ['2027-11-23'] }),
    lastUsedOn: day('Day of the last use in UTC, ISO 8601; null if the key was not used'),
    successor: keyId.nullable().describe('Name of the key that has replaced it; null before a rotation'),
    overlapEndsAt: day(
      'Time until which the key remains usable beside its successor, ISO 8601 in UTC; null without one',
    ),
    retiredAt: day('Time at which the key was retired, ISO 8601 in UTC; null while it may be used'),
  })
  .meta({ id: 'RegisteredKey' });
