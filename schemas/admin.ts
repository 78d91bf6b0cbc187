/** Parts that all paths and lists of the admin API share. */
import { z } from 'zod';
import { plainText } from './plain-text.ts';

/** Maximum of PostgreSQL's integer, which numbers acquirers, integrators, processors and routes. */
const MAX_ID = 2_147_483_647;
/** Limit of a page, the same as for a list of transactions (contract, row 4.1). */
const MAX_PAGE = 500;
const DEFAULT_PAGE = 100;
/** A part of a name or id, as people type it. */
const MAX_SEARCH_CHARS = 100;
/** The same as for the references and names of the interface (section 8). */
const MAX_NAME_CHARS = 255;

export const numberedId = z.int().min(1).max(MAX_ID);
/** A number as a path segment. */
export const numberInPath = z
  .string()
  .regex(/^\d{1,10}$/, 'must be a whole number')
  .transform(Number)
  .pipe(numberedId)
  .describe('Id of the object, a number from 1');

export const acquirerPath = z.object({
  acquirerId: numberInPath.describe('Id of the acquirer, a number from 1').meta({ examples: ['1'] }),
});
export const integratorPath = acquirerPath.extend({ id: numberInPath.describe('Id of the integrator, from 1') });
export const processorPath = acquirerPath.extend({ id: numberInPath.describe('Id of the processor, from 1') });
export const routePath = acquirerPath.extend({ id: numberInPath.describe('Id of the route, from 1') });

const nameInPath = plainText(MAX_NAME_CHARS);
export const merchantPath = acquirerPath.extend({ id: nameInPath.describe('Id of the merchant') });
export const terminalPath = acquirerPath.extend({ id: nameInPath.describe('Value of `xTid` of the terminal') });
export const blockedDevicePath = acquirerPath.extend({
  id: nameInPath.describe('Value of `deviceInstallationId` of the device'),
});
export const attesterPath = acquirerPath.extend({ id: nameInPath.describe('Value of `name` of the attester') });
export const apiKeyPath = acquirerPath.extend({ id: nameInPath.describe('Id of the API key, not its key text') });
export const portalUserPath = acquirerPath.extend({ id: z.uuid().describe('Id of the portal user') });
export const installationUserPath = z.object({ id: z.uuid().describe('Id of the user of the installation') });
export const issuerKeyPath = acquirerPath.extend({ id: z.uuid().describe('Id of the issuer key') });

/** Only decimal digits, as in the other lists: `1e2`, ` 5` and `0x10` are refused. */
const limit = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number')
  .transform(Number)
  .pipe(z.int().min(1).max(MAX_PAGE))
  .default(DEFAULT_PAGE)
  .describe(`Maximum number of results, 1 to ${MAX_PAGE}`);

/** Query of a list; unknown parameters are refused. `after` names the last row of the previous page. */
export const pageOf = <Id extends z.ZodType<number | string>>(id: Id) =>
  z.strictObject({
    limit,
    after: id.optional().describe('Id of the last result of the previous page; the list continues after it'),
  });

/** Query of a list that can be searched. */
export const searchablePageOf = <Id extends z.ZodType<number | string>>(id: Id) =>
  pageOf(id).extend({
    search: plainText(MAX_SEARCH_CHARS)
      .optional()
      .describe(
        'Text that the id, the name or another naming field of a result contains; upper and lower case are the same',
      ),
  });

export const name = plainText(MAX_NAME_CHARS).describe('Display name');
export const blocked = z
  .boolean()
  .describe(
    'Whether the tenant is blocked: neither it nor the tenants that belong to it can take taps. A change takes effect within seconds',
  );

/** Timestamps of every row. */
export const times = {
  createdAt: z.string().describe('Time of creation, ISO 8601 in UTC'),
  updatedAt: z.string().describe('Time of the last change, ISO 8601 in UTC'),
};

/** A configuration is a page of names and numbers; it does not exceed this depth and size. */
const MAX_DEPTH = 8;
const MAX_VALUES = 1_000;
const MAX_CHARS = 2_048;

const storableText = plainText(MAX_CHARS).or(z.literal(''));

/** A JSON object that a jsonb column can store: texts without control characters, limited in depth and size. */
export const storableObject = z
  .custom<Readonly<Record<string, unknown>>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && isStorable(value),
    'must be an object of plain texts, numbers, lists and objects',
  )
  .meta({ type: 'object' });

/** Works without recursion, because input can be nested as deeply as a body is long. */
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
