import {
  type ApiDocument,
  exampleValue,
  type NamedOperation,
  operationsOf,
  ownParameters,
  readStoredDocument,
} from './api-document.ts';
import { type SchemaCheck, schemaCheck } from './schema-check.ts';

/** A request and its response, as far as the API description covers them. */
interface Exchange {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Text of a body. */
  readonly sent: string | undefined;
  readonly status: number;
  readonly responseHeaders: Headers;
  readonly response: unknown;
}

interface Reference {
  readonly document: ApiDocument;
  readonly operations: readonly { readonly operation: NamedOperation; readonly pattern: RegExp }[];
  readonly fitsOpen: SchemaCheck;
  readonly fitsClosed: SchemaCheck;
  readonly fitsText: SchemaCheck;
}

let reference: Reference | undefined;

/**
 * Compares an exchange with the API description. The operation must list the status. The response must match its schema
 * without further fields. An accepted request must match the description of requests.
 *
 * @throws Error naming the operation and the first fault
 */
function expectDocumented(exchange: Exchange): void {
  reference ??= readReference();
  const operation = operationFor(reference, exchange);
  if (operation === undefined) return;
  const fault = faultOfResponse(reference, operation, exchange) ?? faultOfRequest(reference, operation, exchange);
  if (fault) throw new Error(`not as documented: ${operation.method} ${operation.path} ${exchange.status}: ${fault}`);
}

/** `fetch`, with each exchange compared with the description. */
export const documentedFetch: typeof fetch = async (input, init = {}) => {
  const response = await fetch(input, init);
  const text = await response.clone().text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  expectDocumented({
    method: init.method ?? 'GET',
    url: new URL(String(input)),
    headers: new Headers(init.headers),
    sent: typeof init.body === 'string' ? init.body : undefined,
    status: response.status,
    responseHeaders: response.headers,
    response: isJson && text !== '' ? JSON.parse(text) : text,
  });
  return response;
};

function readReference(): Reference {
  const document: ApiDocument = readStoredDocument();
  const patterned = operationsOf(document).map((operation) => ({ operation, pattern: patternOf(operation.path) }));
  return {
    document,
    // A literal path has priority over one with a parameter in the same position.
    operations: patterned.sort(
      (one, other) => one.operation.path.split('{').length - other.operation.path.split('{').length,
    ),
    fitsOpen: schemaCheck(document),
    fitsClosed: schemaCheck(document, { isClosed: true }),
    fitsText: schemaCheck(document, { takesText: true }),
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(
    `^${path
      .split('/')
      .map((part) => (part.startsWith('{') ? '[^/]+' : RegExp.escape(part)))
      .join('/')}$`,
  );
}

function operationFor({ operations }: Reference, { method, url }: Exchange): NamedOperation | undefined {
  const found = operations.filter(({ pattern }) => pattern.test(url.pathname));
  return found.find(({ operation }) => operation.method === method)?.operation;
}

function faultOfResponse(
  { document, fitsClosed }: Reference,
  operation: NamedOperation,
  exchange: Exchange,
): string | undefined {
  const { status, response, responseHeaders } = exchange;
  const documented = operation.responses[status];
  if (documented === undefined) return `the status is not listed: ${JSON.stringify(response).slice(0, 300)}`;
  for (const name of ['x-correlation-id', 'traceparent', 'api-version'])
    if (!responseHeaders.has(name)) return `there is no ${name}`;
  const type = responseHeaders.get('content-type')?.split(';')[0];
  if (documented.content === undefined) return response === '' ? undefined : 'there is a body';
  const content = type === undefined ? undefined : documented.content[type];
  if (content === undefined) return `${type} is not listed`;
  const codeOf = (problem: unknown) => (problem as { errorCode?: number }).errorCode;
  const problems = Object.values(content.examples ?? {}).map((each) => exampleValue(document, each));
  if (problems.length > 0 && !problems.some((each) => codeOf(each) === codeOf(response)))
    return `errorCode ${codeOf(response)} is not listed`;
  return fitsClosed(content.schema, response);
}

/** A refused request may have contained anything. */
function faultOfRequest({ fitsOpen, fitsText }: Reference, operation: NamedOperation, exchange: Exchange) {
  const { status, url, headers, sent } = exchange;
  if (status >= 300) return undefined;
  for (const { name, in: place, required, schema } of ownParameters(operation)) {
    const value = place === 'query' ? url.searchParams.get(name) : place === 'header' ? headers.get(name) : undefined;
    if (value == null) {
      if (required && place !== 'path') return `${name} was left out, but the request was accepted`;
      continue;
    }
    const fault = fitsText({ type: 'object', properties: { value: schema } }, { value });
    if (fault) return `${name}: ${fault}`;
  }
  const body = operation.requestBody?.content['application/json'];
  if (body === undefined || sent === undefined || sent === '') return undefined;
  return fitsOpen(body.schema, JSON.parse(sent));
}
