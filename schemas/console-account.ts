/** Requests of people about their own account at the console, and of administrators about sessions of others. */
import { z } from 'zod';
import { MAX_PASSWORD_CHARS, oneTimeCode } from './login.ts';

const password = z.string().min(1).max(MAX_PASSWORD_CHARS);
const sessionId = z.string().regex(/^[\da-f]{64}$/, 'must be the id of a session');

export const accountAct = z.discriminatedUnion('act', [
  z.strictObject({ act: z.literal('endSession'), id: sessionId }),
  z.strictObject({ act: z.literal('endOtherSessions') }),
  z.strictObject({ act: z.literal('beginTotp'), password, code: oneTimeCode.optional() }),
  z.strictObject({ act: z.literal('confirmTotp'), code: oneTimeCode }),
  z.strictObject({ act: z.literal('removeTotp'), password, code: oneTimeCode.optional() }),
]);
export type AccountAct = z.output<typeof accountAct>;
