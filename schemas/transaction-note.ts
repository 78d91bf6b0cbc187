/** Notes of an acquirer's staff on its transactions. Integrators, merchants and phones never see them. */
import { z } from 'zod';
import { acquirerPath } from './admin.ts';
import { textWithoutPan } from './reason.ts';

/** A paragraph: what was agreed on the phone, and with whom. */
export const MAX_NOTE_CHARS = 1_000;

/** More than people write about one transaction; all of them are shown at once. */
export const MAX_NOTES = 100;

export const notesPath = acquirerPath.extend({ id: z.uuid().describe('Id of the transaction') });

export const newTransactionNote = z
  .strictObject({
    text: textWithoutPan(MAX_NOTE_CHARS)
      .describe(`Text of the note, at most ${MAX_NOTE_CHARS} characters in one line, without a card number`)
      .meta({ examples: ['The merchant confirmed by phone that the goods were returned.'] }),
  })
  .meta({ id: 'TransactionNoteText' });

export const transactionNote = z
  .object({
    id: z.uuid().describe('Id of the note'),
    text: z.string().describe('Text of the note'),
    author: z
      .string()
      .describe('Author of the note: `user` and the name of a portal user, or `key` and the id of an API key')
      .meta({ examples: ['user thandi'] }),
    at: z.string().describe('Time at which the note was written, ISO 8601 in UTC'),
  })
  .meta({ id: 'TransactionNote' });
export type TransactionNote = z.output<typeof transactionNote>;
