import { z } from 'zod';
import { ENUMS } from '#schemas/enums';
import { OPERATIONS } from '#schemas/operations';
import { ERROR_CODE_NAMES, type ErrorCode, problem } from '#schemas/problem';
import { PROBES } from '../guard-requests.ts';
import { problemBody, STATUS_TITLES } from '../problem.ts';
import { UNLIMITED_ROUTES } from '../rate-limit.ts';
import { responseSource } from '../response-schema.ts';
import type { KnownRoute, RouteFacts } from '../route-table.ts';
import { type Components, EXAMPLE_ID, exampleOf } from './components.ts';
import { parametersOf, pathTemplate } from './parameters.ts';
import { CREDENTIALS, credentialsText, securityOf, tagOf } from './security.ts';

const CHANGES = new Set(['PUT', 'PATCH', 'DELETE']);
const CARRIES_BODY = new Set(['POST', 'PUT', 'PATCH']);

/** The errorCodes that a route can return, by status: those of every route of its kind and those in its facts. */
function problemsOf(route: KnownRoute): Map<number, ErrorCode[]> {
  const problems = new Map<number, Set<ErrorCode>>();
  const add = (status: number, ...codes: readonly ErrorCode[]) => {
    problems.set(status, new Set([...(problems.get(status) ?? []), ...codes]));
  };
  const { method, url, schema, facts, isIdempotent } = route;
  add(400, 104); // an unknown query parameter, at least
  if (facts.takes.length > 0) addCredentialProblems(route, add);
  if (!UNLIMITED_ROUTES.has(url)) add(429, 203);
  if (url.includes(':')) {
    add(404, 122);
    add(414, 104);
  }
  if (!PROBES.has(url)) add(403, 101); // plain HTTP
  add(431, 104);
  if (CARRIES_BODY.has(method)) {
    add(400, 103);
    add(413, 104);
    add(415, 104);
  }
  if (CHANGES.has(method)) add(409, 119, 134); // in use by another resource, or a name that is taken
  if (schema.headers !== undefined) add(403, 139);
  if (isIdempotent) {
    add(409, 119, 134);
    add(422, 104);
  }
  add(500, 201, 203);
  add(503, 201, 203);
  for (const [status, codes] of Object.entries(facts.problems ?? {})) add(Number(status), ...codes);
  const byStatus = [...problems].sort(([one], [other]) => one - other);
  return new Map(byStatus.map(([status, codes]) => [status, [...codes].sort((one, other) => one - other)]));
}

function addCredentialProblems(
  { facts }: KnownRoute,
  add: (status: number, ...codes: readonly ErrorCode[]) => void,
): void {
  const schemes = new Set(facts.takes.map((credential) => CREDENTIALS[credential].scheme));
  // An optional credential is also checked if it is present.
  add(401, 100, 102, 117, 118);
  add(403, 101);
  if ([...schemes].some((scheme) => scheme !== 'apiKey')) add(403, 105);
}

const OPERATION_IDS = new Map(Object.entries(OPERATIONS).map(([id, { method, path }]) => [`${method} ${path}`, id]));

const JSON_TYPE = 'application/json';
const EXTENSION = 'extension';

export function operationOf(route: KnownRoute, components: Components, server: string | undefined): object {
  const { url, schema, facts } = route;
  const isExtension = facts.section === EXTENSION;
  return {
    operationId:
      facts.name ?? OPERATION_IDS.get(`${route.method} ${pathTemplate(url)}`) ?? operationIdOf(facts.summary),
    summary: facts.summary,
    description: descriptionOf(facts),
    // One tag: generators make a client of each, and the types of an operation with two collide in Go.
    tags: [tagOf(url)],
    ...(isExtension && { 'x-extension': true }),
    ...(facts.deprecated && { deprecated: true }),
    ...(server !== undefined && { servers: [{ url: server }] }),
    security: securityOf(facts),
    parameters: parametersOf(route),
    ...(schema.body instanceof z.ZodType && { requestBody: requestBodyOf(schema.body, components) }),
    responses: responsesOf(route, components),
  };
}

/** "List the events of a transaction" -> listEventsOfTransaction; acronyms are words. */
function operationIdOf(summary: string): string {
  const words = summary
    .replace(/[^A-Za-z0-9 ]/g, '')
    .toLowerCase()
    .split(' ');
  const telling = words.filter((word) => !/^(an?|the)$/.test(word));
  return telling.map((word, at) => (at === 0 ? word : word[0]!.toUpperCase() + word.slice(1))).join('');
}

