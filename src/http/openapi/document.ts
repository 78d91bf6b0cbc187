import { webhook } from '#schemas/webhook';
import type { RouteTable } from '../route-table.ts';
import { Components, type JsonSchema } from './components.ts';
import { operationOf } from './operation.ts';
import { COMMON_PARAMETERS, pathTemplate } from './parameters.ts';
import { EVENTS_TAG, SECURITY_SCHEMES, TAGS } from './security.ts';

/** Introduction to the API reference in Markdown. Generators repeat it in each file of a client, so it is short. */
const INTRODUCTION = `Tapwire is a payment gateway. A phone reads a contactless card and submits the encrypted card data over HTTPS (a *tap*).
Tapwire sends the payment to the *switch* of a card processor and returns the *outcome*: approved or declined. Create
payments from your server, never from an app: an app must not contain an API key.

**Terms.** An *acquirer* holds the contract with a switch. An *integrator* writes software for *merchants* of the acquirer.
These three are *tenants*, and the *operator* runs the gateway. A *terminal* is the identity under which a merchant takes
taps. A *processor* is the configuration of one switch of an acquirer, and *routes* assign taps to processors. A *portal user*
is a person who logs in with a password.

A *link* or *intent* is a payment request that opens a payment app. The *issuer* is the bank of the cardholder. *Major units*
are whole currency units with decimals (\`100.00\`); *minor units* are the smallest units, such as cents (\`10000\`). A *TT3*
tap authenticates the card for a debit order *mandate* and takes no money. A *reversal* cancels a payment whose outcome is
uncertain; a *void* cancels an approved sale. The *disposition* is the final result of a transaction. Data elements of the
message to the switch are named DE and a number (ISO 8583), and card data objects have hexadecimal EMV tags. Numbers such as
4.4 are sections of the published interface that this API implements.

**Fields.** The gateway ignores unknown fields in a body and refuses unknown query parameters. Clients must ignore unknown
fields in responses. Operations beyond the published interface are marked as *extension* (\`x-extension\`).

**Errors** have the type \`application/problem+json\` (RFC 9457) and an \`errorCode\`; see [all error codes](/docs/errors). A
resource of another tenant gets the same response as an unknown resource (404). A wrong method gets 405 with \`Allow\`. If a
request is not valid HTTP, the gateway responds with 400, 408, 417, 431, 501 or 505 and closes the connection. Headers such as
\`Authorization\`, \`x-api-key\` and \`Content-Type\` must not be repeated. Bodies must be UTF-8 and must not be compressed. The
environments qa and prod require HTTPS.

**Caching.** Responses have \`Cache-Control: no-store\`, except public keys, enums, this document and static files.

**Repeats.** Operations that create a resource accept \`Idempotency-Key\`, so that a repeated request has no second effect. For
taps, the \`merchantReference\` has this role.

**Tracing.** The gateway accepts and returns \`X-Correlation-Id\` and \`traceparent\`. Each response contains \`API-Version\`.

**Administration** requires an API key of the acquirer or the operator. Create one on the command line:
\`tapwire api-key add --acquirer 1 --name admin --scope tenants:manage ...\`.
`;

const text = (description: string, schema: object = { type: 'string' }) => ({ description, schema });

/** Response headers, by the names that operations use to refer to them. */
const HEADERS = {
  CorrelationId: text('Correlation id of the request, or a generated id', { type: 'string', format: 'uuid' }),
  Traceparent: text(
    'Trace context of the request; continues the trace of the caller or starts a new one (W3C Trace Context)',
  ),
  ApiVersion: text('Version of the interface', { type: 'string', const: '4.0' }),
  IdempotencyReplayed: text(
    'Value `true` if the response is the stored response to the first request with the Idempotency-Key',
    {
      type: 'string',
      const: 'true',
    },
  ),
  Location: text('URL of the created resource', { type: 'string', format: 'uri-reference' }),
  Link: text(
    'URL of the next page (`rel="next"`), or the replacement of a deprecated operation (`rel="successor-version"`)',
  ),
  Deprecation: text('Time since which the operation is deprecated: `@` and seconds since 1970 (RFC 9745)'),
  WWWAuthenticate: text(
    'Challenge for each kind of credential that the operation accepts: `ApiKey` names the header of the key, `Bearer` ' +
      'applies to tokens and states whether a token was refused (RFC 6750)',
  ),
  AcceptEncoding: text('Value `identity` if the body was compressed; absent if the media type is wrong'),
  RetryAfter: text('Seconds to wait before the next attempt', { type: 'integer', minimum: 0 }),
  RateLimit: text('Remaining requests in the current window'),
  RateLimitPolicy: text('Request limit and length of the window'),
} as const;

/** Public addresses of an installation for integrators. */
export interface PublicUrls {
  readonly base: string;
  readonly auth: string;
  readonly app: string;
}

export interface ApiDocument {
  readonly openapi: '3.1.1';
  readonly servers: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>>; readonly [kind: string]: object };
  readonly [member: string]: unknown;
}

/** The API document (OpenAPI 3.1) of every route that describes itself. */
export function apiDocument(table: RouteTable, servers: readonly object[], urls?: PublicUrls): ApiDocument {
  const components = new Components();
  const described = [...table].filter(({ facts }) => !facts.isAsset);
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of described) {
    const { under } = route.facts;
    const server = under && urls && urls[under] !== urls.base ? urls[under] : undefined;
    const path = pathTemplate(route.url);
    const operation = operationOf(route, components, server) as JsonSchema;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
  }
  const webhooks = { transactionOutcome: { post: webhookOperation(components) } };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Tapwire',
      version: '4.0',
      summary: 'Payment gateway between contactless taps on phones and the switch of a card processor',
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers,
    tags: TAGS,
    paths,
    webhooks,
    components: {
      schemas: sorted(components.schemas),
      examples: sorted(components.examples),
      parameters: COMMON_PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function sorted<Value>(named: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(named).sort(([one], [other]) => (one < other ? -1 : 1)));
}

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});

/** The webhook that a receiver gets (section 6.1), signed according to Standard Webhooks 1.0. */
function webhookOperation(components: Components): object {
  return {
    operationId: 'receiveOutcome',
    // Generators omit it: it is no method of a client, and that of Python would not compile.
    'x-internal': true,
    summary: 'Receive the outcome of a transaction',
    description:
      'The gateway posts this request to your callback URL after each final outcome, and again after a void or a reversal. ' +
      'Respond with 2xx to confirm the delivery. 410 disables the URL. After any other response the gateway retries for ' +
      'about three days. Verify the signature, and fulfil an order only if `disposition` is Approved.',
    tags: [EVENTS_TAG],
    security: [],
    parameters: [
      header('webhook-id', 'Id of the event; the same for each attempt'),
      header('webhook-timestamp', 'Time of the attempt in seconds since 1970 (UTC)'),
      header(
        'webhook-signature',
        'Signature: `v1,` and the Base64 of HMAC-SHA256 over `id.timestamp.body`; two signatures during a rotation of the secret',
      ),
    ],
    requestBody: { required: true, content: { 'application/json': { schema: components.of(webhook, 'output') } } },
    responses: {
      '2XX': { description: 'Delivery confirmed' },
      '410': { description: 'Stop all deliveries to this URL' },
    },
  };
}
