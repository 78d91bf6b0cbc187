import { z } from 'zod';
import { plainText } from './plain-text.ts';

/** NIST SP 800-63B requires at least 64. A longer passphrase is not typed by a person. */
export const MAX_PASSWORD_CHARS = 256;
/** The same as for the references and names of the interface (section 8). */
const MAX_USERNAME_CHARS = 255;

/** Three times what the longest username, password and code need, because JSON may escape characters. */
export const MAX_LOGIN_BYTES = 8_192;

/** A recovery code in groups, with spaces. */
const MAX_CODE_CHARS = 40;

/** A one-time code or a recovery code, as a person types it. */
export const oneTimeCode = z
  .string()
  .max(MAX_CODE_CHARS)
  .regex(/^[\dA-Za-z -]+$/, 'must be a one-time code or a recovery code');

/** The body of 4.15. */
export const login = z
  .object({
    username: plainText(MAX_USERNAME_CHARS)
      .describe('Name of the portal user, ignoring case')
      .meta({ examples: ['thandi@coffee.example'] }),
    password: z
      .string()
      .min(1)
      .max(MAX_PASSWORD_CHARS)
      .describe('Password of the portal user')
      .meta({ examples: ['four words of your own'] }),
    code: oneTimeCode
      .optional()
      .describe('One-time code or recovery code; required if the portal user has set up a second factor')
      .meta({ examples: ['492039'] }),
  })
  .meta({ id: 'Login' });

export const loginResponse = z
  .object({
    token: z.string().describe('JWT for the header `Authorization: Bearer <token>`'),
    tokenType: z.literal('Bearer').describe('Authentication scheme of the token: Bearer'),
    expiresIn: z
      .int()
      .describe('Seconds until the token expires')
      .meta({ examples: [3600] }),
  })
  .meta({ id: 'LoginResponse' });
