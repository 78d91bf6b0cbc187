import { ENUMS } from '#schemas/enums';
import { SCOPES } from '#schemas/scopes';
import type { JsonSchema } from '../openapi/components.ts';
import { GUIDES, type Guide } from './guides.ts';
import { slugOf } from './html.ts';
import { type DocumentedOperation, pathOfOperation, pathOfSchema, type Reference } from './reference.ts';

/** The whole text of a guide would triple the index. */
const MAX_GUIDE_CHARS = 6_000;

/** A target of the search: a kind in words, a title, a text, and the address. */
export type SearchEntry = readonly [kind: string, title: string, text: string, path: string];

/** Everything that the reference contains, the most important kinds first. */
export function searchIndex(reference: Reference): readonly SearchEntry[] {
  return [
    ...reference.chapters.map(
      ({ name, description }) => ['chapter', name, description, `/docs#${slugOf(name)}`] as const,
    ),
    ...reference.operations.map(operationEntry),
    ...[...GUIDES.values()].flatMap(guideEntries),
    ...Object.entries(reference.schemas).map(
      ([name, { description }]) => ['schema', name, String(description ?? ''), pathOfSchema(name)] as const,
    ),
    ...codeEntries(),
    ...reference.operations.flatMap(parameterEntries),
    ...Object.entries(reference.schemas).flatMap(([name, schema]) => propertyEntries(name, name, schema)),
  ];
}

/** A guide, and each of its sections. */
function guideEntries({ path, title, text }: Guide): SearchEntry[] {
  const sections = [...text.matchAll(/^#{2,4} (.+)$/gm)].map(
    ([, name]): SearchEntry => ['guide', name!, title, `${path}#${slugOf(name!)}`],
  );
  return [['guide', title, text.replaceAll(/\s+/g, ' ').slice(0, MAX_GUIDE_CHARS), path], ...sections];
}

function operationEntry({ operationId, summary, description, method, path }: DocumentedOperation): SearchEntry {
  return ['operation', summary, `${method} ${path} ${operationId} ${description}`, pathOfOperation(operationId)];
}

function parameterEntries({ operationId, summary, parameters }: DocumentedOperation): SearchEntry[] {
  return parameters.map(({ name, in: place, description = '' }) => [
    `${place} parameter`,
    name,
    `${summary}: ${description}`,
    `${pathOfOperation(operationId)}#${place}.${name}`,
  ]);
}

/** Properties that the page of the schema shows, with the ids that it gives them. */
function propertyEntries(page: string, prefix: string, schema: JsonSchema): SearchEntry[] {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  return Object.entries(properties).flatMap(([name, inner]) => {
    const id = `${prefix}.${name}`;
    const text = String(inner.description ?? '');
    return [['field', id, text, `${pathOfSchema(page)}#${id}`] as const, ...propertyEntries(page, id, inner)];
  });
}

function codeEntries(): SearchEntry[] {
  const { errorCodes, responseCodes, statuses, dispositions, transactionTypes, qrCodeStates } = ENUMS;
  const values = (kind: string, prefix: string, list: typeof statuses) =>
    list.map(({ id, name, meaning }): SearchEntry => [kind, name, `${id}: ${meaning}`, `/docs/errors#${prefix}-${id}`]);
  return [
    ...errorCodes.map(
      ({ code, name, meaning }): SearchEntry => ['errorCode', `${code} ${name}`, meaning, `/docs/errors#${code}`],
    ),
    ...responseCodes.map(
      ({ code, text }): SearchEntry => ['response code', code, text, `/docs/errors#response-${code}`],
    ),
    ...values('status', 'status', statuses),
    ...values('disposition', 'disposition', dispositions),
    ...values('type', 'type', transactionTypes),
    ...values('qrCodeState', 'state', qrCodeStates),
    ...Object.entries(SCOPES).map(([scope, text]): SearchEntry => ['scope', scope, text, '/docs#credential-apiKey']),
  ];
}