function descriptionOf(facts: RouteFacts): string {
  const { section, description, deprecated } = facts;
  return [
    description,
    deprecated && `Deprecated since ${deprecated.since}; use \`${deprecated.successor}\`.`,
    `Credentials: ${credentialsText(facts)}.`,
    section === EXTENSION ? 'Extension of the published interface.' : `Section ${section} of the published interface.`,
  ]
    .filter(Boolean)
    .join('\n\n');
}

function requestBodyOf(body: z.ZodType, components: Components): object {
  const schema = components.of(body, 'input');
  const example = exampleOf(schema, components.schemas);
  return { required: !body.safeParse(undefined).success, content: { [JSON_TYPE]: { schema, example } } };
}

function responsesOf(route: KnownRoute, components: Components): object {
  const { facts, schema } = route;
  const responses: Record<string, object> = {};
  for (const [status, compiled] of Object.entries(schema.response ?? { 200: undefined })) {
    const source = compiled && responseSource(compiled);
    const headers = responseHeaders(route, Number(status));
    const content = contentOf(facts, source, components);
    responses[status] = { description: STATUS_TITLES[Number(status)] ?? 'OK', headers, ...(content && { content }) };
  }
  if (facts.hasEntityTag) {
    responses[304] = { description: 'Not Modified', headers: responseHeaders(route, 304) };
  }
  for (const [status, codes] of problemsOf(route)) {
    responses[status] ??= problemResponse(status, codes, components);
  }
  return responses;
}

/** JSON unless the facts give another media type. A text response has no schema. */
function contentOf(
  { mediaType = JSON_TYPE }: RouteFacts,
  source: z.ZodType | undefined,
  components: Components,
): object | undefined {
  if (source instanceof z.ZodNull) return undefined;
  const unknown = mediaType === JSON_TYPE ? {} : { type: 'string' };
  if (source === undefined) return { [mediaType]: { schema: unknown } };
  const schema = components.of(source, 'output');
  return { [mediaType]: { schema, example: exampleOf(schema, components.schemas) } };
}

const headerRef = (name: string) => ({ $ref: `#/components/headers/${name}` });

function responseHeaders({ schema, isIdempotent, facts }: KnownRoute, status: number): object {
  const isPaged = schema.querystring instanceof z.ZodObject && 'after' in schema.querystring.shape;
  return {
    'X-Correlation-Id': headerRef('CorrelationId'),
    traceparent: headerRef('Traceparent'),
    'API-Version': headerRef('ApiVersion'),
    ...(status === 201 && { Location: headerRef('Location') }),
    ...(isIdempotent && { 'Idempotency-Replayed': headerRef('IdempotencyReplayed') }),
    ...((isPaged || facts.deprecated) && { Link: headerRef('Link') }),
    ...(facts.deprecated && { Deprecation: headerRef('Deprecation') }),
  };
}

/** Headers of an error response beyond those of every response. */
const PROBLEM_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  415: ['Accept-Encoding'],
  429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  503: ['Retry-After'],
};

/**
 * An example for each errorCode lists the codes. A schema that is narrower than `Problem` would do so, too, but
 * generators make a class of each, which does not compile in Java (an enum of numbers).
 */
function problemResponse(status: number, codes: readonly ErrorCode[], components: Components): object {
  const names = codes.map((code) => `${code} ${ERROR_CODE_NAMES[code]}`).join(', ');
  const examples = codes.map((code) => {
    const detail = `${ENUMS.errorCodes.find((each) => each.code === code)!.meaning}.`;
    const value = problemBody({ status, errorCode: code, detail }, '/transactions/mobile', EXAMPLE_ID);
    return [ERROR_CODE_NAMES[code], components.example(`${ERROR_CODE_NAMES[code]}${status}`, value)] as const;
  });
  const special = (PROBLEM_HEADERS[status] ?? []).map((name) => [name, headerRef(name.replaceAll('-', ''))] as const);
  return {
    description: `${STATUS_TITLES[status] ?? 'Error'}: ${names}`,
    headers: {
      'X-Correlation-Id': headerRef('CorrelationId'),
      traceparent: headerRef('Traceparent'),
      'API-Version': headerRef('ApiVersion'),
      ...Object.fromEntries(special),
    },
    content: {
      'application/problem+json': {
        schema: components.of(problem, 'output'),
        examples: Object.fromEntries(examples),
      },
    },
  };
}
