import { bannedPhrasesIn } from './banned-phrases.ts';

/** A summary is a line in lists and menus, which hold about this many words. */
const MAX_SUMMARY_WORDS = 8;

/** The first word of a summary. One verb per action: do not add a second verb for an action that has one. */
const VERBS: ReadonlySet<string> = new Set([
  ...['Get', 'List', 'Show', 'Check', 'Receive'],
  ...['Add', 'Create', 'Issue', 'Register', 'Set'],
  ...['Change', 'Update', 'Rename', 'Reset', 'Rotate'],
  ...['Remove', 'Delete'],
  ...['Submit', 'Acknowledge', 'Report', 'Refund', 'Void', 'Push', 'Replay', 'Log'],
]);

/** Words that begin a clause or refer to a noun which the reader has not seen. */
const NOT_A_NOUN = /^(?:It|Its|They|Their|Of|As|What|Where|When|Who|Whom|Whose|Why|How|By|With|From|To|For|Until)\b/;

interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly { readonly $ref?: string; readonly name?: string; readonly description?: string }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>;
}

export interface ApiTexts {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly webhooks: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, { readonly description?: string }>>;
    readonly headers: Readonly<Record<string, { readonly description?: string }>>;
  };
}

export function operationsOf({ paths, webhooks }: ApiTexts): ApiOperation[] {
  return [...Object.values(paths), ...Object.values(webhooks)].flatMap((path) => Object.values(path));
}

/** @returns what is wrong with the summary of an operation */
export function summaryFaults(summary: string): string[] {
  const words = summary.split(' ');
  return [
    ...(VERBS.has(words[0]!) ? [] : [`must begin with a verb of the list, not "${words[0]}"`]),
    ...(words.length > MAX_SUMMARY_WORDS ? [`has ${words.length} words, at most ${MAX_SUMMARY_WORDS} allowed`] : []),
    ...(summary.endsWith('.') ? ['must not end with a full stop'] : []),
    ...bannedPhrasesIn(summary),
  ];
}

/** @returns what is wrong with the description of an operation; the generated list of credentials is not one */
export function operationFaults(description: string): string[] {
  const [first = ''] = description.split('\n\n');
  if (first === '' || first.startsWith('Credentials: ')) return ['must say what the operation does'];
  return [
    ...(/^[A-Z]/.test(first) ? [] : ['must begin with a capital letter']),
    ...(first.endsWith('.') ? [] : ['must end with a full stop']),
    ...bannedPhrasesIn(description),
  ];
}

/** @returns what is wrong with the description of a field, parameter or header */
export function fieldFaults(description: string | undefined): string[] {
  if (description === undefined || description === '') return ['must have a description'];
  return [
    ...(/^[A-Z]/.test(description) ? [] : ['must begin with a capital letter']),
    ...(NOT_A_NOUN.test(description) ? ['must be a noun phrase'] : []),
    ...bannedPhrasesIn(description),
  ];
}

/** Every field, parameter and header of the document, with its place and its description. */
export function fieldsOf(document: ApiTexts): { readonly place: string; readonly description: string | undefined }[] {
  const { schemas, parameters, headers } = document.components;
  const resolve = (schema: Schema) => (schema.$ref === undefined ? schema : schemas[schema.$ref.split('/').at(-1)!]!);
  const ofSchema = (schema: Schema, place: string): ReturnType<typeof fieldsOf> => [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
      { place: `${place}.${name}`, description: field.description ?? resolve(field).description },
      ...ofSchema(field, `${place}.${name}`),
    ]),
    ...(schema.items ? ofSchema(schema.items, `${place}[]`) : []),
    ...(typeof schema.additionalProperties === 'object' ? ofSchema(schema.additionalProperties, `${place}{}`) : []),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((branch) => ofSchema(branch, place)),
    // The branches after the first narrow its fields, and add none.
    ...(schema.allOf ? ofSchema(schema.allOf[0]!, place) : []),
  ];
  const ofContent = ({ content = {} }: Content, place: string) =>
    Object.values(content).flatMap(({ schema }) => ofSchema(schema, place));
  const ofOperation = ({ operationId, parameters, requestBody, responses }: ApiOperation) => [
    ...parameters
      .filter(({ $ref }) => $ref === undefined)
      .map(({ name, description }) => ({ place: `${operationId} ${name}`, description })),
    ...ofContent(requestBody ?? {}, `${operationId} body`),
    ...Object.entries(responses).flatMap(([status, response]) => ofContent(response, `${operationId} ${status}`)),
  ];
  return [
    ...operationsOf(document).flatMap(ofOperation),
    ...Object.entries(schemas).flatMap(([name, schema]) => ofSchema(schema, name)),
    ...Object.entries({ ...parameters, ...headers }).map(([place, { description }]) => ({ place, description })),
  ];
}
