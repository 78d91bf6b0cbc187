import { GENERAL_TAGS, READER_TAGS } from '#schemas/card-data';
import type { OperationName } from '#schemas/client';
import type { Operation } from '#schemas/operation';
import { OPERATIONS } from '#schemas/operations';
import { PAY_PAGE_OPERATIONS, VIRTUAL_READER_OPERATIONS } from '#schemas/pay-page-operations';
import { withoutTypes } from '../module-without-types.ts';

/** Operations that a payment app calls, and with it the virtual phone. */
const OF_THE_PHONE = [
  'getLinkDetails',
  'acknowledgeLink',
  'getCardDataKeys',
  'submitTap',
  'submitPin',
] as const satisfies readonly OperationName[];

/**
 * The modules of `schemas/` that a pay page uses, under their names there. The client and the reference sealer are
 * served unchanged except for their types, so that each page proves them in a browser. The page also gets the few
 * definitions that these two need of the schemas. Zod stays on the server: it is many times as large as a pay page.
 */
export function schemaModules(hasVirtualPhone: boolean): ReadonlyMap<string, string> {
  const ofThePhone = OF_THE_PHONE.map((name) => [name, OPERATIONS[name]] as const);
  const operations = {
    ...PAY_PAGE_OPERATIONS,
    ...(hasVirtualPhone && { ...VIRTUAL_READER_OPERATIONS, ...Object.fromEntries(ofThePhone) }),
  };
  const modules = new Map([
    ['client.ts', schemaModule('client')],
    ['operations.ts', operationWords(operations)],
  ]);
  if (!hasVirtualPhone) return modules;
  return modules.set('seal-card-data.ts', schemaModule('seal-card-data')).set('card-data.ts', cardDataWords());
}

function schemaModule(name: 'client' | 'seal-card-data'): string {
  return withoutTypes(new URL(`../../../schemas/${name}.ts`, import.meta.url));
}

/**
 * Replaces `./operations.ts` for the client. Page and gateway are of one release, so a response is not validated. It
 * is only distinguished from a response of an intermediary.
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

/** Replaces `./card-data.ts` for the sealer. */
function cardDataWords(): string {
  return [
    `export const READER_TAGS = ${JSON.stringify(READER_TAGS)};`,
    `export const GENERAL_TAGS = new Set(${JSON.stringify([...GENERAL_TAGS])});`,
    '',
  ].join('\n');
}
