/** What every address and list of the admin API has in common. */
import { z } from 'zod';
import { plainText } from './plain-text.ts';

/** What PostgreSQL's integer holds: acquirers, integrators, processors and routes are numbered by it. */
const MAX_ID = 2_147_483_647;
/** As many as a list of transactions gives at once (contract, row 4.1). */
const MAX_PAGE = 500;
const USUAL_PAGE = 100;
/** As long as the references and names of the interface (section 8). */
const MAX_NAME_CHARS = 255;

export const numberedId = z.int().min(1).max(MAX_ID);
/** A number among the words of an address. */
export const numberInPath = z
  .string()
  .regex(/^\d{1,10}$/, 'not a whole number')
  .transform(Number)
  .pipe(numberedId)
  .describe('Its number, from 1');

export const acquirerPath = z.object({
  acquirerId: numberInPath.describe('The number of the acquirer').meta({ examples: ['1'] }),
});
export const numberedPath = acquirerPath.extend({ id: numberInPath });
export const namedPath = acquirerPath.extend({ id: plainText(MAX_NAME_CHARS).describe('What names it') });
export const uuidPath = acquirerPath.extend({ id: z.uuid().describe('Its id, a UUID') });

/** Decimal digits and nothing else, as in the other lists: `1e2`, ` 5` and `0x10` are refused. */
const limit = z
  .string()
  .regex(/^\d{1,9}$/, 'not a whole number')
  .transform(Number)
  .pipe(z.int().min(1).max(MAX_PAGE))
  .default(USUAL_PAGE)
  .describe(`How many to give, at most ${MAX_PAGE}`);

/** Of a list; unknown parameters are refused. `after` is what names the last row of the page before. */
export const pageOf = <Id extends z.ZodType<number | string>>(id: Id) =>
  z.strictObject({ limit, after: id.optional().describe('Goes on behind this one, the last of the page before') });

export const name = plainText(MAX_NAME_CHARS).describe('For people');
export const blocked = z
  .boolean()
  .describe('Whoever is blocked takes no tap, and nobody below takes one; a new value counts within seconds');

/** Of every row that is shown. */
export const times = {
  createdAt: z.string().describe('ISO 8601, UTC'),
  updatedAt: z.string().describe('ISO 8601, UTC: the last change'),
};

/** Deeper or larger than this is no configuration, which is a page of names and numbers. */
const MAX_DEPTH = 8;
const MAX_VALUES = 1_000;
const MAX_CHARS = 2_048;

const storableText = plainText(MAX_CHARS).or(z.literal(''));

/** A JSON object that a jsonb column can hold: texts without control characters, neither deep nor large. */
export const storableObject = z
  .custom<Readonly<Record<string, unknown>>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && isStorable(value),
    'not an object of plain texts, numbers, lists and objects',
  )
  .meta({ type: 'object' });

/** Without recursion: what comes may be nested as deep as a body is long. */
function isStorable(object: object): boolean {
  let level: unknown[] = [object];
  let count = 0;
  for (let depth = 0; level.length > 0; depth++) {
    count += level.length;
    if (depth > MAX_DEPTH || count > MAX_VALUES) return false;
    const objects = level.filter(isObject);
    const texts = [...level.filter((value) => typeof value === 'string'), ...objects.flatMap(Object.keys)];
    if (!texts.every((text) => storableText.safeParse(text).success)) return false;
    level = objects.flatMap((value) => Object.values(value));
  }
  return true;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
