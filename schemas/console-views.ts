/** Saved views of the console: names that a person gives to filters of the list of transactions. */
import { z } from 'zod';
import { textWithoutPan } from './reason.ts';

/** More than a person finds again by name. */
export const MAX_VIEWS = 50;
const MAX_NAME_CHARS = 60;
/** The longest value is a search term, which is as long as a reference. */
const MAX_VALUE_CHARS = 255;

/** The parameters of the list's address. What the page does not know, it ignores. */
const PARAMETERS = [
  ...['q', 'type', 'outcome', 'attention', 'merchant', 'terminal', 'scheme', 'min', 'max'],
  ...['acquirer', 'processor', 'period', 'from', 'to'],
] as const;

export const viewName = textWithoutPan(MAX_NAME_CHARS);
export const savedView = z.strictObject({
  name: viewName,
  filter: z.partialRecord(z.enum(PARAMETERS), textWithoutPan(MAX_VALUE_CHARS)),
});
export type SavedView = z.output<typeof savedView>;
