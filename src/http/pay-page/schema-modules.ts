import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { GENERAL_TAGS, READER_TAGS } from '#schemas/card-data';
import type { OperationName } from '#schemas/client';
import type { Operation } from '#schemas/operation';
import { OPERATIONS } from '#schemas/operations';
import { PAY_PAGE_OPERATIONS, VIRTUAL_READER_OPERATIONS } from '#schemas/pay-page-operations';

/** What of the API a payment app asks, and the virtual phone with it. */
const OF_THE_PHONE = [
  'getLinkDetails',
  'acknowledgeLink',
  'getCardDataKeys',
  'submitTap',
  'submitPin',
] as const satisfies readonly OperationName[];

/**
 * What a pay page has of `schemas/`, by the names that it has there: the client and the reference sealer as they are but for
 * their types, so that each page proves them in a browser, and the little that these two need of the schemas. Zod is many
 * times as large as a pay page and stays here.
 */
export function schemaModules(hasVirtualPhone: boolean): ReadonlyMap<string, string> {
  const ofThePhone = OF_THE_PHONE.map((name) => [name, OPERATIONS[name]] as const);
  const operations = {
    ...PAY_PAGE_OPERATIONS,
    ...(hasVirtualPhone && { ...VIRTUAL_READER_OPERATIONS, ...Object.fromEntries(ofThePhone) }),
  };
  const modules = new Map([
    ['client.ts', withoutTypes('client')],
    ['operations.ts', operationWords(operations)],
  ]);
  if (!hasVirtualPhone) return modules;
  return modules.set('seal-card-data.ts', withoutTypes('seal-card-data')).set('card-data.ts', cardDataWords());
}

/** Whatever stood for a type is spaces then, and goes. */
function withoutTypes(name: 'client' | 'seal-card-data'): string {
  const source = readFileSync(new URL(import.meta.resolve(`#schemas/${name}`)), 'utf8');
  const { emitWarning } = process;
  // That the function is experimental is nothing to tell whoever starts a gateway: all of it runs by the same stripping.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source)
      .replace(/[ \t]+$/gm, '')
      .replace(/\n{3,}/g, '\n\n');
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * What the client imports from `./operations.ts`. An answer is taken as it is, page and gateway being of one release; told
 * apart is only what something on the way says instead.
 */
function operationWords(operations: Readonly<Record<string, Operation>>): string {
  const rows = Object.entries(operations).map(([name, { method, path, shows, under, isIdempotent }]) => [
    name,
    { method, path, shows, under, isIdempotent },
  ]);
  return [
    `export const OPERATIONS = ${JSON.stringify(Object.fromEntries(rows), undefined, 2)};`,
    'const answer = { safeParse: (data) => ({ success: data instanceof Object, data }) };',
    'for (const operation of Object.values(OPERATIONS)) operation.answer = answer;',
    `export const problem = { safeParse: (data) => ({ success: typeof data?.errorCode === 'number', data }) };`,
    '',
  ].join('\n');
}

/** What the sealer imports from `./card-data.ts`. */
function cardDataWords(): string {
  return [
    `export const READER_TAGS = ${JSON.stringify(READER_TAGS)};`,
    `export const GENERAL_TAGS = new Set(${JSON.stringify([...GENERAL_TAGS])});`,
    '',
  ].join('\n');
}
