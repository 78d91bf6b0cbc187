import { webhook } from '#schemas/webhook';
import type { RouteTable } from '../route-table.ts';
import { Components, type JsonSchema } from './components.ts';
import { HEADERS } from './headers.ts';
import { introduction } from './introduction.ts';
import { operationOf } from './operation.ts';
import { COMMON_PARAMETERS, pathTemplate } from './parameters.ts';
import { SECURITY_SCHEMES } from './security.ts';
import { TAGS } from './tags.ts';

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
      description: introduction(
        described.map(({ method, url, facts }) => ({ method, path: pathTemplate(url), facts })),
      ),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers,
    tags: TAGS,
    paths,
    webhooks,
    components: {
      schemas: sorted(components.schemas),
      parameters: COMMON_PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

function sorted(schemas: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)));
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
    summary: 'Receive the outcome of a transaction',
    description:
      'The gateway posts this request to your callback URL after each final outcome, and again after a void or a reversal. ' +
      'Respond with 2xx to confirm the delivery. 410 disables the URL. After any other response the gateway retries for ' +
      'about three days. Verify the signature, and fulfil an order only if `disposition` is Approved.',
    tags: ['Webhooks'],
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
